"""Uniforms that are multiplied with each other: the closed form of their running products.

-log of the products u_1, u_1 u_2, ... of independent uniforms are the arrival times of a Poisson process of rate 1. So
the probability that the products lie in given intervals is a product of Poisson probabilities:

    Pr(n_m of the first g products lie in the m-th interval, for all m)
        = prod_{m < last} Poisson(n_m; L_m) * Pr(Poisson(L_last) >= n_last),  L_m = log(upper_m / lower_m).

The intervals are those between all thresholds that are seen along the lines on which every product, from the i-th on,
is
the same number. That decisions compare products with thresholds is an assumption; random requests confirm it.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

from .coordinates import Uniform
from .partition import Asking, Partition, Point, TooManyLeaves, leaves, moved

MOST_CELLS = 800


class Products:
    """A row of uniforms by their running products.

    partition: whose axes hold the row. row: the coordinates that are multiplied, in order.
    thresholds: of the products, ascending, once ``find`` has run.
    """

    def __init__(self, partition: Partition, row: Sequence[int]):
        self.partition, self.row = partition, row
        self.thresholds: list[float] = []

    def find(self, start: Point) -> Asking[None]:
        """Find the thresholds. start: a point; its other coordinates stay. Raises: TooManyLeaves."""
        coordinates, found = self.partition.coordinates, set()
        top = start
        for i in self.row:
            top = moved(top, i, coordinates[i].last)
        for i in self.row:
            tree = yield from Partition(coordinates, [i]).grown(top)
            edges = sorted(leaf.box.high[i] for leaf in leaves(tree))[:-1]
            found |= {coordinates[i].value(edge) for edge in edges}
        self.thresholds = _apart(sorted(found), self.grain)
        if self._count() > MOST_CELLS:
            raise TooManyLeaves

    @property
    def grain(self) -> float:
        """Return what rounding of the products moves a threshold by, relative to 1."""
        return len(self.row) * max(self.partition.coordinates[i].grain for i in self.row)

    def resolution(self) -> float:
        """Return what the grain of the thresholds can move the law by, in total variation: each product's density
        there."""
        rates = [-math.log(t) for t in self.thresholds]
        densities = [rate**k / math.factorial(k) for rate in rates for k in range(len(self.row))]
        return 4 * self.grain * math.fsum(densities)

    def _count(self) -> int:
        return math.comb(len(self.thresholds) + len(self.row), len(self.row))

    def cells(self) -> Iterator[tuple[int, ...]]:
        """Yield, for each product, the number of its interval from the top: they do not decrease."""
        yield from itertools.combinations_with_replacement(range(len(self.thresholds) + 1), len(self.row))

    def mass(self, cell: tuple[int, ...]) -> float:
        """Return the probability of a cell."""
        edges = [1.0, *reversed(self.thresholds)]
        product = 1.0
        for m in range(cell[-1] + 1):
            length = math.log(edges[m] / edges[m + 1]) if m + 1 < len(edges) else math.inf
            n = cell.count(m)
            product *= _poisson(n, length) if m < cell[-1] else _at_least(n, length)
        return product

    def cell(self, point: Point) -> tuple[tuple[int, ...], bool]:
        """Return the cell of a point, and whether rounding could put it into another."""
        product, cell, near = 1.0, [], False
        for i in self.row:
            product *= self.partition.coordinates[i].value(point[i])
            near = near or any(abs(product - t) <= 4 * self.grain for t in self.thresholds)
            cell.append(sum(product <= t for t in self.thresholds))
        return tuple(cell), near

    def inside(self, cell: tuple[int, ...], point: Point) -> Point:
        """Return the point moved to products well inside the intervals of a cell."""
        edges, before = [1.0, *reversed(self.thresholds), 0.0], 1.0
        for k, i in enumerate(self.row):
            m = cell[k]
            left = cell[k:].count(m)
            upper, lower = min(edges[m], before), edges[m + 1]
            product = upper - (upper - lower) / (left + 1)
            coordinate = self.partition.coordinates[i]
            assert isinstance(coordinate, Uniform)
            wanted = round(math.ldexp(product / before, coordinate.bits))
            point = moved(point, i, min(max(wanted, coordinate.first), coordinate.last))
            before *= coordinate.value(point[i])
        return point


def _apart(values: list[float], grain: float) -> list[float]:
    """Return the values without those that are the same up to rounding."""
    kept: list[float] = []
    for value in values:
        if not kept or value - kept[-1] > 4 * grain:
            kept.append(value)
    return [value for value in kept if 0 < value < 1]


def _poisson(n: int, mean: float) -> float:
    return math.exp(-mean) * mean**n / math.factorial(n) if math.isfinite(mean) else 0.0


def _at_least(n: int, mean: float) -> float:
    """Return Pr(Poisson(mean) >= n), without cancellation if it is small."""
    if not math.isfinite(mean):
        return 1.0
    if mean < 1:
        return math.exp(-mean) * math.fsum(mean**k / math.factorial(k) for k in range(n, n + 30))
    return 1.0 - math.fsum(_poisson(k, mean) for k in range(n))
