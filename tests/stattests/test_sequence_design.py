"""Design of the tests of sequences and seeds: inverse to each other, and true of planted deviations at the limit."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import binom

from draftproof.models.errors import InputError
from draftproof.stattests.betting import LOG_ODDS, Bets, log_gains
from draftproof.stattests.design import Refuted
from draftproof.stattests.independence import seeds_differ
from draftproof.stattests.sequence_design import (
    assert_betting,
    assert_mmd,
    assert_ngrams,
    assert_seeds_differ,
    min_detectable_agreement,
    min_detectable_betting,
    min_detectable_mmd,
    min_detectable_ngrams,
    samples_needed_agreement,
    samples_needed_betting,
    samples_needed_mmd,
    samples_needed_ngrams,
)
from draftproof.stattests.two_sample import hamming_kernel, mmd, ngram_homogeneity, prefix_kernel
from draftproof.tests.stattests.enumerated import most_by_chance

SAMPLES = st.integers(1, 10**7)
RATES = st.sampled_from([1e-2, 1e-6])


@settings(deadline=None, derandomize=True)
@given(SAMPLES, RATES, st.sampled_from([1e-3, 0.1]))
def test_samples_needed_for_what_n_samples_detect_are_n(n, alpha, beta):
    limit = min_detectable_mmd(n, alpha, beta)
    assert limit == sqrt(2) or samples_needed_mmd(limit, alpha, beta) == n
    limit = min_detectable_ngrams(n, 16, alpha, beta)
    assert limit == 1 or samples_needed_ngrams(limit, 16, alpha, beta) == n
    for collision in (0.0, 1e-4, 0.3):
        limit = min_detectable_agreement(n, collision, alpha, beta)
        assert collision < limit <= 1
        assert limit == 1 or samples_needed_agreement(limit, collision, alpha, beta) == n
    for probability, slack in ((0.02, 0.0), (0.5, 0.0), (0.5, 0.01)):
        limit = min_detectable_betting(n, probability, 3, slack, alpha, beta)
        most = max(probability, 1 - probability)
        assert 0 < limit <= most
        assert limit > most * (1 - 1e-9) or samples_needed_betting(limit, probability, 3, slack, alpha, beta) == n


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
    with pytest.raises(InputError, match=r"no number of tokens shows it, with a slack of 0\.02"):
        samples_needed_betting(0.015, 0.5, slack=0.02)
    assert samples_needed_betting(0.05, 0.5, slack=0.02) > 1.5 * samples_needed_betting(0.05, 0.5)
    assert samples_needed_betting(0.05, 0.5, families=20) > samples_needed_betting(0.05, 0.5)


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


# ---------------------------------------------------------------- seeds


@pytest.mark.parametrize(("pairs", "collision"), [(50, 0.25), (400, 0.01), (30, 1e-9), (20, 0.0)])
def test_seeds_that_agree_at_the_limit_are_missed_no_more_often_than_stated(pairs, collision):
    """Exactly, by the binomial law."""
    alpha, beta = 1e-6, 1e-3
    limit = min_detectable_agreement(pairs, collision, alpha, beta)
    k = np.arange(pairs + 1)
    refuted = np.array(
        [
            seeds_differ(
                {s: o for i in range(pairs) for s, o in ((2 * i, i), (2 * i + 1, i if i < agree else -1 - i))},
                collision,
            ).p_value
            <= alpha
            for agree in k.tolist()
        ]
    )
    assert binom.pmf(k, pairs, collision)[refuted].sum() <= alpha
    assert binom.pmf(k, pairs, limit)[~refuted].sum() <= beta
    nearer = collision + (limit - collision) / 3
    assert binom.pmf(k, pairs, nearer)[~refuted].sum() > beta, "the limit is not idle"


def test_seeds_that_are_not_used_are_refuted_with_two_of_them():
    with pytest.raises(Refuted, match=r"6 of 6 pairs agree, p = .*; seeds 0 and 1 give the same output"):
        assert_seeds_differ(dict.fromkeys(range(12), "text"), 0.05)
    assert assert_seeds_differ({k: f"text {k}" for k in range(12)}, 0.05).agree == 0


# ---------------------------------------------------------------- n-grams and blocks


def engines(law, other, n, length, repeats, rng):
    """n sequences of either engine, of independent tokens, or of one token over and over."""

    def write(row):
        drawn = rng.choice(len(row), p=row, size=(n, 1 if repeats else length))
        return np.repeat(drawn, length, axis=1).tolist() if repeats else drawn.tolist()

    return write(law), write(other)


@pytest.mark.parametrize(("repeats", "width"), [(True, 1), (False, 5)])
def test_engines_whose_tokens_differ_by_the_limit_are_missed_no_more_often_than_stated(repeats, width):
    n, cells, alpha, beta, tries, length = 150, 4, 1e-2, 0.1, 60, 5
    rng, even = np.random.default_rng(2), np.full(cells, 1 / cells)
    limit = min_detectable_ngrams(n, cells, alpha, beta) / sqrt(width)
    sign = np.where(np.arange(cells) % 2, 1, -1) * limit / cells

    def missed(shift):
        return sum(
            ngram_homogeneity(*engines(even + shift, even - shift, n, length, repeats, rng), 1, alpha, seed=k).p_value
            > alpha
            for k in range(tries)
        )

    assert np.abs(2 * sign).sum() / 2 == pytest.approx(limit)
    assert missed(sign) <= most_by_chance(tries, beta)
    assert missed(sign / 3) > tries * beta, "the limit is not idle"


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
    texts, others = engines(even, np.array([0.8, 0.1, 0.1]), 80, 4, False, rng)
    with pytest.raises(Refuted, match=r"n-grams differ: p = .*\(0,\)"):
        assert_ngrams(texts, others, 1, 1e-2)
    with pytest.raises(Refuted, match=r"blocks differ: p = .* blocks like"):
        assert_mmd(texts, others, alpha=1e-2)
    again, alike = engines(even, even, 80, 4, False, rng)
    assert assert_ngrams(again, alike, 1, 1e-2).p_value > 1e-2
    assert assert_mmd(again, alike, alpha=1e-2).p_value > 1e-2


@pytest.mark.simulation
def test_permutation_limits_hold_where_the_rates_are_small():
    alpha, beta, tries, n, cells = 1e-3, 0.02, 150, 300, 9
    rng, even = np.random.default_rng(6), np.full(cells, 1 / cells)
    limit = min_detectable_ngrams(n, cells, alpha, beta)
    sign = np.array([1, -1] * 4 + [0]) * limit / 8
    missed = sum(
        ngram_homogeneity(*engines(even + sign, even - sign, n, 3, True, rng), 1, alpha, seed=k).p_value > alpha
        for k in range(tries)
    )
    assert missed <= most_by_chance(tries, beta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: min_detectable_betting(0, 0.5), "n is 0"),
        (lambda: min_detectable_betting(10, 1.0), "probability is 1.0"),
        (lambda: min_detectable_betting(10, 0.5, 0), "families is 0"),
        (lambda: min_detectable_betting(10, 0.5, slack=0.6), "slack is 0.6"),
        (lambda: samples_needed_betting(0.7, 0.5), "shift is 0.7"),
        (lambda: min_detectable_agreement(0, 0.5), "pairs is 0"),
        (lambda: min_detectable_agreement(10, 1.0), "collision is 1.0"),
        (lambda: samples_needed_agreement(0.1, 0.2), "more than the collision rate 0.2"),
        (lambda: min_detectable_ngrams(10, 1), "cells is 1"),
        (lambda: samples_needed_ngrams(0.0, 4), "distance is 0.0"),
        (lambda: min_detectable_mmd(10, 2.0), "alpha is 2.0"),
        (lambda: samples_needed_mmd(1.5), "distance is 1.5"),
    ],
)
def test_wrong_use_is_an_error(call, message):
    with pytest.raises(InputError, match=message):
        call()
