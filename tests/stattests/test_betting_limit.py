"""The detection limit of bets on the tokens of a text: what lies beyond it is refuted."""

import numpy as np
import pytest
from scipy.special import expit, logit

from draftproof.models.errors import InputError
from draftproof.stattests.betting import Bets, SetBetting
from draftproof.stattests.sequence_design import detectable_shift, min_detectable_betting

PROBABILITIES = np.random.default_rng(1).uniform(0.05, 0.9, 2000)


def moved(shift):
    """Probabilities moved in their log-odds, on average by the shift."""
    low, high = 0.0, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        if (expit(logit(PROBABILITIES) + middle) - PROBABILITIES).mean() < shift:
            low = middle
        else:
            high = middle
    return expit(logit(PROBABILITIES) + high)


def missed(shift, alpha, slack=0.0, families=("a",), tries=200):
    generator, p = np.random.default_rng(2), moved(shift)
    misses = 0
    for _ in range(tries):
        hit = generator.random(len(p)) < p
        bets = {
            name: Bets(PROBABILITIES, hit if name == "a" else generator.random(len(p)) < PROBABILITIES)
            for name in families
        }
        misses += SetBetting(list(families), alpha, slack).observe(bets).refuted_at is None
    return misses / tries


@pytest.mark.parametrize(("slack", "families"), [(0.0, ("a",)), (0.01, ("a",)), (0.0, ("a", "b", "c"))])
def test_shifts_beyond_the_limit_are_refuted_and_much_smaller_ones_are_not(slack, families):
    limit = detectable_shift(PROBABILITIES, 1e-6, 0.05, slack, len(families))
    assert missed(limit, 1e-6, slack, families) <= 0.05
    assert missed(limit / 4, 1e-6, slack, families) > 0.5


def test_where_all_probabilities_are_the_same_it_is_near_the_limit_for_one_probability():
    for p in (0.1, 0.5, 0.8):
        limit = detectable_shift(np.full(4000, p), 1e-6, 1e-3, families=3)
        assert limit == pytest.approx(min_detectable_betting(4000, p, 3), rel=0.15)


def test_more_tokens_see_smaller_shifts_and_slack_hides_some():
    limits = [detectable_shift(np.tile(PROBABILITIES, n)) for n in (1, 4, 16)]
    assert limits[0] > 1.8 * limits[1] > 3.2 * limits[2]
    assert detectable_shift(PROBABILITIES, slack=0.02) > limits[0] + 0.015


def test_certain_sets_tell_nothing_and_count_among_the_tokens():
    half = np.where(np.arange(4000) % 2, np.repeat(PROBABILITIES, 2), 0.0)
    assert detectable_shift(half) == pytest.approx(detectable_shift(PROBABILITIES) / 2)
    assert detectable_shift(np.zeros(100)) == 1.0
    assert detectable_shift(np.ones(100)) == 1.0
    assert detectable_shift(PROBABILITIES[:3]) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detectable_shift(np.array([0.5, 1.5])), "entries in 0..1"),
        (lambda: detectable_shift(np.full((2, 2), 0.5)), r"the shape \(2, 2\)"),
        (lambda: detectable_shift(PROBABILITIES, alpha=0.0), "alpha is 0.0"),
    ],
)
def test_what_is_no_probability_or_rate_is_an_error_of_one_line(call, message):
    with pytest.raises(InputError, match=message):
        call()
