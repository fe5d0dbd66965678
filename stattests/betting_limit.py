"""The detection limit of betting on sets of tokens, for the steps that were really taken."""

from math import log

import numpy as np
from scipy.special import expit, logit

from ..models.errors import InputError
from .arguments import checked_rates, log_inverse
from .betting import LOG_ODDS, log_gains

STEP_POWERS = np.geomspace(0.05, 4, 24)
"""Powers r tried in the bound on a miss: Pr(W < w) <= w^r E[W^-r]."""

MAX_LOG_ODDS = float(LOG_ODDS.max())
"""The largest alternative. Larger shifts of the log-odds are not examined: there is then no limit below 1."""


def detectable_shift(
    probability: np.ndarray, alpha: float = 1e-6, beta: float = 1e-3, slack: float = 0.0, families: int = 1
) -> float:
    """The mean change of a set's probability beyond which ``SetBetting`` refutes, except with probability beta.

    The least mean_t |P'_t - P_t|, logit P'_t = logit P_t + d, with sum_t log E'[g_t^-r] + r log(F D / alpha) <= log beta
    for some r: g_t is the gain in step t of the alternative nearest to d, of D, and its share of the fortune, with F
    families, is 1 / (F D). A lower bound on the mean total variation of the laws of the tokens.
    As ``min_detectable_betting``, for probabilities that differ from step to step as those of texts do.
    probability: [T], P_t of the bets of one family; steps with P of 0 or 1 contribute nothing
    alpha, beta: rates of false alarms and misses
    slack: as in ``SetBetting``
    families: F
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


def _one_way(p: np.ndarray, won: np.ndarray, lost: np.ndarray, price: float, goal: float, sign: int) -> float | None:
    def missed(shift: float) -> float:
        """log of the bound on a miss."""
        moved = expit(logit(p) + sign * shift)
        return min(
            np.log(moved * np.exp(-r * won[k]) + (1 - moved) * np.exp(-r * lost[k])).sum() + r * price
            for k in np.argsort(np.abs(LOG_ODDS - sign * shift))[:2]
            for r in STEP_POWERS
        )

    low, high = 0.0, MAX_LOG_ODDS
    if missed(high) > goal:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if missed(middle) > goal else (low, middle)
    return float(np.abs(expit(logit(p) + sign * high) - p).mean())
