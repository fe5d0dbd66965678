"""Design of the tests of sequences and seeds: assert, the smallest detectable deviation, and the samples it needs.

Each in the unit of its test: the probability of a set for betting, the kernel's distance for MMD, the total variation
between mean n-gram laws, the rate at which seeds agree. samples_needed(min_detectable(n)) = n as in ``design``.
"""

from collections.abc import Callable, Hashable, Mapping
from math import log, log1p, sqrt
from typing import Any

import numpy as np
from scipy.special import expit, logit, rel_entr

from ..models.errors import InputError
from .arguments import checked_distance, checked_rates, checked_size, log_inverse, rounded_up
from .betting import LOG_ODDS, Bets, Fortune, SetBetting, checked_slack, log_gains
from .design import POOLED_BY_SAMPLE, Refuted, checked_homogeneity
from .independence import Agreement, seeds_differ
from .power import Shift, detectable_by_bets, limit_noncentrality, log_rates, needed_by_bets, root, smallest
from .two_sample import Homogeneity, Sequences, hamming_kernel, mmd, ngram_homogeneity

STEP_POWERS = np.geomspace(0.05, 4, 24)
"""Powers r tried in the bound on a miss: Pr(W < w) <= w^r E[W^-r]."""

MAX_LOG_ODDS = float(LOG_ODDS.max())
"""The largest alternative. Larger shifts of the log-odds are not examined: there is then no limit below 1."""


def assert_betting(bets: Mapping[str, Bets], alpha: float = 1e-6, slack: float = 0.0) -> Fortune:
    """Tokens follow the target given the text before them, as far as the bets show.

    Guarantee: refutes fair bets with probability at most alpha (``SetBetting``).
    Raises: Refuted with the step and the family of sets; InputError.
    """
    fortune = SetBetting(list(bets), alpha, slack).observe(bets)
    if fortune.refuted_at is not None:
        bet = f"bets on {fortune.family!r} turned 1 into 1 / {alpha:g} by step {fortune.refuted_at}"
        raise Refuted(f"not the target's conditional law: {bet}", fortune)
    return fortune


def min_detectable_betting(
    n: int, probability: float, families: int = 1, slack: float = 0.0, alpha: float = 1e-6, beta: float = 1e-3
) -> float:
    """The shift of the probability of a family's sets beyond which bets on n tokens refute, except with probability beta.

    A miss has probability Pr(E_n < 1 / alpha) <= (F D / alpha)^r E[gain^-r]^n for each of the D alternatives and every
    r > 0, F families sharing the purse.
    probability: P, of the sets under the target, in (0, 1); the shifted one is at least P + shift (or at most P - shift)
    given the past
    families: F
    slack: as in ``SetBetting``
    Result: at most max(P, 1 - P), as far as a probability can be shifted. A deviation of total variation t shifts some
    set by t; whether one that is bet on, the family decides.
    Guarantee: finite-sample, in both directions. Source: Markov's inequality; ``SetBetting``.
    """
    checked_size("n", n, 1)
    shifts, goal = _shifts(probability, families, slack, alpha, beta)
    return detectable_by_bets(shifts, n, goal, beta)


def samples_needed_betting(
    shift: float, probability: float, families: int = 1, slack: float = 0.0, alpha: float = 1e-6, beta: float = 1e-3
) -> int:
    """The inverse of ``min_detectable_betting`` wherever that is below max(P, 1 - P). Guarantee: as there.

    Raises: InputError if no number is enough: a shift within the slack.
    """
    shifts, goal = _shifts(probability, families, slack, alpha, beta)
    checked_distance("shift", shift, max(each.most for each in shifts))
    needed = needed_by_bets(shifts, shift, goal, beta)
    if needed == float("inf"):
        raise InputError(f"shift is {shift:g}: no number of tokens shows it, with a slack of {slack:g}")
    return rounded_up(needed)


def detectable_shift(
    probability: np.ndarray, alpha: float = 1e-6, beta: float = 1e-3, slack: float = 0.0, families: int = 1
) -> float:
    """The mean change of a set's probability beyond which ``SetBetting`` refutes, except with probability beta.

    The least mean_t |P'_t - P_t|, logit P'_t = logit P_t + d, with sum_t log E'[g_t^-r] + r log(F D / alpha) <= log beta
    for some r: g_t is the gain in step t of the alternative nearest to d, of D, and its share of the fortune, with F
    families, is 1 / (F D). A lower bound on the mean total variation of the laws of the tokens.
    As ``min_detectable_betting``, for probabilities that differ from step to step as those of texts do.
    probability: [T], P_t of the bets of one family; steps with P of 0 or 1 contribute nothing
    Result: 1 if no such shift is detectable.
    Guarantee: finite-sample, for a shift of the same log-odds d, or more, in all steps, up or down, and for these P_t.
    Raises: InputError for what is not a rate or not a probability.
    Source: Markov's inequality; the fortune: Waudby-Smith and Ramdas 2024.
    """
    checked_rates(alpha, beta)
    p = np.asarray(probability, dtype=float)
    if p.ndim != 1 or not ((p >= -1e-9) & (p <= 1 + 1e-9)).all():
        raise InputError(f"probabilities of the shape {p.shape}, expected [steps] with entries in 0..1")
    steps, p = len(p), p[(p > slack) & (p < 1 - slack)]
    if not len(p):
        return 1.0
    won, lost = (log_gains(p[None], np.full((1, len(p)), hit), slack)[0] for hit in (True, False))
    price = log_inverse(alpha) + log(families * len(LOG_ODDS))
    shifts = [_one_way(p, won, lost, price, log(beta), sign) for sign in (1, -1)]
    return max(1.0 if shift is None else shift * len(p) / steps for shift in shifts)


def assert_seeds_differ(outputs: Mapping[Any, Hashable], collision: float, alpha: float = 1e-6) -> Agreement:
    """Different seeds give independent outputs, as far as their agreements show.

    Guarantee: refutes independent seeds with probability at most alpha (``seeds_differ``).
    Raises: Refuted with two seeds that agree; InputError.
    """
    agreement = seeds_differ(outputs, collision)
    if agreement.p_value <= alpha and agreement.witness:
        one, other = agreement.witness
        pairs = f"{agreement.agree} of {agreement.pairs} pairs agree, p = {agreement.p_value:.2g}"
        witness = f"seeds {one!r} and {other!r} give the same output"
        raise Refuted(f"seeds are not independent: {pairs}; {witness}", agreement)
    return agreement


def min_detectable_agreement(pairs: int, collision: float, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The probability that two seeds agree beyond which the pairs refute, except with probability beta.

    s with n KL(x || s) = log(1 / beta), x > collision with n KL(x || collision) = log(1 / alpha): a share of x has a
    p-value of alpha at most, and is not reached with probability beta at most.
    pairs: n, half of the seeds; the result is 1 where so few show nothing
    collision: probability that independent seeds agree
    Guarantee: finite-sample. Source: Chernoff 1952, for both tails of the binomial law.
    """
    checked_size("pairs", pairs, 1)
    _checked_collision(collision, alpha, beta)
    goal = log_inverse(alpha) / pairs
    if collision == 0:
        share = 0.0
    elif _kl(1.0, collision) <= goal:
        return 1.0
    else:
        share = root(lambda x: _kl(x, collision) - goal, collision, 1.0, absolute=1e-300, relative=1e-14)
    if share == 0:
        return -float(np.expm1(-log_inverse(beta) / pairs))
    return smallest(lambda s: log_inverse(beta) / pairs - _kl(share, s), share, 1.0)


def samples_needed_agreement(rate: float, collision: float, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The pairs: the inverse of ``min_detectable_agreement`` at ``rate`` wherever that is below 1. Guarantee: as there."""
    _checked_collision(collision, alpha, beta)
    checked_distance("rate", rate)
    if rate <= collision:
        raise InputError(f"rate is {rate!r}, expected more than the collision rate {collision!r} of independent seeds")
    if collision == 0:
        return rounded_up(log_inverse(beta) / -log1p(-rate)) if rate < 1 else 1

    def difference(x: float) -> float:
        return _kl(x, collision) * log_inverse(beta) - _kl(x, rate) * log_inverse(alpha)

    # The share at which both tails need the same number of pairs.
    share = root(difference, collision, rate, absolute=1e-300, relative=1e-14)
    return rounded_up(log_inverse(alpha) / _kl(share, collision))


def assert_ngrams(
    sequences: Sequences, others: Sequences, length: int = 2, alpha: float = 1e-6, **options: Any
) -> Homogeneity:
    """Two engines write n-grams equally often, as far as the samples show. options: those of ``ngram_homogeneity``.

    Guarantee: refutes two engines alike with probability at most alpha. Raises: Refuted with the n-gram; InputError.
    """
    return checked_homogeneity("n-grams differ", ngram_homogeneity(sequences, others, length, alpha, **options), alpha)


def min_detectable_ngrams(n: int, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The total variation between two engines' mean n-gram laws detectable with n sequences of each.

    sqrt(v / (2 n)), v as for homogeneity, at the rates that a permutation test needs (``_permutation_rates``). Where
    every sequence is one n-gram over and over, n sequences are n draws; other dependence within a sequence costs less,
    and independent n-grams, of which there are w a sequence, divide the limit by sqrt(w).
    n: number of sequences of each engine, of one length and one prompt
    cells: number of n-grams after pooling
    Result: at most 1.
    Guarantee: that of the chi-square limit, confirmed by simulation.
    """
    checked_size("n", n, 1)
    return min(1.0, sqrt(_ngrams(cells, alpha, beta) / (2 * n)))


def samples_needed_ngrams(distance: float, cells: int, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The inverse of ``min_detectable_ngrams`` wherever that is below 1. Guarantee: as there."""
    checked_distance("distance", distance)
    return rounded_up(_ngrams(cells, alpha, beta) / (2 * distance**2))


def assert_mmd(
    sequences: Sequences, others: Sequences, kernel: Callable = hamming_kernel, alpha: float = 1e-6, **options: Any
) -> Homogeneity:
    """Two engines write the same blocks, as far as the kernel shows. options: those of ``mmd``.

    Guarantee: refutes two engines alike with probability at most alpha. Raises: Refuted with the block; InputError.
    """
    return checked_homogeneity("blocks differ", mmd(sequences, others, kernel, alpha, **options), alpha)


def min_detectable_mmd(n: int, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The maximum mean discrepancy beyond which n blocks of each engine refute, except with probability beta.

    [1 + sqrt(2 log(1 / a)) + sqrt(log(1 / b))] sqrt(2 / n), a and b as in ``_permutation_rates``. Of the random swaps of
    a pairing no more than a share a reaches sqrt(n / 2) MMD = 1 + sqrt(2 log(1 / a)); the estimate along the true
    difference of the mean embeddings is sqrt(2 log(1 / b) / n) too small with probability b at most.
    n: number of blocks of each engine, of one prompt
    Result: in the kernel's distance ||E k(x, .) - E k(y, .)||, kernels within [0, 1]; at most sqrt(2), the most there
    can be. A total variation of t over M blocks is an MMD of 2 t sqrt(e / M) at least, e the kernel's least eigenvalue
    (2^-L for ``hamming_kernel``): which deviations are easy to detect is the kernel's choice.
    Guarantee: finite-sample, for every two laws and kernel, one prompt.
    Source: McDiarmid 1989 and Hoeffding 1963 in a Hilbert space, as in Gretton et al. 2012, Theorem 7.
    """
    checked_size("n", n, 1)
    return min(sqrt(2), _mmd(alpha, beta) * sqrt(2 / n))


def samples_needed_mmd(distance: float, alpha: float = 1e-6, beta: float = 1e-3) -> int:
    """The inverse of ``min_detectable_mmd`` wherever that is below sqrt(2). Guarantee: as there."""
    checked_distance("distance", distance, sqrt(2))
    return rounded_up(2 * (_mmd(alpha, beta) / distance) ** 2)


def _shifts(probability: float, families: int, slack: float, alpha: float, beta: float) -> tuple[list[Shift], float]:
    """Both directions, and what a fortune has to reach."""
    checked_rates(alpha, beta)
    checked_size("families", families, 1)
    if not 0 < probability < 1:
        raise InputError(f"probability is {probability!r}, expected more than 0 and less than 1")
    checked_slack(slack)
    p = np.full((1, 1), probability)
    hit, missed = (-log_gains(p, np.full((1, 1), seen), slack)[0, :, 0] for seen in (True, False))

    def rates(shift: float) -> np.ndarray:
        return log_rates(min(max(1 - probability - shift, 0.0), 1.0), missed, hit)

    shifts = [Shift(rates, 1 - probability), Shift(lambda shift: rates(-shift), probability)]
    return shifts, log(families * len(LOG_ODDS) / alpha)


def _one_way(p: np.ndarray, won: np.ndarray, lost: np.ndarray, price: float, goal: float, sign: int) -> float | None:
    def log_missed(shift: float) -> float:
        moved = expit(logit(p) + sign * shift)
        return min(
            np.log(moved * np.exp(-r * won[k]) + (1 - moved) * np.exp(-r * lost[k])).sum() + r * price
            for k in np.argsort(np.abs(LOG_ODDS - sign * shift))[:2]
            for r in STEP_POWERS
        )

    low, high = 0.0, MAX_LOG_ODDS
    if log_missed(high) > goal:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if log_missed(middle) > goal else (low, middle)
    return float(np.abs(expit(logit(p) + sign * high) - p).mean())


def _kl(x: float, p: float) -> float:
    return float(rel_entr(x, p) + rel_entr(1 - x, 1 - p))


def _checked_collision(collision: float, alpha: float, beta: float) -> None:
    checked_rates(alpha, beta)
    if not 0 <= collision < 1:
        raise InputError(f"collision is {collision!r}, expected 0 or more and less than 1")


def _permutation_rates(alpha: float, beta: float) -> tuple[float, float]:
    """What a permutation test needs: the share of all permutations, and what is left of beta.

    Of the 2 / alpha permutations drawn no more than one may be as extreme. If a share of alpha sqrt(beta) / 2 of all
    is, two or more of those drawn are with probability (2 sqrt(beta) / 2)^2 / 2 = beta / 2 at most.
    """
    checked_rates(alpha, beta)
    return alpha * sqrt(beta) / 2, beta / 2


def _ngrams(cells: int, alpha: float, beta: float) -> float:
    checked_size("cells", cells, 2)
    return POOLED_BY_SAMPLE * limit_noncentrality(cells - 1, *_permutation_rates(alpha, beta))


def _mmd(alpha: float, beta: float) -> float:
    share, left = _permutation_rates(alpha, beta)
    return 1 + sqrt(2 * log_inverse(share)) + sqrt(log_inverse(left))
