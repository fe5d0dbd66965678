"""What the anytime-valid tests are certain to find: by enumeration of small samples, by simulated nights."""

import math

import numpy as np
import pytest

from draftproof.stattests.anytime import (
    MIN_START_NIGHTS,
    assert_sequential,
    certain_from,
    min_detectable_anytime,
    min_detectable_sequential,
)
from draftproof.stattests.design import Refuted
from draftproof.stattests.eprocess import MAX_STARTS, EProcess, log_evidence, unspent
from draftproof.tests.stattests.enumerated import probabilities, tables
from draftproof.tests.stattests.simulated_nights import moved, spread, uniform

LAWS = [[0.5, 0.5], [0.9, 0.1], [1 / 3] * 3, [0.6, 0.3, 0.1], [0.25] * 4, [0.02, 0.28, 0.3, 0.4]]


def directions(law, size, rng):
    """Laws at that total variation from the law, along single cells, along halves of the mass, and anywhere."""
    k = len(law)
    found = [np.eye(k)[a] - np.eye(k)[b] for a in range(k) for b in range(k) if a != b]
    found += [law * (np.where(part, 1 / law[part].sum(), -1 / law[~part].sum())) for part in _parts(k)]
    found += [d - d.mean() for d in rng.normal(size=(30, k))]
    moves = [moved(law, direction, size) for direction in found]
    return [row for row in moves if (row >= 0).all()]


def _parts(k):
    return [np.array([bool(bits >> i & 1) for i in range(k)]) for bits in range(1, 2**k - 1)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("goal", [3.0, 8.0])
def test_no_counts_so_far_from_the_law_leave_the_evidence_below_the_goal(law, goal):
    n = {2: 400, 3: 120, 4: 40}[len(law)]
    law, counts = np.array(law), tables(n, len(law))
    apart = np.abs(counts / n - law).sum(axis=1) / 2
    log_e = log_evidence(counts, law)
    certain = certain_from(n, tuple(law), goal)
    assert log_e[apart >= certain].min(initial=np.inf) >= goal
    if certain < 0.5:
        nearest = apart[log_e < goal].max()
        assert nearest > 0.85 * certain, "the distance is not idle"


@pytest.mark.parametrize("law", LAWS)
def test_a_deviation_at_the_limit_is_missed_no_more_often_than_stated_in_any_direction(law):
    """Exactly, by the probabilities of all counts."""
    n, alpha, beta = {2: 400, 3: 120, 4: 40}[len(law)], 0.05, 0.05
    law, counts = np.array(law), tables({2: 400, 3: 120, 4: 40}[len(law)], len(law))
    limit = min_detectable_sequential(n, law, alpha, beta)
    quiet = counts[log_evidence(counts, law) < math.log(1 / alpha)]
    tried = directions(law, limit, np.random.default_rng(1))
    assert len(tried) > 2 or len(law) == 2
    assert max(probabilities(quiet, other).sum() for other in tried) <= beta
    nearer = directions(law, limit / 2, np.random.default_rng(1))
    assert max(probabilities(quiet, other).sum() for other in nearer) > beta, "the limit is not idle"


def test_the_limit_follows_the_rule_of_the_nightly():
    """The share of Holm, the weight of the start, and what an audit, which has neither, sees."""
    whole = min_detectable_anytime(20_000, 16, alpha=1e-5, checks=10, begins=1)
    assert whole == min_detectable_anytime(20_000, 16, alpha=1e-6, checks=1, begins=1)
    weight = unspent(99) - unspent(100)
    late = min_detectable_anytime(20_000, 16, begins=100)
    assert late == pytest.approx(min_detectable_sequential(20_000, 16, alpha=1e-6 * weight))
    assert min_detectable_sequential(20_000, 16) < whole < late < min_detectable_anytime(20_000, 16)
    several = min_detectable_anytime(20_000, 16, nights=4, begins=100)
    assert several == pytest.approx(min_detectable_anytime(80_000, 16, begins=100))
    kept = min_detectable_anytime(100, 16, nights=MIN_START_NIGHTS, begins=100 + 9)
    assert min_detectable_anytime(100, 16, nights=MIN_START_NIGHTS + 9, begins=100) == kept


def nights_kept(most):
    """How many nights a start sees whose fortune is the least: all others met a deviation on more nights."""
    process, first = EProcess([0.5, 0.5], most=most), 2 * most
    for night in range(1, first + 1):
        process.open_night()
        process.add([60, 40] if night < first else [50, 50])
    weight = np.log(unspent(first - 1) - unspent(first))
    for seen in range(1, 2 * most):
        process.open_night()
        if not np.isclose(process._weights, weight, rtol=1e-9).any():
            return seen
        process.add([60, 40])
    return 2 * most


def test_the_limit_counts_on_no_more_nights_than_a_start_is_kept():
    assert MIN_START_NIGHTS <= nights_kept(MAX_STARTS) < MAX_STARTS


def test_where_only_the_impossible_can_deviate_one_draw_is_enough():
    limit = min_detectable_anytime(1000, [1.0, 0.0], beta=1e-3)
    assert (1 - limit) ** 1000 == pytest.approx(1e-3)
    assert limit < min_detectable_anytime(1000, [0.5, 0.5])


def test_an_audit_refutes_what_its_limit_says_and_passes_what_follows_the_law():
    law, rng, n, beta = uniform(8), np.random.default_rng(3), 20_000, 0.02
    other = spread(law, min_detectable_sequential(n, 8, beta=beta))
    with pytest.raises(Refuted, match="not the distribution: log E") as refutation:
        assert_sequential(lambda m: rng.multinomial(m, other), law, max_draws=n)
    assert refutation.value.result.log_e >= math.log(1e6)
    assert not assert_sequential(lambda m: rng.multinomial(m, law), law, max_draws=n).refuted
    with pytest.raises(Refuted, match="'b' has probability 0 and was seen 4 times: certain"):
        assert_sequential(lambda m: {"a": m - 4, "b": 4}, {"a": 1.0, "b": 0.0})
