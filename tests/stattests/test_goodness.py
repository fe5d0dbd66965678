"""The statistical route: it keeps quiet on clean sources, refutes planted deviations, and knows what it can see."""

import numpy as np
import pytest
from scipy.stats import chisquare

from draftproof.models.battery import drawn
from draftproof.models.law import ContextFree
from draftproof.proofs.laws import as_float, enumerated_law, in_field, joint_law
from draftproof.stattests.completion import completed_counts
from draftproof.stattests.goodness import chi_square, detection_limit
from draftproof.verifiers.registry import reference

LAW = {"a": 0.5, "b": 0.3, "c": 0.2}


def sample(law, n, seed):
    generator = np.random.default_rng(seed)
    return dict(zip(law, map(int, generator.multinomial(n, list(law.values())))))


def test_the_statistic_is_pearsons():
    counts = {"a": 480, "b": 330, "c": 190}
    expected = chisquare(list(counts.values()), [500, 300, 200])
    found = chi_square(counts, LAW)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


def test_cells_of_small_expectation_are_pooled():
    law = dict(enumerate([0.9, 0.096, 0.001, 0.001, 0.001, 0.001]))
    found = chi_square(sample(law, 2000, 1), law)
    assert found.cells == 3


def test_a_hit_where_the_law_has_nothing_is_a_refutation_and_no_statistic():
    found = chi_square({"a": 10**6, "z": 1}, {"a": 1.0})
    assert found.p_value == 0
    assert found.impossible == ("z", 1)


@pytest.mark.parametrize(
    ("counts", "law", "message"),
    [({}, LAW, "n = 0"), ({"a": 1}, {"a": 0.5}, "sums to 0.5, expected 1")],
)
def test_nothing_counted_and_laws_that_do_not_add_up_are_errors(counts, law, message):
    with pytest.raises(ValueError, match=message):
        chi_square(counts, law)


def test_a_clean_source_is_not_refuted_and_a_planted_deviation_is():
    law = dict(enumerate(np.full(16, 1 / 16)))
    wrong = dict(enumerate([1 / 16 + 0.01 * (-1) ** k for k in range(16)]))
    n = 20_000
    clean = [chi_square(sample(law, n, seed), law).p_value for seed in range(200)]
    assert min(clean) > 1e-6
    assert np.mean([p < 0.05 for p in clean]) < 0.12
    assert all(chi_square(sample(wrong, n, seed), law).p_value < 1e-6 for seed in range(20))


@pytest.mark.parametrize("cells", [2, 9, 81])
def test_a_deviation_at_the_detection_limit_is_missed_as_rarely_as_stated(cells):
    """The deviation that is hardest to see at its total variation: the same relative change in every cell."""
    n, alpha, beta = 20_000, 1e-4, 0.05
    limit = detection_limit(n, cells, alpha, beta)
    law = dict(enumerate(np.full(cells, 1 / cells)))
    signs = np.array([1 if k % 2 else -1 for k in range(cells)])
    if cells % 2:
        signs[-1] = 0
    shift = 2 * limit / np.abs(signs).sum()
    wrong = dict(enumerate(np.full(cells, 1 / cells) + signs * shift))
    missed = np.mean([chi_square(sample(wrong, n, seed), law).p_value >= alpha for seed in range(300)])
    assert missed < beta + 3 * (beta * (1 - beta) / 300) ** 0.5 + 0.01


def test_the_detection_limit_falls_with_the_root_of_the_samples_and_is_never_above_one():
    assert detection_limit(40_000, 10) == pytest.approx(detection_limit(10_000, 10) / 2)
    assert detection_limit(3, 10) == 1.0
    assert detection_limit(100, 1) == 1.0
    with pytest.raises(ValueError, match="n = 0"):
        detection_limit(0, 4)


@pytest.mark.parametrize("name", ["token", "block"])
def test_completed_counts_of_a_lossless_verifier_follow_the_target(name):
    problem = in_field(drawn(3, 2, "generic"))
    outputs = {o: as_float(p) for o, p in enumerated_law(problem, reference(name)).items()}
    target = {o: as_float(p) for o, p in joint_law(problem.target, 3).items()}
    done = completed_counts(sample(outputs, 50_000, 4), problem.target, 3, np.random.default_rng(5))
    assert sum(done.values()) == 50_000
    assert chi_square(done, target).p_value > 1e-6


def test_completed_counts_of_a_biased_verifier_do_not():
    problem = in_field(drawn(3, 2, "generic"))
    outputs = {o: as_float(p) for o, p in enumerated_law(problem, reference("greedy-block")).items()}
    target = {o: as_float(p) for o, p in joint_law(problem.target, 3).items()}
    done = completed_counts(sample(outputs, 50_000, 4), problem.target, 3, np.random.default_rng(5))
    assert chi_square(done, target).p_value < 1e-6


def test_completion_leaves_long_outputs_as_they_are():
    target = ContextFree(in_field(drawn(2, 1, "generic")).target.row(()))
    assert completed_counts({(0, 1): 7}, target, 2, np.random.default_rng(0)) == {(0, 1): 7}


def test_a_cell_of_few_counts_does_not_refute_more_often_than_stated():
    """Pearson's tail is too light at an expected count of 5: refutations have to repeat on a second sample."""
    law, alpha, n = {"common": 1 - 5 / 20_000, "rare": 5 / 20_000}, 1e-3, 20_000
    generator = np.random.default_rng(2)

    def refuted():
        rare = int(generator.binomial(n, law["rare"]))
        return chi_square({"common": n - rare, "rare": rare}, law).p_value < alpha

    once = [refuted() for _ in range(20_000)]
    assert np.mean(once) > alpha, "the premise: one sample alone refutes too often"
    assert np.mean(once) ** 2 < alpha / 10
