"""A source that is off its law by rounding is refuted no more often than stated, and one that is off by more is."""

import numpy as np
import pytest

from draftproof.stattests.bounds import total_variation_bound
from draftproof.stattests.design import min_detectable_goodness
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.stattests.rounding import beyond_rounding, impossible_by_rounding, min_detectable_beyond
from draftproof.tests.stattests.enumerated import most_by_chance
from draftproof.tests.stattests.simulated_nights import spread, uniform

BETA = 0.05


def refusals(source, law, n, slack, alpha, tries, rng, distance=lambda bound: bound.lower):
    """How often counts of the source refute the law, rounding allowed for."""
    limit, found = min_detectable_goodness(n, len(law), alpha, BETA), 0
    for row in rng.multinomial(n, source, size=tries):
        p_value, bound = goodness_of_fit(row, law, alpha).p_value, total_variation_bound(row, law, alpha)
        found += beyond_rounding(p_value, distance(bound), slack, limit, alpha)
    return found


@pytest.mark.parametrize(("n", "slack"), [(20_000, 0.03), (200_000, 0.0088), (2_000_000, 0.0088), (20_000, 1e-4)])
def test_rounding_is_refuted_no_more_often_than_stated(n, slack):
    """The whole of what rounding may do, in the direction hardest to see and in the one easiest to see."""
    law, rng, alpha, tries = uniform(16), np.random.default_rng(1), 1e-3, 400
    one_cell = law.copy()
    one_cell[:2] += [slack, -slack]
    for source in (spread(law, slack), one_cell):
        assert refusals(source, law, n, slack, alpha, tries, rng) <= most_by_chance(tries, 2 * alpha)


def test_the_empirical_distance_as_the_gate_would_refute_a_right_engine_in_half_precision():
    """At 16 cells and 200,000 draws chance and rounding together exceed what rounding alone is allowed."""
    law, rng, slack = uniform(16), np.random.default_rng(2), 0.0088
    arguments = (spread(law, slack), law, 200_000, slack, 1e-3, 50, rng)
    assert refusals(*arguments, distance=lambda bound: bound.empirical) > 10
    assert refusals(*arguments) == 0


@pytest.mark.parametrize(("n", "slack"), [(20_000, 0.0), (20_000, 7e-7), (20_000, 0.0088), (20_000, 0.03)])
def test_a_deviation_at_the_limit_is_missed_no_more_often_than_stated(n, slack):
    law, rng, alpha, tries = uniform(16), np.random.default_rng(3), 1e-6, 200
    fit = min_detectable_goodness(n, 16, alpha, BETA)
    limit = min_detectable_beyond(n, 16, slack, fit, alpha, BETA)
    assert limit == fit if slack < 1e-6 else slack < limit < slack + 0.06
    assert tries - refusals(spread(law, limit), law, n, slack, alpha, tries, rng) <= most_by_chance(tries, BETA)
    assert tries - refusals(spread(law, limit / 2), law, n, slack, alpha, tries, rng) > tries * BETA


def test_impossible_outcomes_are_rounding_only_as_often_as_rounding_makes_them():
    law = {0: 0.5, 1: 0.5}
    counts = {0: 10_000, 1: 9_999, 2: 1}
    assert impossible_by_rounding(counts, law, 0.0, 1e-6) == set()
    assert impossible_by_rounding(counts, law, 7e-7, 1e-6) == {2}, "once in 70 such samples"
    assert impossible_by_rounding(counts | {2: 3}, law, 7e-7, 1e-6) == set()
    assert impossible_by_rounding(counts | {3: 600}, law, 0.03, 1e-6) == {2, 3}
    assert impossible_by_rounding(counts | {2: 400, 3: 400}, law, 0.03, 1e-6) == set(), "each would be, both are not"
    assert impossible_by_rounding({0: 5, 1: 5}, law, 0.03, 1e-6) == set()


def test_sources_that_emit_the_impossible_as_often_as_rounding_may_are_refuted_no_more_often_than_stated():
    rng, slack, alpha, tries = np.random.default_rng(4), 0.004, 0.02, 3000
    draws = rng.multinomial(1000, [0.5, 0.5 - slack, slack], size=tries)
    left = sum(
        bool(row[2]) and not impossible_by_rounding(dict(enumerate(row.tolist())), {0: 0.5, 1: 0.5}, slack, alpha)
        for row in draws
    )
    assert left <= most_by_chance(tries, alpha)
    assert (draws[:, 2] > slack * 1000).mean() > 10 * alpha, "the planted gate: more than expected is not too many"
