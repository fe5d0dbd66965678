"""Goodness of fit: p-values that hold, on clean sources and on planted deviations, and what is an error."""

from collections import Counter
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.models.battery import drawn
from draftproof.models.law import ContextFree
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, joint_law
from draftproof.reports.audits.completed_law import completed_counts
from draftproof.stattests.cells import pooled
from draftproof.stattests.design import largest_token_deviation, oddities
from draftproof.stattests.goodness import (
    BOUND_METHOD,
    CERTAIN_METHOD,
    EXACT_METHOD,
    MONTE_CARLO_METHOD,
    goodness_of_fit,
    monte_carlo_p,
)
from draftproof.stattests.tails import likelihood_ratio
from draftproof.tests.stattests.enumerated import most_by_chance, probabilities, tables
from draftproof.verifiers.registry import reference

LAW = {"a": 0.5, "b": 0.3, "c": 0.2}


def sample(law, n, seed):
    generator = np.random.default_rng(seed)
    return dict(zip(law, map(int, generator.multinomial(n, list(law.values())))))


def test_the_statistic_that_decides_is_the_likelihood_ratio():
    counts = {"a": 480, "b": 330, "c": 190}
    expected = 2 * sum(x * np.log(x / (1000 * LAW[o])) for o, x in counts.items())
    assert goodness_of_fit(counts, LAW, method=BOUND_METHOD).statistic == pytest.approx(expected)


def test_cells_of_small_expectation_are_pooled():
    law = dict(enumerate([0.9, 0.096, 0.001, 0.001, 0.001, 0.001]))
    counts = sample(law, 2000, 1)
    assert goodness_of_fit(counts, law).cells == 3


def test_rare_outcomes_that_swallow_a_large_one_would_hide_what_moves_between_them():
    """Seven outcomes that expect 0.14 counts together, and all of a mass of 0.273 on one of them."""
    law = {**{f"rare {k}": 1e-6 for k in range(7)}, "third": 0.273, "most": 0.727 - 7e-6}
    counts = sample({"rare 3": 0.273, "most": 0.727}, 20_000, 3)
    swallowed = {"third": counts["rare 3"], "most": counts["most"]}
    planted = goodness_of_fit(swallowed, {"third": 0.273 + 7e-6, "most": 0.727 - 7e-6})
    assert planted.p_value > 1e-3, "the planted defect: one cell of both"
    found = goodness_of_fit(counts, law)
    assert (found.method, found.cells, found.rarest) == (BOUND_METHOD, 3, pytest.approx(0.14))
    assert found.hidden == pytest.approx(7e-6)
    assert found.p_value <= 1e-6
    assert goodness_of_fit(sample(law, 20_000, 4), law).p_value > 1e-3


@pytest.mark.parametrize(
    ("expected", "groups"),
    [
        ([1, 1, 98], [[0, 1], [2]]),
        ([1, 2, 47, 50], [[0, 1], [2], [3]]),
        ([2, 2, 2, 3, 91], [[0, 1, 2, 3], [4]]),
        ([3, 3, 3, 3, 88], [[0, 1], [2, 3], [4]]),
        ([5, 95], [[0], [1]]),
        ([1, 1, 1], [[0, 1, 2]]),
        ([4, 4, 4, 4, 4, 80], [[0, 1], [2, 3, 4], [5]]),
    ],
)
def test_only_outcomes_that_expect_less_than_five_are_pooled(expected, groups):
    """What is left over joins the pool before; else it is a cell of its own."""
    n = sum(expected)
    law, counts = {k: e / n for k, e in enumerate(expected)}, dict(enumerate(expected))
    cells = pooled(counts, law)
    assert [list(cell) for cell in cells.outcomes] == groups
    assert cells.observed.tolist() == [sum(expected[k] for k in cell) for cell in groups]
    assert cells.expected == pytest.approx(cells.observed)
    assert cells.hidden == pytest.approx(sum(expected[k] for cell in groups if len(cell) > 1 for k in cell) / n)


def test_the_p_value_holds_where_a_cell_expects_next_to_nothing():
    law = np.array([*[2e-5] * 7, 0.3, 0.3, 0.4 - 14e-5])
    rows = np.random.default_rng(12).multinomial(1000, law, size=2000)
    found = [goodness_of_fit(row, law, method=BOUND_METHOD) for row in rows]
    assert found[0].rarest == pytest.approx(0.14)
    p_values = np.array([f.p_value for f in found])
    for alpha in (0.01, 0.05, 0.2):
        assert (p_values <= alpha).sum() <= most_by_chance(2000, alpha)
    assert (p_values <= 0.5).any()


def test_a_hit_where_the_law_has_nothing_is_a_refutation_and_no_statistic():
    for law in ({"a": 1.0}, {"a": 1.0, "z": 0.0}):
        found = goodness_of_fit({"a": 10**6, "z": 1}, law)
        assert (found.p_value, found.impossible, found.method) == (0, ("z", 1), CERTAIN_METHOD)


def test_the_method_follows_from_n_the_law_and_the_rate_alone():
    small, large = {"a": 5, "b": 3, "c": 2}, np.full(16, 100)
    assert goodness_of_fit(small, LAW).method == EXACT_METHOD
    assert goodness_of_fit(large, np.full(16, 1 / 16), 1e-2).method == MONTE_CARLO_METHOD
    assert goodness_of_fit(large, np.full(16, 1 / 16), 1e-6).method == BOUND_METHOD
    assert comb(773 + 2, 2) <= 300_000 < comb(774 + 2, 2), "the number of draws that the docstring names for 3 outcomes"


@pytest.mark.parametrize(
    ("counts", "law", "message"),
    [
        ({}, LAW, "n = 0"),
        ({"a": 0}, LAW, "n = 0"),
        ({"a": 1}, {"a": 0.5}, "sums to 0.5, expected 1"),
        ({"a": 1}, {"a": 1.5, "b": -0.5}, "probability of 'b' is -0.5"),
        ({"a": 1}, {"a": float("nan"), "b": 1.0}, "probability of 'a' is nan"),
        ({"a": 1}, {"a": "much"}, "probability of 'a' is 'much', expected a number"),
        ({"a": -1, "b": 5}, LAW, "'a' was seen -1 times"),
        ({"a": 1.5}, LAW, "'a' was seen 1.5 times, expected a whole number"),
        ({(0, 1): 3}, LAW, r"\(0, 1\) is a sequence of 2 tokens, expected of type str"),
        ({(0, 1): 3}, {(0, 1, 1): 1.0}, "a sequence of 2 tokens, expected a sequence of 3 tokens"),
        ([1, 2, 3], [0.5, 0.5], "3 counts, expected 2"),
        ([[1, 2], [3, 4]], [0.5, 0.5], r"shape \(2, 2\), expected one axis"),
        ([1, 2], [[0.5, 0.5]], r"shape \(1, 2\), expected one axis"),
    ],
)
def test_counts_and_laws_that_make_no_sense_are_errors_of_one_line(counts, law, message):
    with pytest.raises(ValueError, match=message) as raised:
        goodness_of_fit(counts, law)
    assert "\n" not in str(raised.value)


def test_a_rate_outside_0_and_1_and_an_unknown_method_are_errors():
    with pytest.raises(ValueError, match="alpha is 0"):
        goodness_of_fit({"a": 1}, LAW, 0)
    with pytest.raises(ValueError, match="expected exact, monte-carlo or bound"):
        goodness_of_fit({"a": 1}, LAW, method="luck")


@pytest.mark.parametrize(("n", "law"), [(14, [0.6, 0.3, 0.1]), (9, [0.25] * 4), (40, [0.05, 0.95])])
def test_the_exact_p_value_is_the_probability_of_what_is_as_extreme(n, law):
    counts = tables(n, len(law))
    weight = probabilities(counts, law)
    results = [goodness_of_fit(row, law) for row in counts]
    p_values, g = np.array([r.p_value for r in results]), np.array([r.statistic for r in results])
    assert {r.method for r in results} == {EXACT_METHOD}
    for row in range(0, len(counts), 7):
        assert p_values[row] == pytest.approx(weight[g >= g[row] - 1e-9].sum())
    for alpha in (0.3, 0.05, 1e-3, 1e-6):
        assert weight[p_values <= alpha].sum() <= alpha * (1 + 1e-9)


def test_two_outcomes_are_exact_at_sizes_of_real_samples():
    n, rate = 20_000, 5 / 20_000
    found = goodness_of_fit([24, n - 24], [rate, 1 - rate])
    assert found.method == EXACT_METHOD
    assert found.p_value == pytest.approx(binom.sf(23, n, rate), rel=1e-6), "no small count is as unlikely"


def test_monte_carlo_agrees_with_the_exact_p_value():
    counts, law = [9, 3, 8], [0.25, 0.25, 0.5]
    exact = goodness_of_fit(counts, law).p_value
    draws = 40_000
    generator = np.random.default_rng(0)
    expected = 20 * np.array(law)
    g = goodness_of_fit(counts, law).statistic
    p, made = monte_carlo_p(
        g, lambda m: likelihood_ratio(generator.multinomial(20, law, size=m), expected), draws, stop_after=10**9
    )
    assert made == draws
    assert p == pytest.approx(exact, abs=5 * (exact / draws) ** 0.5)


def test_monte_carlo_stops_early_and_never_says_less_than_one_in_the_draws():
    ones, zeros = np.ones, np.zeros
    assert monte_carlo_p(0.5, ones, 10_000) == (1.0, 20)
    assert monte_carlo_p(0.5, zeros, 999) == (1 / 1000, 999)


def test_the_monte_carlo_p_value_is_uniform_where_ranks_are():
    """Data and draws of one continuous law: the rank of the data is uniform, so the rate is known."""
    generator = np.random.default_rng(3)
    p_values = np.array([monte_carlo_p(generator.random(), generator.random, 400)[0] for _ in range(4000)])
    for alpha in (0.01, 0.05, 0.2):
        refuted = int((p_values <= alpha).sum())
        assert refuted <= most_by_chance(4000, alpha)
        assert refuted >= 4000 * alpha * 0.7


@pytest.mark.parametrize("method", [MONTE_CARLO_METHOD, BOUND_METHOD])
@pytest.mark.parametrize("alpha", [1e-2, 1e-3])
def test_clean_sources_are_refuted_no_more_often_than_stated(method, alpha):
    tries, law = 2000, np.array([0.4, 0.2, 0.1, 0.1, *[0.02] * 10])
    draws = np.random.default_rng(5).multinomial(300, law, size=tries)
    refuted = sum(
        goodness_of_fit(row, law, alpha, method=method, seed=k).p_value <= alpha for k, row in enumerate(draws)
    )
    assert refuted <= most_by_chance(tries, alpha)


def test_a_planted_deviation_is_refuted_by_every_method():
    law = np.full(16, 1 / 16)
    wrong = law + 0.01 * (-1.0) ** np.arange(16)
    draws = np.random.default_rng(6).multinomial(20_000, wrong, size=20)
    for row in draws:
        assert goodness_of_fit(row, law).p_value <= 1e-6
        assert goodness_of_fit(row, law, 1e-3).p_value <= 1e-3
    tiny = np.random.default_rng(7).multinomial(100, [0.9, 0.1])
    assert goodness_of_fit(tiny, [0.4, 0.6]).p_value <= 1e-6


def test_deviations_that_cancel_in_the_sum_over_contexts_are_seen_in_each():
    generator = np.random.default_rng(8)
    right, tilted = [0.5, 0.5], [0.6, 0.4]
    counts = {"x": generator.multinomial(5000, tilted), "y": generator.multinomial(5000, tilted[::-1])}
    assert all(goodness_of_fit(seen, right).p_value <= 1e-6 for seen in counts.values())
    assert goodness_of_fit(counts["x"] + counts["y"], right).p_value > 1e-2
    clean = {c: generator.multinomial(5000, right) for c in "xy"}
    assert min(goodness_of_fit(seen, right).p_value for seen in clean.values()) > 1e-6


def test_the_explanation_names_the_position_the_token_and_the_context():
    uniform = {(a, b): 1 / 9 for a in range(3) for b in range(3)}
    after_two = {o: p * {0: 1.5, 1: 0.5, 2: 1.0}[o[1]] if o[0] == 2 else p for o, p in uniform.items()}
    odd = largest_token_deviation(sample(after_two, 20_000, 9), uniform)
    assert (odd.position, odd.context) == (1, (2,))
    assert odd.token in (0, 1)
    assert "at position 1 after 2 was seen" in str(odd)
    first = {o: p * {0: 1.3, 1: 0.85, 2: 0.85}[o[0]] for o, p in uniform.items()}
    odd = largest_token_deviation(sample(first, 20_000, 10), uniform)
    assert (odd.position, odd.context, odd.token) == (0, None, 0)
    assert odd.standard_errors > 10


def test_the_joint_law_is_refuted_where_every_marginal_is_right():
    independent = {(a, b): 0.25 for a in range(2) for b in range(2)}
    copied = {(0, 0): 0.35, (0, 1): 0.15, (1, 0): 0.15, (1, 1): 0.35}
    counts = sample(copied, 5000, 11)
    assert goodness_of_fit(counts, independent).p_value <= 1e-6
    marginals = [o for o in oddities(counts, independent) if o.context is None]
    assert all(abs(o.standard_errors) < 4.5 for o in marginals)
    assert largest_token_deviation(counts, independent).context is not None


@pytest.mark.parametrize("name", ["token", "block"])
def test_completed_counts_of_a_lossless_verifier_follow_the_target(name):
    problem = in_field(drawn(3, 2, "generic"))
    outputs = {o: as_float(p) for o, p in enumerated_law(problem, reference(name)).items()}
    target = {o: as_float(p) for o, p in joint_law(problem.target, 3).items()}
    done = completed_counts(sample(outputs, 50_000, 4), problem.target, 3, np.random.default_rng(5))
    assert sum(done.values()) == 50_000
    assert goodness_of_fit(done, target).p_value > 1e-6


def test_completed_counts_of_a_biased_verifier_do_not():
    problem = in_field(drawn(3, 2, "generic"))
    outputs = {o: as_float(p) for o, p in enumerated_law(problem, reference("greedy-block")).items()}
    target = {o: as_float(p) for o, p in joint_law(problem.target, 3).items()}
    done = completed_counts(sample(outputs, 50_000, 4), problem.target, 3, np.random.default_rng(5))
    assert goodness_of_fit(done, target).p_value <= 1e-6


def test_completion_leaves_long_outputs_as_they_are():
    target = ContextFree(in_field(drawn(2, 1, "generic")).target.row(()))
    assert completed_counts({(0, 1): 7}, target, 2, np.random.default_rng(0)) == {(0, 1): 7}


def test_pooling_does_not_depend_on_the_order_in_which_outcomes_were_seen():
    """Outcomes of one probability, listed with those seen first, as a caller's mapping of counts has them."""
    law = {(k, 0): 1 / 4096 for k in range(4096)}
    drawn = np.random.default_rng(1).integers(4096, size=5000)
    counts = Counter((int(k), 0) for k in drawn)
    plain = goodness_of_fit(counts, law)
    seen_first = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law)
    assert plain.p_value == seen_first.p_value > 1e-3
    assert plain.statistic == pytest.approx(seen_first.statistic)
