"""The detection limits of bets on the tokens of a text: what lies beyond them is refuted, with its step and family."""

from math import log

import numpy as np
import pytest
from scipy.special import expit, logit, logsumexp
from scipy.stats import binom

from draftproof.stattests.betting import LOG_ODDS, Bets, SetBetting, log_gains
from draftproof.stattests.design import Refuted
from draftproof.stattests.sequence_design import assert_betting, detectable_shift, min_detectable_betting

PROBABILITIES = np.random.default_rng(1).uniform(0.05, 0.9, 2000)


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
def test_a_shifted_set_is_missed_no_more_often_than_stated(probability):
    """Exactly: what the bets have made after n tokens depends on the number of hits only."""
    n, alpha, beta, families = 3000, 1e-6, 1e-3, 2
    limit = min_detectable_betting(n, probability, families, alpha=alpha, beta=beta)
    hit, missed = (log_gains(np.array([[probability]]), np.array([[seen]]), 0.0)[0, :, 0] for seen in (True, False))
    x = np.arange(n + 1)
    fortune = logsumexp(np.outer(x, hit) + np.outer(n - x, missed), axis=1) - log(families * len(LOG_ODDS))
    quiet = fortune < log(1 / alpha)
    assert binom.pmf(x, n, probability)[~quiet].sum() <= alpha
    shifted = [p for p in (probability - limit, probability + limit) if 0 <= p <= 1]
    assert max(binom.pmf(x, n, p)[quiet].sum() for p in shifted) <= beta
    nearer = (probability - limit / 2, probability + limit / 2)
    assert max(binom.pmf(x, n, p)[quiet].sum() for p in nearer) > beta, "the limit is not idle"


def test_bets_refute_a_planted_shift_with_their_family():
    rng, n = np.random.default_rng(1), 2000
    good = Bets(np.full(n, 0.6), rng.random(n) < 0.6)
    off = Bets(np.full(n, 0.3), rng.random(n) < 0.3 + min_detectable_betting(n, 0.3, 2, beta=1e-6))
    with pytest.raises(Refuted, match="bets on 'off'"):
        assert_betting({"good": good, "off": off})
    assert assert_betting({"good": good}).refuted_at is None


def moved(shift):
    """Probabilities moved in their log-odds, on average by the shift."""
    steps = np.linspace(0, 8, 2001)
    return next(p for p in (expit(logit(PROBABILITIES) + s) for s in steps) if (p - PROBABILITIES).mean() >= shift)


def missed(shift, slack, families, tries=100):
    """The share of texts with the first family off by the shift that are not refuted."""
    rng, p, misses = np.random.default_rng(2), moved(shift), 0
    for _ in range(tries):
        bets = {
            name: Bets(PROBABILITIES, rng.random(len(p)) < (p if name == "a" else PROBABILITIES)) for name in families
        }
        misses += SetBetting(families, 1e-6, slack).observe(bets).refuted_at is None
    return misses / tries


@pytest.mark.parametrize(("slack", "families"), [(0.01, "a"), (0.0, "abc")])
def test_shifts_beyond_the_limit_are_refuted_and_much_smaller_ones_are_not(slack, families):
    limit = detectable_shift(PROBABILITIES, 1e-6, 0.05, slack, len(families))
    assert missed(limit, slack, families) <= 0.05
    assert missed(limit / 4, slack, families) > 0.5


def test_certain_sets_tell_nothing_and_slack_hides_some_shifts():
    half = np.where(np.arange(4000) % 2, np.repeat(PROBABILITIES, 2), 0.0)
    assert detectable_shift(half) == pytest.approx(detectable_shift(PROBABILITIES) / 2)
    assert detectable_shift(np.zeros(100)) == detectable_shift(PROBABILITIES[:3]) == 1.0
    assert detectable_shift(PROBABILITIES, slack=0.02) > detectable_shift(PROBABILITIES) + 0.015
    assert min_detectable_betting(10**11, 0.5, slack=0.02) > 0.015
