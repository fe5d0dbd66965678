"""Random numbers that are inputs: the points that each can take, in order, and how likely they are."""

import math
from fractions import Fraction

import numpy as np

RAREST = 2.0**-24
"""Probability of each end of continuous noise that is not examined when it is compared."""

BEST, WORST = 2.0**-60, 2.0**40
"""Hazards that let a contestant of a race win, and lose, against any weight that matters."""


class Uniform:
    """A uniform on the lattice k / 2^bits of [0, 1), or of (0, 1].

    Points are whole numbers, first..last, in the order of their values.
    value(k): the number at a point; values: the numbers at an array of points. at(value): the point of a number.
    mass(a, b): probability of the points a..b; those beyond the ends count to the ends.
    hazard(k, small): -log of the probability to be no better than k, where small (or large) numbers are good.
    at_hazard(h, small): the point whose hazard is nearest to h. drawn(generator, n): n points at random.
    ways: whether small numbers win a race of this kind of noise, or large ones: the ways in which it has a closed law.
    grain: what rounding to the points moves a hazard by, relatively.
    """

    ways = (False, True)

    def __init__(self, bits: int, open_left: bool = False):
        self.bits, self.shift = bits, int(open_left)
        self.first, self.last = 0, (1 << bits) - 1
        self.grain = 2.0**-bits

    def value(self, point: int) -> float:
        return math.ldexp(point + self.shift, -self.bits)

    def values(self, points: np.ndarray) -> np.ndarray:
        return np.ldexp((points + self.shift).astype(np.float64), -self.bits)

    def mass(self, low: int, high: int) -> Fraction:
        return Fraction(high - low + 1, 1 << self.bits)

    def hazard(self, point: int, small: bool) -> float:
        share = math.ldexp(point + 0.5, -self.bits)
        return -math.log1p(-share) if small else -math.log(share)

    def at_hazard(self, hazard: float, small: bool) -> int:
        share = -math.expm1(-hazard) if small else math.exp(-hazard)
        point = round(math.ldexp(share, self.bits) - 0.5)
        return min(max(point, self.first + 1), self.last - 1)  # at the ends logarithms are infinite

    def drawn(self, generator: np.random.Generator, count: int) -> list[int]:
        return generator.integers(self.first, self.last, count, endpoint=True).tolist()

    def at(self, value: float) -> int:
        return int(math.ldexp(value, self.bits)) - self.shift


class Noise:
    """Standard exponential or Gumbel noise, rounded to floats, with what ``Uniform`` has.

    Its points are those floats, in order.
    """

    def __init__(self, kind: str, dtype: str):
        self.exponential = kind == "exponential"
        self.ways = (self.exponential,)
        self._float, self._int = (np.float64, np.int64) if dtype == "float64" else (np.float32, np.int32)
        self.grain = float(np.finfo(self._float).eps)
        ends = (self.at_hazard(RAREST, True), self.at_hazard(RAREST, False)) if not self.exponential else (
            self.at_hazard(RAREST, True), self.at_hazard(-math.log(RAREST), True))  # fmt: skip
        self.first, self.last = min(ends), max(ends)

    def at(self, value: float) -> int:
        bits = int(self._float(value).view(self._int))
        return bits if bits >= 0 else -(bits & np.iinfo(self._int).max)

    def value(self, point: int) -> float:
        magnitude = float(self._int(abs(point)).view(self._float))
        return magnitude if point >= 0 else -magnitude

    def values(self, points: np.ndarray) -> np.ndarray:
        magnitudes = np.abs(points).astype(self._int).view(self._float).astype(np.float64)
        return np.where(points >= 0, magnitudes, -magnitudes)

    def _below(self, value: float) -> float:
        """Return the probability of numbers up to the value."""
        return -math.expm1(-value) if self.exponential else math.exp(-math.exp(-value))

    def mass(self, low: int, high: int) -> Fraction:
        under = 0.0 if low <= self.first else self._below(self.value(low - 1))
        upto = 1.0 if high >= self.last else self._below(self.value(high))
        return Fraction(upto) - Fraction(under)

    def hazard(self, point: int, small: bool) -> float:
        value = self.value(point)
        if self.exponential:
            return value if small else -math.log(max(-math.expm1(-value), 1e-300))
        log = math.exp(-value) if value > -700 else math.inf  # of 1 / the probability to be below
        return log if not small else -math.log(max(-math.expm1(-log), 1e-300))

    def at_hazard(self, hazard: float, small: bool) -> int:
        if self.exponential:
            return self.at(hazard if small else -math.log(max(-math.expm1(-hazard), 1e-300)))
        log = hazard if not small else -math.log(max(-math.expm1(-hazard), 1e-300))
        return self.at(-math.log(max(log, 1e-300)))

    def drawn(self, generator: np.random.Generator, count: int) -> list[int]:
        values = generator.exponential(size=count) if self.exponential else generator.gumbel(size=count)
        return [*map(self.at, values)]


Coordinate = Uniform | Noise
"""One random number that is an input."""
