"""Design of the bets on sequences: assert, and the smallest detectable shift of a set's probability."""

from collections.abc import Mapping
from functools import lru_cache
from math import log

import numpy as np
from scipy.special import expit, logit

from ..models.errors import InputError
from .arguments import checked_rates, checked_size, log_inverse
from .betting import LOG_ODDS, Bets, Fortune, SetBetting, checked_slack, log_gains
from .design import Refuted
from .power import Shift, detectable_by_bets, log_rates

STEP_POWERS = np.geomspace(0.05, 4, 24)
"""Powers r tried in the bound on a miss: Pr(W < w) <= w^r E[W^-r]."""

MAX_LOG_ODDS = float(LOG_ODDS.max())
"""The largest alternative. Larger shifts of the log-odds are not examined: there is then no limit below 1."""


def assert_betting(bets: Mapping[str, Bets], alpha: float = 1e-6, slack: float = 0.0) -> Fortune:
    """Assert that tokens follow the target given the text before them, as far as the bets show.

    Guarantee: refutes fair bets with probability at most alpha (``SetBetting``).
    Raises: Refuted with the step and the family of sets; InputError.
    """
    fortune = SetBetting(list(bets), alpha, slack).observe(bets)
    if fortune.refuted_at is not None:
        bet = f"bets on {fortune.family!r} turned 1 into 1 / {alpha:g} by step {fortune.refuted_at}"
        raise Refuted(f"not the target's conditional distribution: {bet}", fortune)
    return fortune


def min_detectable_betting(
    n: int, probability: float, families: int = 1, slack: float = 0.0, alpha: float = 1e-6, beta: float = 1e-3
) -> float:
    """Return the shift of a set's probability beyond which bets on n tokens refute, except with probability beta.

    A miss has probability Pr(E_n < 1 / alpha) <= (F D / alpha)^r E[gain^-r]^n for each of the D alternatives and every
    r > 0, F families sharing the purse.
    probability: P, of the sets under the target, in (0, 1); the shifted one is at least P + shift (or at most P -
    shift) given the past
    families: F
    slack: as in ``SetBetting``
    Result: at most max(P, 1 - P), as far as a probability can be shifted. A deviation of total variation t shifts some
    set by t; whether one that is bet on, the family decides.
    Guarantee: finite-sample, in both directions. Source: Markov's inequality; ``SetBetting``.
    """
    checked_size("n", n, 1)
    shifts, goal = _shifts(probability, families, slack, alpha, beta)
    return detectable_by_bets(shifts, n, goal, beta)


def detectable_shift(
    probability: np.ndarray, alpha: float = 1e-6, beta: float = 1e-3, slack: float = 0.0, families: int = 1
) -> float:
    """Return the mean change of a set's probability beyond which ``SetBetting`` refutes, except with probability beta.

    The least mean_t |P'_t - P_t|, logit P'_t = logit P_t + d, with sum_t log E'[g_t^-r] + r log(F D / alpha) <= log
    beta for some r: g_t is the gain in step t of the alternative nearest to d, of D, and its share of the fortune, with
    F families, is 1 / (F D). A lower bound on the mean total variation of the laws of the tokens.
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
    steps = len(p)
    p, counts = np.unique(p[(p > slack) & (p < 1 - slack)], return_counts=True)  # often all are one number
    if not len(p):
        return 1.0
    won, lost = (log_gains(p[None], np.full((1, len(p)), hit), slack)[0] for hit in (True, False))
    price = log_inverse(alpha) + log(families * len(LOG_ODDS))
    shifts = [_one_way(p, counts, won, lost, price, log(beta), sign) for sign in (1, -1)]
    return max(1.0 if shift is None else shift / steps for shift in shifts)


def _shifts(probability: float, families: int, slack: float, alpha: float, beta: float) -> tuple[list[Shift], float]:
    """Return both directions, and what a fortune has to reach."""
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


def _one_way(
    p: np.ndarray, counts: np.ndarray, won: np.ndarray, lost: np.ndarray, price: float, goal: float, sign: int
) -> float | None:
    """Return the least change that shows in one direction, summed over the steps. counts: steps of each p."""

    # All powers at once where p is short; one by one where they would need much memory.
    groups = np.split(STEP_POWERS[:, None], 1 if len(p) < 10_000 else len(STEP_POWERS))

    @lru_cache(2 * len(groups))  # most steps of the search look at the two bets of the step before
    def powers(k: int, group: int) -> tuple[np.ndarray, np.ndarray]:
        return np.exp(-groups[group] * won[k]), np.exp(-groups[group] * lost[k])

    def log_missed(shift: float) -> float:
        moved, found = expit(odds + sign * shift), []
        for k in np.argsort(np.abs(LOG_ODDS - sign * shift))[:2]:
            for group, r in enumerate(groups):
                hit, missed = powers(int(k), group)
                found.append((np.log(moved * hit + (1 - moved) * missed) @ counts + r[:, 0] * price).min())
        return min(found)

    odds = logit(p)
    low, high = 0.0, MAX_LOG_ODDS
    if log_missed(high) > goal:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if log_missed(middle) > goal else (low, middle)
    return float(counts @ np.abs(expit(odds + sign * high) - p))
