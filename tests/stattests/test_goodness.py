"""Goodness of fit: p-values that hold, on clean sources and on planted deviations, and what is an error."""

from collections import Counter
from math import comb

import numpy as np
import pytest

from draftproof.stattests.cells import pooled
from draftproof.stattests.design import largest_token_deviation
from draftproof.stattests.goodness import (
    BOUND_METHOD,
    CERTAIN_METHOD,
    EXACT_METHOD,
    LAW_FREE_METHOD,
    goodness_of_fit,
    law_free_tail,
    min_detectable_by_law_free,
    sharp,
)
from draftproof.tests.stattests.enumerated import probabilities, tables

LAW = {"a": 0.5, "b": 0.3, "c": 0.2}


def sample(law, n, seed):
    generator = np.random.default_rng(seed)
    return dict(zip(law, map(int, generator.multinomial(n, list(law.values())))))


def test_the_statistic_that_decides_is_the_likelihood_ratio():
    counts = {"a": 480, "b": 330, "c": 190}
    expected = 2 * sum(x * np.log(x / (1000 * LAW[o])) for o, x in counts.items())
    assert goodness_of_fit(counts, LAW).statistic == pytest.approx(expected)


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


def test_a_hit_where_the_law_has_nothing_is_a_refutation_and_no_statistic():
    for law in ({"a": 1.0}, {"a": 1.0, "z": 0.0}):
        found = goodness_of_fit({"a": 10**6, "z": 1}, law)
        assert (found.p_value, found.impossible, found.method) == (0, ("z", 1), CERTAIN_METHOD)


def test_the_method_follows_from_n_and_the_law_alone():
    small, large = {"a": 5, "b": 3, "c": 2}, np.full(16, 100)
    assert goodness_of_fit(small, LAW).method == EXACT_METHOD
    assert goodness_of_fit(large, np.full(16, 1 / 16)).method == BOUND_METHOD
    assert comb(773 + 2, 2) <= 300_000 < comb(774 + 2, 2), "the number of draws that the docstring names for 3 outcomes"


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


def test_pooling_does_not_depend_on_the_order_in_which_outcomes_were_seen():
    """Outcomes of one probability, listed with those seen first, as a caller's mapping of counts has them."""
    law = {(k, 0): 1 / 4096 for k in range(4096)}
    drawn = np.random.default_rng(1).integers(4096, size=5000)
    counts = Counter((int(k), 0) for k in drawn)
    plain = goodness_of_fit(counts, law)
    seen_first = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law)
    assert plain.p_value == seen_first.p_value > 1e-3
    assert plain.statistic == pytest.approx(seen_first.statistic)


# ---------------------------------------------------------------- billions of samples


@pytest.mark.parametrize("n", [1, 4, 25])
@pytest.mark.parametrize("law", [[0.5, 0.5], [0.9, 0.1], [0.6, 0.3, 0.1]])
def test_the_law_free_tail_is_never_below_the_exact_one(n, law):
    rng = np.random.default_rng(n)
    for counts in rng.multinomial(n, rng.dirichlet(np.ones(len(law)), size=20)):
        exact = goodness_of_fit(counts, law)
        assert law_free_tail(exact.statistic, exact.freedom) >= exact.p_value * (1 - 1e-9)


def test_the_same_bound_with_the_freedom_of_the_limit_would_be_too_small():
    """The planted error: Chernoff's bound for k - 1 degrees of freedom, the limit's, does not hold for all n."""
    exact = goodness_of_fit([1, 0], [0.5, 0.5])
    of_the_limit = np.exp(0.5 - exact.statistic / 2 + 0.5 * np.log(exact.statistic))
    assert of_the_limit < exact.p_value <= law_free_tail(exact.statistic, exact.freedom)


def test_billions_of_samples_of_the_law_are_not_refuted_and_a_deviation_at_the_limit_is():
    law, sign, many = np.full(64, 1 / 64), np.array([1, -1] * 32), 10**11
    assert not sharp(many, 64)
    limit, rng = min_detectable_by_law_free(many, 64, beta=0.01), np.random.default_rng(7)
    assert 0 < limit < 1e-4

    def fits(shift, times):
        return [goodness_of_fit(rng.multinomial(many, law + sign * 2 * shift / 64), law) for _ in range(times)]

    assert {fit.method for fit in fits(0, 5)} == {LAW_FREE_METHOD}
    assert min(fit.p_value for fit in fits(0, 100)) > 1e-6
    assert sum(fit.p_value > 1e-6 for fit in fits(limit, 200)) <= 8, "2 misses expected; 9 in 1 of 10,000 runs"
    assert min(fit.p_value for fit in fits(limit / 4, 50)) > 1e-6
