"""The set of values that a random number can still have on a path, and where it passes thresholds.

Points are whole numbers, so that one bisection serves all sources. What is known of a number on a path is an interval
of points; deciding a comparison cuts it.
"""

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..field import QQ, rational
from .tracer import Tracer


class RandomSource(ABC):
    """A random number before anything was done to it.

    low, high: the points still possible, low <= k < high.
    value(k): the number at a point, in the type and precision that the generator returns.
    weight(a, b): the probability of a <= k < b, up to a common factor.
    epsilon: the rounding of the type that carries the number.
    grain: points within which that rounding moves a threshold.
    coarseness: probability that a generator's own lattice moves across a threshold, where ``weight`` ignores it.
    settled(which): the point of a replay, once the number has run a race.
    asked: how often it was compared.
    """

    epsilon, grain, coarseness = 2.0**-52, 64, 0.0

    def __init__(self, tracer: Tracer, low: int, high: int, value: Callable[[int], Any], kind: str):
        self.tracer, self.low, self.high, self.value, self.kind = tracer, low, high, value, kind
        self.order = len(tracer.sources)
        self.spent: str | None = None
        self.settled: Callable[[int], int] | None = None
        self.sites: dict[tuple, None] = {}
        self.asked = 0

    def on_path(self, which: int) -> int:
        """Return a point that the decisions of the path allow: the middle, the ends, or one in between."""
        if self.settled is not None:
            return self.settled(which)
        low, high = self.replayed_between()
        if which == 0:
            return (low + high - 1) // 2
        if which in (1, 2):
            return low if which == 1 else high - 1
        # A fixed scatter, another one for each number: multiples of the golden ratio fill the interval evenly.
        return low + (high - low) * ((which + 5 * self.order) * 0x9E3779B97F4A7C15 % 2**64) // 2**64

    def replayed_between(self) -> tuple[int, int]:
        return self.low, self.high

    @abstractmethod
    def weight(self, low: int, high: int) -> Any: ...

    def hazard(self, point: int, downwards: bool, low: int, high: int) -> float:
        """Return -log of the probability, in low..high, of this point and those above it (``downwards``: below it)."""
        total = high - low
        left = point + 1 - low if downwards else high - point
        if left <= 0:
            return math.inf
        return -math.log1p((left - total) / total) if 2 * left > total else -math.log(left / total)


def in_double_precision(point: int) -> float:
    """Return a uniform of 53 bits."""
    return point * 2.0**-53


class Lattice(RandomSource):
    """A uniform as generators make it: k / 2^bits with k equally likely in 0..2^bits - 1.

    random.random and NumPy's float64: 53 bits. torch: 53, 24, 11, 8 bits in float64, 32, 16 and bfloat16.
    """

    def __init__(self, tracer: Tracer, bits: int, value: Callable[[int], Any] | None = None, kind: str = "float"):
        scale = 2.0**-bits
        super().__init__(tracer, 0, 1 << bits, value or (lambda k: k * scale), f"{kind}/{bits}")
        self.bits = bits
        self.epsilon = scale

    def weight(self, low: int, high: int) -> Any:
        self.tracer.lattices.add(self.bits)
        return QQ(high - low)


def _float(point: int) -> float:
    return struct.unpack("<d", struct.pack("<q", point))[0]


def _point(number: float) -> int:
    return struct.unpack("<q", struct.pack("<d", number))[0]


LARGEST_NOISE = 745.0
"""Largest standard exponential noise: exp(-745) is the smallest positive double."""


class Exponential(RandomSource):
    """Standard exponential noise, as a continuous number: the law of a race of such noises is known in closed form.

    Points are the doubles in (0, 745], in order. epsilon: the rounding of the type that carries the noise.
    """

    def __init__(self, tracer: Tracer, value: Callable[[float], Any] = float, kind: str = "float",
                 epsilon: float = 2.0**-52):  # fmt: skip
        super().__init__(tracer, 1, _point(LARGEST_NOISE), lambda k: value(_float(k)), f"exponential/{kind}")
        self.epsilon, self.grain = epsilon, int(64 * epsilon * 2**52)
        self.coarseness = min(epsilon, 2.0**-24)  # drawn in double or single precision, then rounded
        self.at = value

    def replayed_between(self) -> tuple[int, int]:
        # The middle of all doubles would be next to nothing: stay with noise that occurs.
        low = min(max(self.low, _point(1e-6)), self.high - 1)
        return low, max(min(self.high, _point(30.0)), low + 1)

    def weight(self, low: int, high: int) -> Any:
        self.tracer.uncertain(self.coarseness)
        start, end = _float(low), _float(high)
        return rational(math.exp(-start) * -math.expm1(start - end))

    def hazard(self, point: int, downwards: bool, low: int, high: int) -> float:
        if not low <= point < high:
            return math.inf if (point < low) == downwards else 0.0
        first, here, last = _float(low), _float(point), _float(high)
        if downwards:  # the law of e in first..last, given that it is below here
            here = _float(point + 1)
            return math.log(-math.expm1(first - last)) - math.log(-math.expm1(first - here))
        return here - first + math.log1p(-math.exp(first - last)) - math.log1p(-math.exp(here - last))


def switch(low: int, high: int, predicate: Callable[[int], bool], first: bool) -> int:
    """Return the smallest point in (low, high] at which a monotone predicate is no longer ``first``; high if none."""
    while high - low > 1:
        middle = (low + high) // 2
        if predicate(middle) == first:
            low = middle
        else:
            high = middle
    return high


GOLDEN = 0.6180339887498949
"""Number whose multiples are scattered evenly between whole numbers."""

NEAR = 8
"""Points beyond a linear guess between which a cut is looked for first."""


def turning(
    passed: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, near: Iterable[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Return the value of each of a row of monotone predicates at its first point, and the point where it changes.

    passed: the predicates [V] at points [V], or [1] if they are the same for all.
    low, high: low <= k < high are the points, [V] or [1]. For a predicate that does not change, high is returned.
    near: points [V] before and after those at which they change, if that is nearly known.
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
    """Return points before and after those at which the number passes the cuts, if it is linear."""
    low, high = number.source.low, number.source.high - 1
    first, last = (float(x) for x in points_at(number, np.array([low, high])))
    with np.errstate(all="ignore"):
        share = (np.asarray(cuts, dtype=float) - first) / (last - first)
        guess = low + (np.where(share > 0, np.minimum(share, 1), 0) * (high - low)).astype(np.int64)
    return np.maximum(guess - NEAR, low), np.minimum(guess + NEAR, high)


def points_at(number: Any, points: np.ndarray) -> Any:
    """Return the traced number at many points of its source at once."""
    source = number.source
    sample, exact = source.value((source.low + source.high) // 2), points * 2.0**-source.bits
    if type(sample) in (float, np.float64, np.float32):
        value = exact.astype(type(sample))
    elif str(getattr(sample, "dtype", "")) == {53: "torch.float64", 24: "torch.float32"}.get(source.bits):
        value = sample.new_tensor(exact)
    else:
        raise TypeError(type(sample))
    with np.errstate(all="ignore"):
        for step in number.steps:
            plain, sample = type(sample) is float, step.apply(sample)
            # A plain float takes the type of what it meets, an array of them does not.
            value = step.apply(value.astype(np.float32) if plain and type(sample) is np.float32 else value)
    return value
