"""Design of the tests of sequences: true of planted deviations at the limit."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from draftproof.models.errors import InputError
from draftproof.stattests.betting import LOG_ODDS, Bets, log_gains
from draftproof.stattests.design import Refuted
from draftproof.stattests.sequence_design import (
    assert_betting,
    assert_mmd,
    min_detectable_betting,
    min_detectable_mmd,
)
from draftproof.stattests.two_sample import hamming_kernel, mmd, prefix_kernel
from draftproof.tests.stattests.enumerated import most_by_chance

# ---------------------------------------------------------------- betting


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


# ---------------------------------------------------------------- blocks


def engines(law, other, n, length, rng):
    """n sequences of either engine, of independent tokens."""
    return [rng.choice(len(row), p=row, size=(n, length)).tolist() for row in (law, other)]


@pytest.mark.parametrize("kernel", [hamming_kernel, prefix_kernel])
def test_engines_whose_blocks_differ_by_the_limit_are_missed_no_more_often_than_stated(kernel):
    alpha, beta, tries, n = 1e-2, 0.1, 40, 500
    limit, rng = min_detectable_mmd(n, alpha, beta), np.random.default_rng(3)
    blocks = np.array([(a, b) for a in range(3) for b in range(3)])
    even, tilt = np.full(9, 1 / 9), np.where(blocks[:, 0] == 0, 2.0, -1.0) / 9
    share = limit / sqrt(tilt @ kernel(blocks) @ tilt)
    other = even + share * tilt
    assert (other >= 0).all()
    gap = other - even
    assert sqrt(gap @ kernel(blocks) @ gap) == pytest.approx(limit)

    def missed(row):
        found = 0
        for k in range(tries):
            pair = (blocks[rng.choice(9, size=n, p=p)].tolist() for p in (even, row))
            found += mmd(*pair, kernel, alpha, seed=k).p_value > alpha
        return found

    assert missed(other) <= most_by_chance(tries, beta)
    assert missed(even + 0.2 * share * tilt) > tries * beta, "the limit is not idle"


def test_an_mmd_is_at_least_what_the_least_eigenvalue_makes_of_a_total_variation():
    blocks = np.stack(np.meshgrid(*[range(3)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    for kernel in (hamming_kernel, prefix_kernel):
        gram = kernel(blocks)
        least = np.linalg.eigvalsh(gram).min()
        if kernel is hamming_kernel:
            assert least == pytest.approx(0.25)
        for p, q in np.random.default_rng(4).dirichlet(np.ones(9), size=(50, 2)):
            apart = np.abs(p - q).sum() / 2
            assert sqrt((p - q) @ gram @ (p - q)) >= 2 * apart * sqrt(least / 9)


def test_engines_that_differ_are_refuted_with_what_differs_and_engines_alike_are_not():
    rng, even = np.random.default_rng(5), np.full(3, 1 / 3)
    texts, others = engines(even, np.array([0.8, 0.1, 0.1]), 80, 4, rng)
    with pytest.raises(Refuted, match=r"blocks differ: p = .* blocks like"):
        assert_mmd(texts, others, alpha=1e-2)
    again, alike = engines(even, even, 80, 4, rng)
    assert assert_mmd(again, alike, alpha=1e-2).p_value > 1e-2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: min_detectable_betting(0, 0.5), "n is 0"),
        (lambda: min_detectable_betting(10, 1.0), "probability is 1.0"),
        (lambda: min_detectable_betting(10, 0.5, 0), "families is 0"),
        (lambda: min_detectable_betting(10, 0.5, slack=0.6), "slack is 0.6"),
        (lambda: min_detectable_mmd(10, 2.0), "alpha is 2.0"),
    ],
)
def test_wrong_use_is_an_error(call, message):
    with pytest.raises(InputError, match=message):
        call()
