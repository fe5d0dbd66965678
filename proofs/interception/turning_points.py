"""Where followed numbers pass thresholds: a whole row of thresholds at once, by bisection of arrays of points."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

GOLDEN = 0.6180339887498949
"""Its multiples are scattered evenly between whole numbers."""

NEAR = 8
"""Points beyond those between which a straight line from end to end sees a cut."""


def turning(
    passed: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, near: Iterable[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """What each of a row of monotone predicates is at its first point, and the point from which on it is not.

    passed: the predicates [V] at points [V], or [1] for all the same.
    low, high: low <= k < high are the points, [V] or [1]; high is returned for a predicate that does not change.
    near: points [V] before and after those at which they change, where that is known nearly.
    """
    first, last = passed(low), passed(high - 1)
    turns = first != last
    begin, end = np.broadcast_to(low, first.shape), np.broadcast_to(high - 1, first.shape)
    for points, before in zip(near, (True, False)):
        right = (passed(points) == first) == before
        begin, end = (np.where(right, points, begin), end) if before else (begin, np.where(right, points, end))
    end = np.where(turns, end, high)
    while turns.any() and int((end - begin)[turns].max()) > 1:
        middle = (begin + end) // 2
        same = passed(middle) == first
        begin, end = np.where(turns & same, middle, begin), np.where(turns & ~same, middle, end)
    return first, end


def guessed(number: Any, cuts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points before and after those at which the number passes the cuts, if it is linear."""
    low, high = number.source.low, number.source.high - 1
    first, last = (float(x) for x in points_at(number, np.array([low, high])))
    with np.errstate(all="ignore"):
        share = (np.asarray(cuts, dtype=float) - first) / (last - first)
        guess = low + (np.where(share > 0, np.minimum(share, 1), 0) * (high - low)).astype(np.int64)
    return np.maximum(guess - NEAR, low), np.minimum(guess + NEAR, high)


def points_at(number: Any, points: np.ndarray) -> Any:
    """The followed number at many points of its source at once."""
    source = number.source
    sample, exact = source.value(source.low), points * 2.0**-source.bits
    if type(sample) in (float, np.float64, np.float32):
        value = exact.astype(type(sample))
    elif str(getattr(sample, "dtype", "")) == {53: "torch.float64", 24: "torch.float32"}.get(source.bits):
        value = sample.new_tensor(exact)
    else:
        raise TypeError(type(sample))
    with np.errstate(all="ignore"):
        return number.made_of(value)
