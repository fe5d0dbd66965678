"""A source that is off its law by rounding is refuted no more often than stated, and one that is off by more is."""

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.stattests.bounds import total_variation_bound
from draftproof.stattests.design import min_detectable_goodness
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.stattests.rounding import (
    deviation,
    impossible_by_rounding,
    min_detectable_by_bound,
    most_excused,
    negligible,
)
from draftproof.tests.stattests.enumerated import most_by_chance
from draftproof.tests.stattests.simulated_nights import spread, uniform

BETA = 0.05


def refusals(source, law, n, slack, alpha, tries, rng):
    """How often counts of the source refute the law, rounding allowed for."""
    return sum(deviation(row, law, slack, alpha, BETA).refuted for row in rng.multinomial(n, source, size=tries))


def apart(one, other):
    return float(np.abs(np.array(one) - np.array(other)).sum() / 2)


@pytest.mark.parametrize(
    ("n", "slack"),
    [
        (20_000, 1e-4),
        *(pytest.param(*case, marks=pytest.mark.simulation) for case in ((20_000, 0.03), (200_000, 0.0088))),
    ],
)
def test_rounding_is_refuted_no_more_often_than_stated(n, slack):
    """The whole of what rounding may do, in the direction hardest to see and in the one easiest to see."""
    law, rng, alpha, tries = uniform(16), np.random.default_rng(1), 4e-3, 300
    one_cell = law.copy()
    one_cell[:2] += [slack, -slack]
    for source in (spread(law, slack), one_cell):
        assert refusals(source, law, n, slack, alpha, tries, rng) <= most_by_chance(tries, alpha)


@pytest.mark.parametrize(("n", "slack"), [(20_000, 0.0), (20_000, 7e-7), (20_000, 0.0088), (20_000, 0.03)])
def test_a_deviation_at_the_limit_is_missed_no_more_often_than_stated(n, slack):
    law, rng, alpha, tries = uniform(16), np.random.default_rng(3), 1e-6, 200
    clean = deviation(rng.multinomial(n, law), law, slack, alpha, BETA)
    fit = min_detectable_goodness(n, 16, clean.share, BETA)
    assert fit <= clean.limit < fit * 1.02 if slack < 1e-6 else slack < clean.limit < slack + 0.06
    wrong = spread(law, clean.limit)
    assert tries - refusals(wrong, law, n, slack, alpha, tries, rng) <= most_by_chance(tries, BETA)
    assert tries - refusals(spread(law, clean.limit / 2), law, n, slack, alpha, tries, rng) > tries * BETA


@pytest.mark.parametrize("impossible", [1.0, 1.1, 2.0])
def test_what_is_impossible_and_a_shift_of_the_rest_together_are_not_missed_beyond_the_limit(impossible):
    """Each within what the other route leaves; taken out before the distance is measured, one hides the other."""
    n, slack, law, rng, tries = 20_000, 0.0312, np.array([0.02, 0.98, 0.0]), np.random.default_rng(1), 200
    limit = deviation([400, 19_600, 0], law, slack).limit
    away = impossible * slack
    source = [0.02 + limit - away, 0.98 - limit, away]
    assert apart(source, law) == pytest.approx(limit)
    rows = rng.multinomial(n, source, size=tries)
    missed, planted = 0, 0
    for row in rows:
        missed += not deviation(row, law, slack).refuted
        left = row[:2] if impossible_by_rounding(dict(enumerate(row)), dict(enumerate(law)), slack, 1e-6) else row
        planted += total_variation_bound(left, law[: len(left)]).lower <= slack
    assert missed <= most_by_chance(tries, 1e-3)
    if impossible == 1:
        assert planted > tries / 2, "the planted defect: the distance of what is left"


def test_mass_that_moves_inside_a_pool_is_refuted_by_the_bound_and_counted_in_the_limit():
    """280 outcomes that expect 2.6 to 4.4 counts each, two to a cell: where either takes all, no cell changes."""
    n = 980
    law = np.linspace(2.6, 4.4, 280) / n
    wrong = np.stack([law[0::2] + law[1::2], np.zeros(140)]).T.ravel()
    rng, tries = np.random.default_rng(5), 60
    clean = deviation(rng.multinomial(n, law), law)
    assert (clean.fit.cells, clean.fit.hidden, clean.refuted) == (140, pytest.approx(1), False)
    assert clean.limit == pytest.approx(min_detectable_by_bound(n, 280, 0.0, clean.share, 1e-3))
    assert min_detectable_goodness(n, 140) < clean.limit < apart(wrong, law), "the first: what the laws as pooled say"
    found = [deviation(row, law) for row in rng.multinomial(n, wrong, size=tries)]
    assert sum(f.p_value <= 1e-6 for f in found) == 0, "the planted defect: the test of fit alone"
    assert all(f.refuted for f in found)


def test_the_limit_adds_what_pooling_hides_to_what_the_test_of_fit_sees():
    n, law = 20_000, np.array([*[1e-4] * 20, 0.498, 0.5])
    found = deviation(np.array([*[2] * 20, 9960, 10_000]), law)
    assert (found.fit.cells, found.fit.hidden) == (8, pytest.approx(0.002))
    assert found.limit == pytest.approx(min_detectable_goodness(n, 8, 5e-7, 1e-3) + 0.002)


@pytest.mark.parametrize("slack", [0.0, 0.002])
def test_all_routes_together_refute_a_right_source_no_more_often_than_stated(slack):
    """A source that spends what each route has at once: impossible outcomes, the fit, the bound."""
    law, alpha, tries, rng = np.array([0.05, 0.95, 0.0]), 0.05, 1500, np.random.default_rng(6)
    source = [0.05, 0.95 - slack, slack]
    assert refusals(source, law, 1000, slack, alpha, tries, rng) <= most_by_chance(tries, alpha)
    rows = rng.multinomial(1000, source, size=tries)
    single = deviation(rows[0], law, slack, alpha)
    assert single.share == alpha / (4 if slack else 2)
    assert 0 < single.fit.p_value <= single.p_value


def test_rounding_on_a_cell_that_expects_next_to_nothing_is_no_refutation():
    """Two hits where 1e-4 are expected and rounding makes 0.014: once in 10,000 samples, and not once in 5e8."""
    n, slack, law = 20_000, 7e-7, {0: 5e-9, 1: 1 - 5e-9}
    counts = {0: 2, 1: n - 2}
    assert goodness_of_fit(counts, law).p_value < 1e-7, "the planted gate: the p-value alone"
    assert binom.sf(1, n, slack) > 9e-5
    assert not deviation(counts, law, slack).refuted
    assert deviation(counts, law).refuted
    assert negligible(n, slack, 0.03, 5.0, 1e-6)
    assert not negligible(n, slack, 0.03, 0.1, 1e-6)
    assert not negligible(n, 4e-4, 0.03, 5000.0, 1e-6)
    assert negligible(n, 0.0, 0.0, 0.0, 1e-6)


@pytest.mark.parametrize(("n", "slack", "alpha"), [(1000, 0.004, 0.02), (20_000, 7e-7, 1e-6), (50, 0.5, 1e-3)])
def test_the_first_count_that_rounding_explains_with_less_than_the_rate_is_refuted(n, slack, alpha):
    """Pr(at least so many), that one included: with "more than so many" the count before it would be."""
    law = {0: 1.0}
    first = next(k for k in range(1, n) if binom.sf(k - 1, n, slack) <= alpha)
    assert impossible_by_rounding({0: n - first, 1: first}, law, slack, alpha) == set()
    assert impossible_by_rounding({0: n - first + 1, 1: first - 1}, law, slack, alpha) == ({1} if first > 1 else set())
    assert binom.sf(first - 1, n, slack) <= alpha < binom.sf(first - 2, n, slack)
    most, mass = most_excused(n, slack, alpha, 0.01)
    assert most == first - 1
    assert binom.cdf(most, n, mass) == pytest.approx(0.01)
    assert most_excused(n, 0.0, alpha, 0.01) == (0, 0.0)


def test_what_no_rounding_explains_refutes_at_any_slack():
    law, counts = {(0,): 0.5, (1,): 0.5, "raised": 0.0}, {(0,): 500, (1,): 499, "raised": 1}
    assert not deviation(counts, law, 0.03).refuted
    assert deviation(counts, law, 0.03, strange={"raised"}).refuted
