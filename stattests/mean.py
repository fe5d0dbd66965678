"""The mean of bounded draws (accepted draft tokens per call, a coin) by betting: interval, test, what it can see."""

from collections.abc import Mapping
from math import log
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from ..models.errors import InputError
from .cells import checked_counts
from .power import checked_distance, checked_rates, checked_size, rounded_up, smallest

STAKES = 2.0 ** (-np.arange(20) / 2)
"""Shares of the fortune that are staked, each by an equal part of it: right within a factor 2^(1/4) for n up to 1e7."""

MISS_POWERS = np.geomspace(0.02, 8, 80)
"""Powers r tried in the bound on a miss: Pr(W < w) <= w^r E[W^-r]."""


class Mean(NamedTuple):
    """The mean of n draws and an interval that holds the true mean with probability 1 - alpha."""

    mean: float
    lower: float
    upper: float
    n: int


def log_fortune(counts: Mapping[int, int], top: float, claimed: float, sign: int) -> float:
    """log of what betting that the mean is above (sign 1) or below (-1) the claimed one has made of 1.

    W = mean over stakes l of prod over draws x of (1 + sign l (x - m) / top).
    Guarantee: E[W] <= 1 if the mean is at most (at least) ``claimed``, also for draws that depend on the past.
    Source: Waudby-Smith and Ramdas 2024 (Estimating means of bounded random variables by betting).
    """
    drawn = [(value, times) for value, times in counts.items() if times]
    values, times = np.array(drawn, dtype=float).T
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.maximum(sign * np.outer(STAKES, (values - claimed) / top), -1.0)) @ times
    return float(logsumexp(logs)) - log(len(STAKES))


def mean_interval(counts: Mapping[int, int], top: float, alpha: float = 1e-6) -> Mean:
    """A two-sided interval for the mean of draws between 0 and ``top``.

    {m : W+(m) < 2 / alpha and W-(m) < 2 / alpha}, W as in ``log_fortune``; it depends on the counts only.
    counts: value -> times seen, 0 <= value <= top: for tokens per call, tau -> calls and top = gamma.
    Guarantee: holds the true mean with probability at least 1 - alpha, for every n and every law on [0, top]. Its width
    follows the variance of the draws, about 2 sqrt(2 Var log(40 / alpha) / n).
    Raises: InputError if a value is outside [0, top] or nothing was counted.
    Source: Waudby-Smith and Ramdas 2024, Theorem 1 and Section 4; the mixture over fixed stakes is ours.
    """
    counts = _checked(counts, top)
    checked_rates(alpha)
    n = sum(counts.values())
    mean = sum(value * times for value, times in counts.items()) / n
    goal = log(2 / alpha)

    def beyond(claimed, sign):
        return log_fortune(counts, top, claimed, sign) - goal

    # W+ falls as the claimed mean rises, W- rises with it; neither has made anything at the mean itself.
    lower = 0.0 if beyond(0.0, 1) < 0 else float(brentq(beyond, 0.0, mean, args=(1,)))
    upper = float(top) if beyond(top, -1) < 0 else float(brentq(beyond, mean, top, args=(-1,)))
    return Mean(mean, lower, upper, n)


def min_detectable_mean(n: int, expected: float, top: float = 1.0, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """The shift of the mean beyond which n draws refute ``expected`` except with probability beta.

    A miss has probability Pr(W < 2 / alpha) <= (2 L / alpha)^r E[(1 + l (x - m) / top)^-r]^n for each of the L stakes l
    and every r > 0; of all laws on [0, top] with the shifted mean the two-point law on {0, top} makes this largest
    (convexity), so the statement holds for every law.
    Same unit as ``expected`` and ``top``. Up to where a mean can be: at most max(expected, top - expected).
    Guarantee: finite-sample, in both directions and for every law.
    Source: Markov's inequality; Waudby-Smith and Ramdas 2024 for W.
    """
    checked_size("n", n, 1)
    checked_rates(alpha, beta)
    rooms, goal = _rooms(expected, top), log(2 * len(STAKES) / alpha)
    return top * max(
        smallest(lambda shift, m=m: log_missed(_shifted(m, shift), n, goal) - log(beta), 0.0, room) for m, room in rooms
    )


def samples_needed_mean(
    shift: float, expected: float, top: float = 1.0, alpha: float = 1e-6, beta: float = 1e-3
) -> int:
    """The fewest draws with which every shift of the mean by at least ``shift`` is seen except with probability beta.

    The inverse of ``min_detectable_mean`` wherever that is below max(expected, top - expected).
    Guarantee, Source: as there.
    """
    checked_rates(alpha, beta)
    rooms, goal = _rooms(expected, top), log(2 * len(STAKES) / alpha)
    checked_distance("shift", shift, top * max(room for _, room in rooms))
    return rounded_up(
        max(
            draws_needed(_shifted(m, shift / top), goal, beta) for m, room in rooms if shift / top <= room * (1 + 1e-12)
        )
    )


def _rooms(expected: float, top: float):
    """(mean, room above it) on the scale of 0 to 1, for both directions."""
    if not (top > 0 and 0 <= expected <= top):
        raise InputError(f"expected mean {expected!r}, which is not within 0 and top = {top!r}")
    m = expected / top
    return [(a, 1 - a) for a in (m, 1 - m) if a < 1]


def log_rates(low: float, at_low: np.ndarray, at_high: np.ndarray) -> np.ndarray:
    """log E[W^-r] of one draw from two points; [powers r, stakes].

    low: the probability of the lower point; at_low, at_high: -log W at either, by stake.
    """
    r = MISS_POWERS[:, None]
    return np.log1p(low * np.expm1(r * at_low) + (1 - low) * np.expm1(r * at_high))


def log_missed(rates: np.ndarray, n: float, goal: float) -> float:
    """log of the bound on Pr(log W < goal) after n draws, the best over powers and stakes.

    rates: ``log_rates``, of a W that one stake makes alone; what the mixture costs belongs to the goal.
    """
    return float((n * rates + MISS_POWERS[:, None] * goal).min())


def draws_needed(rates: np.ndarray, goal: float, beta: float) -> float:
    """The draws, not rounded, at which that bound is beta; infinite if it never is."""
    price = MISS_POWERS[:, None] * goal - log(beta)
    return float(np.where(rates < 0, price / np.where(rates < 0, -rates, 1.0), np.inf).min())


def _shifted(m: float, shift: float) -> np.ndarray:
    """The rates of draws from {0, 1} of mean m + shift, for bets that the mean is above m."""
    mean = min(m + shift, 1.0)
    return log_rates(1 - mean, -np.log1p(-np.minimum(STAKES * m, 1 - 1e-12)), -np.log1p(STAKES * (1 - m)))


def _checked(counts, top):
    counts = checked_counts(counts)
    for value in counts:
        if not 0 <= value <= top:
            raise InputError(f"counts: a draw of {value!r}, expected a value between 0 and {top:g}")
    return counts
