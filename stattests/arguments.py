"""Checks of the arguments that the tests and their designs share, and the error rates of all evidence in reports."""

from math import inf, log
from numbers import Real

from ..models.errors import InputError

ALPHA = 1e-6
"""Rate of false alarms: that a run refutes what is right, all its tests together."""

BETA = 1e-3
"""Rate of misses: that a deviation at a detection limit is not refuted."""

REFERENCE_ALPHA = 1e-3
"""Rate of false alarms of a server that is judged by the rows of a reference: their drift is measured, not known."""


def checked_rates(alpha: float, beta: float = 0.5) -> None:
    """Check rates. Raises: InputError unless both are between 0 and 1."""
    for name, rate in (("alpha", alpha), ("beta", beta)):
        if not (isinstance(rate, Real) and 0 < rate < 1):
            raise InputError(f"{name} is {rate!r}, expected a rate between 0 and 1")


def checked_size(name: str, value: float, least: float) -> None:
    """Check a size. Raises: InputError if a number of samples, cells or tokens is too small."""
    _checked_number(name, value)
    if not value >= least:
        raise InputError(f"{name} is {value!r}, expected at least {least:g}")


def checked_distance(name: str, value: float, most: float = 1.0) -> None:
    """Check a distance. Raises: InputError unless it is more than 0 and at most ``most`` (finite in any case)."""
    _checked_number(name, value)
    if not 0 < value <= most or value == inf:
        raise InputError(f"{name} is {value!r}, expected more than 0 and at most {most:g}")


def _checked_number(name: str, value: object) -> None:
    if not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}, expected a number")


def log_inverse(rate: float) -> float:
    """Return log(1 / rate)."""
    return -log(rate)
