"""What a test can see: the arithmetic that the design triples share."""

from collections.abc import Callable
from math import ceil, log
from numbers import Real

from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from ..models.errors import InputError
from .tails import chernoff_critical

FEW_COUNTS_MARGIN = 1.04
"""How much more than the limit's the critical value rises over the statistic's mean at expected counts near 5."""


def checked_rates(alpha: float, beta: float = 0.5) -> None:
    """Raises: InputError unless both are rates between 0 and 1."""
    for name, rate in (("alpha", alpha), ("beta", beta)):
        if not (isinstance(rate, Real) and 0 < rate < 1):
            raise InputError(f"{name} is {rate!r}, expected a rate between 0 and 1")


def checked_size(name: str, value: float, least: float) -> None:
    """Raises: InputError if a number of samples, cells or tokens is too small."""
    _checked_number(name, value)
    if not value >= least:
        raise InputError(f"{name} is {value!r}, expected at least {least:g}")


def checked_distance(name: str, value: float, most: float = 1.0) -> None:
    """Raises: InputError unless it is more than 0 and at most ``most``."""
    _checked_number(name, value)
    if not 0 < value <= most:
        raise InputError(f"{name} is {value!r}, expected more than 0 and at most {most:g}")


def _checked_number(name: str, value: object) -> None:
    if not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}, expected a number")


def rounded_up(samples: float) -> int:
    """The whole number of samples that is enough, one part in 10^9 being rounding and not a sample."""
    return max(1, ceil(samples * (1 - 1e-9)))


def needed_noncentrality(critical: float, freedom: int, beta: float) -> float:
    """The noncentrality at which a chi-square variable stays below the critical value with probability beta."""

    def missed(noncentrality):
        return float(ncx2.cdf(critical, freedom, noncentrality)) - beta

    high = critical + 10.0
    while missed(high) > 0:
        high *= 2
    return 0.0 if missed(0.0) < 0 else float(brentq(missed, 0.0, high, rtol=1e-14))


def bound_noncentrality(freedom: int, alpha: float, beta: float) -> float:
    """The noncentrality that the test by Chernoff's bound at rate alpha misses with probability beta, at most.

    The margin for few counts is measured, not proved (simulated up to 4,000 cells of an expected count of 5); well
    above 5 it costs 2 % in total variation.
    """
    return needed_noncentrality(FEW_COUNTS_MARGIN * chernoff_critical(freedom, alpha), freedom, beta)


def limit_noncentrality(freedom: int, alpha: float, beta: float) -> float:
    """The noncentrality that the chi-square test at rate alpha misses with probability beta."""
    return needed_noncentrality(float(chi2.isf(alpha, freedom)), freedom, beta)


def smallest(condition: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function meets 0 between low and high; high if it does not."""
    return high if condition(high) > 0 else float(brentq(condition, low, high, xtol=1e-300, rtol=1e-14))


def log_inverse(rate: float) -> float:
    """log(1 / rate)."""
    return -log(rate)
