"""Design of the bets: true of planted deviations at the limit."""

from math import log

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from draftproof.models.errors import InputError
from draftproof.stattests.betting import LOG_ODDS, Bets, log_gains
from draftproof.stattests.design import Refuted
from draftproof.stattests.sequence_design import assert_betting, min_detectable_betting
from draftproof.tests.stattests.enumerated import most_by_chance


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
    assert shifted
    assert max(binom.pmf(x, n, p)[quiet].sum() for p in shifted) <= beta
    nearer = (probability - limit / 2, probability + limit / 2)
    assert max(binom.pmf(x, n, p)[quiet].sum() for p in nearer) > beta, "the limit is not idle"


def test_a_shift_within_the_slack_is_never_seen_and_one_beyond_it_is():
    assert min_detectable_betting(10**11, 0.5, slack=0.02) > 0.015
    assert min_detectable_betting(10**5, 0.5, slack=0.02) > 1.5 * min_detectable_betting(10**5, 0.5)
    assert min_detectable_betting(10**5, 0.5, families=20) > min_detectable_betting(10**5, 0.5)


def test_bets_refute_a_planted_shift_at_the_limit_with_their_step_and_family():
    rng, n, beta, tries = np.random.default_rng(1), 2000, 0.02, 200
    limit, missed = min_detectable_betting(n, 0.3, 2, beta=beta), 0
    for _ in range(tries):
        bets = {
            "good": Bets(np.full(n, 0.6), rng.random(n) < 0.6),
            "off": Bets(np.full(n, 0.3), rng.random(n) < 0.3 + limit),
        }
        try:
            missed += assert_betting(bets) is not None
        except Refuted as refutation:
            assert "bets on 'off'" in str(refutation)
    assert missed <= most_by_chance(tries, beta)
    fair = {"good": Bets(np.full(n, 0.6), rng.random(n) < 0.6)}
    assert assert_betting(fair).refuted_at is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: min_detectable_betting(0, 0.5), "n is 0"),
        (lambda: min_detectable_betting(10, 1.0), "probability is 1.0"),
        (lambda: min_detectable_betting(10, 0.5, 0), "families is 0"),
        (lambda: min_detectable_betting(10, 0.5, slack=0.6), "slack is 0.6"),
        (lambda: min_detectable_betting(10, 0.5, alpha=2.0), "alpha is 2.0"),
    ],
)
def test_wrong_use_is_an_error(call, message):
    with pytest.raises(InputError, match=message):
        call()
