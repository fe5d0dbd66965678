"""The arithmetic shared by the detection limits: roots, chi-square tests and bets."""

from collections.abc import Callable, Iterable
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..models.errors import InputError
from .arguments import checked_distance
from .tails import chernoff_critical

MAX_SAMPLES = 10**12
"""Samples beyond which none are recommended."""

FEW_COUNTS_MARGIN = 1.04
"""How much more than the limit's the critical value rises over the statistic's mean at expected counts near 5."""

MISS_POWERS = np.geomspace(0.02, 8, 80)
"""Powers r tried in the bound on a miss: Pr(W < w) <= w^r E[W^-r]."""


def log_sum_exp(logs: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return log of the sum of exp(logs) along an axis."""
    # scipy's stubs: a tuple with signs
    return scipy.special.logsumexp(logs, axis=axis)  # pyright: ignore[reportReturnType]


def log_mean_exp(logs: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return log of the mean of exp(logs) along an axis."""
    return log_sum_exp(logs, axis) - log(logs.shape[axis])


def root(
    function: Callable[[float], float], low: float, high: float, absolute: float = 2e-12, relative: float = 2.0**-50
) -> float:
    """Find where a continuous function crosses 0 between low and high, within the sum of the two tolerances.

    Raises: ValueError if it has the same sign at both. Source: Brent 1973.
    """
    from scipy.optimize import brentq  # a fifth of a second of importing, for samples alone

    # scipy's stubs know neither float tolerances nor that the result is a number.
    return float(brentq(function, low, high, xtol=absolute, rtol=relative))  # pyright: ignore[reportArgumentType]


def smallest(condition: Callable[[float], float], low: float, high: float) -> float:
    """Find where a falling function meets 0 between low and high; high if it does not."""
    return high if condition(high) > 0 else root(condition, low, high, absolute=1e-300, relative=1e-14)


def samples_needed(limit: Callable[..., float], distance: float, *args: Any, **options: Any) -> int:
    """Return the fewest samples n with limit(n, ...) <= distance: how many a test needs to detect a deviation of that
    size.

    limit: one of the ``min_detectable_*``; its result does not grow with its first argument
    distance: in the unit of the limit
    args, options: the further arguments of the limit
    Guarantee: that of the limit; samples_needed(limit, limit(n)) = n wherever the limit has begun to fall at n.
    Raises: InputError for a distance that is not positive, where 1e12 samples would not be enough, and as the limit.
    """
    checked_distance("distance", distance, inf)
    high = 1
    while limit(high, *args, **options) > distance:
        high *= 4
        if high > MAX_SAMPLES:
            raise InputError(f"distance is {distance:g}: {MAX_SAMPLES:g} samples would not be enough")
    low = high // 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if limit(middle, *args, **options) <= distance else (middle, high)
    return high


def needed_noncentrality(critical: float, freedom: int, beta: float) -> float:
    """Return the noncentrality at which a chi-square variable stays below the critical value with probability beta."""
    if scipy.special.chndtr(critical, freedom, 0.0) < beta:
        return 0.0
    return float(scipy.special.chndtrinc(critical, freedom, beta))


def bound_noncentrality(freedom: int, alpha: float, beta: float) -> float:
    """Return the noncentrality that the test by Chernoff's bound at rate alpha misses with probability beta, at most.

    The margin for few counts is measured, not proved (simulated up to 4,000 cells of an expected count of 5); well
    above 5 it costs 2 % in total variation.
    """
    return needed_noncentrality(FEW_COUNTS_MARGIN * chernoff_critical(freedom, alpha), freedom, beta)


def log_rates(low: float, at_low: np.ndarray, at_high: np.ndarray) -> np.ndarray:
    """Return log E[W^-r] of one draw from two points; [powers r, stakes].

    low: the probability of the lower point
    at_low, at_high: [stakes], -log W at either
    """
    r = MISS_POWERS[:, None]
    return np.log1p(low * np.expm1(r * at_low) + (1 - low) * np.expm1(r * at_high))


class Shift(NamedTuple):
    """A direction in which a deviation of some size, at most ``most``, has ``rates(size)``, by ``log_rates``."""

    rates: Callable[[float], np.ndarray]
    most: float


def detectable_by_bets(shifts: Iterable[Shift], n: float, goal: float, beta: float) -> float:
    """Return the size beyond which n draws refute in every direction, except with probability beta; at most the
    largest.

    Pr(log W < goal) is bounded by the best over powers and stakes. goal: log of what refutes and of what the mixture
    over stakes costs. Source: Markov's inequality.
    """
    price = MISS_POWERS[:, None] * goal

    def limit(shift: Shift) -> float:
        return smallest(lambda size: float((n * shift.rates(size) + price).min()) - log(beta), 0.0, shift.most)

    return max(map(limit, shifts))
