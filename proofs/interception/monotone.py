"""Operations on a random number, admitted by what they do and not by name.

An operation is looked at where the number can still be: at both ends, in the middle, at scattered points, and on both
sides of zero, where absolute values and reciprocals turn. If it rises and falls there, the trace ends. A bend between
these points is not seen here: the replays with plain numbers are the net for it.
"""

import math
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from .places import place, scattered
from .sources import switch

JITTER = 2
"""Units of the last place by which a kernel may step back where it is next to constant."""

EPSILON = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Unit of the last place of numbers near 1, for dtypes coarser than double precision."""


class Chain(Protocol):
    """A number that was drawn and what was done with it. source: the drawn number."""

    @property
    def source(self) -> Any: ...

    def then(self, apply: Callable[[Any], Any], *key: Any) -> Any:
        """Return the chain with one more operation."""
        ...

    def at(self, point: int) -> Any:
        """Return the number at a point of its source."""
        ...

    def key(self) -> Any:
        """Return what is equal for chains that do the same."""
        ...


Number = TypeVar("Number", bound=Chain)


def applied(number: Number, apply: Callable[[Any], Any], what: str, *key: Any) -> Number:
    """Return the number after an operation that is monotone, or constant; end the trace if it is neither.

    apply: the operation on a concrete number. key: what is equal for operations that do the same.
    """
    after, source = number.then(apply, *key), number.source
    known, asked = source.tracer.exploration.monotone, (after.key(), source.low, source.high)
    if asked not in known:
        if not _is_monotone(number, after):
            source.tracer.give_up(f"{what} of a random number at {place()} is not followed: it rises and falls")
        known.add(asked)
    return after


def _is_monotone(number: Chain, after: Chain) -> bool:
    """Return whether what the operation returns keeps one direction over the points at which it is looked at."""
    low, high = number.source.low, number.source.high
    looked_at = {low, (low + high) // 2, high - 1, *scattered(low, high), *_next_to_zero(number, low, high)}
    points = sorted(k for k in looked_at if low <= k < high)
    values = [_value(after, k) for k in points]
    defined = [k for k, value in enumerate(values) if not math.isnan(value)]
    if not defined:
        return True
    if len(defined) <= defined[-1] - defined[0]:
        return False  # undefined in the middle
    dtype = str(getattr(after.at(points[defined[0]]), "dtype", "")).removeprefix("torch.")
    jitter = JITTER * EPSILON.get(dtype, 2.0**-52)
    rises = falls = False
    for a, b in pairwise(values[k] for k in defined):
        most = jitter * min(max(abs(a), abs(b)), sys.float_info.max)
        rises, falls = rises or b - a > most, falls or a - b > most
    return not (rises and falls)


def _value(number: Chain, point: int) -> float:
    """Return the number at a point; NaN if it is undefined there."""
    try:
        with np.errstate(all="ignore"):
            return float(number.at(point))
    except (ArithmeticError, ValueError, TypeError):  # a complex number is none
        return math.nan


def _next_to_zero(number: Chain, low: int, high: int) -> tuple[int, ...]:
    """Return the points next to that at which the number changes its sign, if it does."""
    first, last = _value(number, low), _value(number, high - 1)
    if not min(first, last) < 0 < max(first, last):
        return ()
    zero = switch(low, high, lambda k: _value(number, k) > 0, first > 0)
    return zero - 2, zero - 1, zero, zero + 1
