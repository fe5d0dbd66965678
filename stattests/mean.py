"""The mean of bounded draws (accepted draft tokens per call, a coin) by betting: interval and detection limit."""

from collections.abc import Mapping
from math import log
from numbers import Real
from typing import NamedTuple

import numpy as np

from ..models.errors import InputError
from .arguments import checked_rates, checked_size
from .cells import Counts, checked_counts
from .power import Shift, detectable_by_bets, log_mean_exp, log_rates, root

STAKES = 2.0 ** (-np.arange(20) / 2)
"""Shares of the fortune that are staked, each by an equal part of it: right within a factor 2^(1/4) for n up to 1e7."""


class Mean(NamedTuple):
    """A mean of n draws and an interval that contains the true mean with probability 1 - alpha."""

    mean: float
    lower: float
    upper: float
    n: int


def log_fortune(counts: Mapping[float, int], top: float, claimed: float, sign: int) -> float:
    """Return log of the fortune, from 1, of bets that the mean is above (sign 1) or below (-1) the claimed one.

    W = mean over stakes l of prod over draws x of (1 + sign l (x - m) / top).
    Guarantee: E[W] <= 1 if the mean is at most (at least) ``claimed``, also for draws that depend on the past.
    Source: Waudby-Smith and Ramdas 2024 (Estimating means of bounded random variables by betting).
    """
    drawn = [(value, times) for value, times in counts.items() if times]
    values, times = np.array(drawn, dtype=float).T
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.maximum(sign * np.outer(STAKES, (values - claimed) / top), -1.0)) @ times
    return float(log_mean_exp(logs))


def log_bets_above(values: np.ndarray, claimed: float | np.ndarray) -> np.ndarray:
    """Return log of the factor of each bet that the mean of a value is above the claimed one, [n, stakes].

    1 + l (x - m) / m for the stakes l. A fortune is the product of the factors, averaged over stakes.
    values: [n], with no largest one; one below 0 by rounding counts as 0. claimed: m > 0, one or [n].
    Guarantee: each factor has a mean of at most 1 if that of its value is at most m, given everything before.
    Source: as of ``log_fortune``.
    """
    with np.errstate(divide="ignore"):
        return np.log1p(STAKES * (np.maximum(values, 0.0) / claimed - 1)[:, None])


def mean_interval(counts: Counts, top: float, alpha: float = 1e-6) -> Mean:
    """Return a two-sided interval for the mean of draws between 0 and ``top``.

    {m : W+(m) < 2 / alpha and W-(m) < 2 / alpha}, W as in ``log_fortune``; it depends on the counts only.
    counts: value -> times seen, 0 <= value <= top: for tokens per call, tau -> calls and top = gamma
    top, alpha: the largest value there can be, 1 - confidence
    Guarantee: contains the true mean with probability at least 1 - alpha, for every n and every law on [0, top]. Its
    width follows the variance of the draws, about 2 sqrt(2 Var log(40 / alpha) / n).
    Raises: InputError if a value is outside [0, top] or nothing was counted.
    Source: Waudby-Smith and Ramdas 2024, Theorem 1 and Section 4; the mixture over fixed stakes is ours.
    """
    drawn = _checked(counts, top)
    checked_rates(alpha)
    n = sum(drawn.values())
    mean = sum(value * times for value, times in drawn.items()) / n
    goal = log(2 / alpha)

    def won(claimed: float, sign: int) -> float:
        return log_fortune(drawn, top, claimed, sign) - goal

    # W+ falls as the claimed mean rises, W- rises with it; neither has won anything at the mean itself.
    lower = 0.0 if won(0.0, 1) < 0 else root(lambda m: won(m, 1), 0.0, mean)
    upper = float(top) if won(top, -1) < 0 else root(lambda m: won(m, -1), mean, top)
    return Mean(mean, lower, upper, n)


def min_detectable_mean(n: int, expected: float, top: float = 1.0, alpha: float = 1e-6, beta: float = 1e-3) -> float:
    """Return the shift of the mean beyond which n draws refute ``expected`` except with probability beta.

    A miss has probability Pr(W < 2 / alpha) <= (2 L / alpha)^r E[(1 + l (x - m) / top)^-r]^n for each of the L stakes l
    and every r > 0; of all laws on [0, top] with the shifted mean the two-point law on {0, top} makes this largest
    (convexity), so the statement holds for every law.
    expected, top: the mean m and the largest value, in the unit of the result
    Result: at most max(expected, top - expected), as far as a mean can be.
    Guarantee: finite-sample, in both directions and for every law.
    Source: Markov's inequality; Waudby-Smith and Ramdas 2024 for W.
    """
    checked_size("n", n, 1)
    shifts, goal = _shifts(expected, top, alpha, beta)
    return top * detectable_by_bets(shifts, n, goal, beta)


def _shifts(expected: float, top: float, alpha: float, beta: float) -> tuple[list[Shift], float]:
    """Return both directions on the scale of 0 to 1, and what a fortune has to reach."""
    checked_rates(alpha, beta)
    if not (top > 0 and 0 <= expected <= top):
        raise InputError(f"expected mean {expected!r}, which is not within 0 and top = {top!r}")
    m = expected / top
    shifts = [Shift(lambda shift, a=a: _shifted(a, shift), 1 - a) for a in (m, 1 - m) if a < 1]
    return shifts, log(2 * len(STAKES) / alpha)


def _shifted(m: float, shift: float) -> np.ndarray:
    """Return the rates of draws from {0, 1} of mean m + shift, for bets that the mean is above m."""
    mean = min(m + shift, 1.0)
    return log_rates(1 - mean, -np.log1p(-np.minimum(STAKES * m, 1 - 1e-12)), -np.log1p(STAKES * (1 - m)))


def _checked(counts: Counts, top: float) -> dict[float, int]:
    checked: dict[float, int] = {}
    for value, times in checked_counts(counts).items():
        if not (isinstance(value, Real) and 0 <= float(value) <= top):
            raise InputError(f"counts: a draw of {value!r}, expected a value between 0 and {top:g}")
        checked[float(value)] = times
    return checked
