"""The places of a request's random numbers: points of a partition, and what a subject is given.

A generator inside a kernel, keyed by seed and position, is replaced by a table with a ledger of keys.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...models.problem import Problem
from .coordinates import Coordinate
from .declared import Declared
from .partition import Point

Key = tuple[Hashable, int]


class KeyedTable:
    """A table of numbers by seed and position: the same key gives the same number, and every use is in the ledger.

    numbers: the numbers of known keys. other: gives the number of any other key.
    ledger: how often each key was asked. asked: the keys of each call, and whether they were an array.
    """

    def __init__(self, numbers: dict[Key, float], other: Callable[[Key], float]):
        self.numbers, self.other = numbers, other
        self.ledger: Counter[Key] = Counter()
        self.asked: list[tuple[tuple[Key, ...], bool]] = []

    def __call__(self, seed: Any, positions: Any) -> Any:
        """Return the number at a position, or an array of those at an array of positions."""
        places = np.asarray(positions)
        keys = tuple((_plain(seed), int(place)) for place in places.ravel())
        self.asked.append((keys, places.ndim > 0))
        self.ledger.update(keys)
        numbers = [self.numbers[key] if key in self.numbers else self.other(key) for key in keys]
        return np.array(numbers).reshape(places.shape) if places.ndim else numbers[0]

    def twice(self) -> Key | None:
        """Return a key that was used more than once."""
        return next((key for key, n in self.ledger.items() if n > 1), None)


def _plain(seed: Any) -> Hashable:
    return seed.item() if hasattr(seed, "item") else seed


def hashed(coordinate: Coordinate, key: Key, seed: int) -> float:
    """Return a number that depends on the key and on a seed alone."""
    words = [seed, *np.frombuffer(repr(key).encode().ljust(64, b" ")[:64], dtype=np.uint32).tolist()]
    return coordinate.value(coordinate.drawn(np.random.default_rng(words), 1)[0])


class LayoutPart(NamedTuple):
    """The numbers of one name: coordinates start..stop - 1, in this shape."""

    declared: Declared
    sizes: tuple[int, ...]
    start: int
    stop: int


class Layout:
    """All random numbers of a request.

    declared: what the subject takes. problem: of the request. dtype: of its rows.
    keys: of keyed generators, by name: calls of the generator, each with its keys and whether it asked for an array.
    coordinates: one for each number. axes: those to be cut. rows: those that may race, by row.
    multiplied: rows of uniforms that may be multiplied with each other.
    """

    def __init__(self, declared: Sequence[Declared], problem: Problem, dtype: str,
                 keys: dict[str, list[tuple[tuple[Key, ...], bool]]] | None = None):  # fmt: skip
        vocabulary = problem.vocabulary
        self.coordinates: list[Coordinate] = []
        self.parts: list[LayoutPart] = []
        self.rows: list[list[int]] = []
        self.multiplied: list[list[int]] = []
        self.keyed: dict[str, dict[Key, int]] = {}
        self.kinds = {one.name: one.coordinate(dtype) for one in declared}
        for one in declared:
            start = len(self.coordinates)
            if one.keyed:
                self._add_keyed(one, (keys or {}).get(one.name, []), vocabulary)
                continue
            sizes = one.sizes(problem)
            self._add(one, int(np.prod(sizes, dtype=int)))
            self.parts.append(LayoutPart(one, sizes, start, len(self.coordinates)))
            numbers = range(start, len(self.coordinates))
            if one.shape and one.shape[-1] == "V" and vocabulary > 1:
                self.rows += [[*numbers[k : k + vocabulary]] for k in range(0, len(numbers), vocabulary)]
            elif one.kind == "uniform" and len(sizes) == 1 and sizes[0] > 1:
                self.multiplied.append([*numbers])
        racing = {i for row in self.rows for i in row}
        self.axes = [i for i in range(len(self.coordinates)) if i not in racing]

    def _add(self, one: Declared, count: int) -> None:
        self.coordinates += [self.kinds[one.name]] * count

    def _add_keyed(self, one: Declared, calls: Sequence[tuple[tuple[Key, ...], bool]], vocabulary: int) -> None:
        places = self.keyed.setdefault(one.name, {})
        for keys, array in calls:
            new = [key for key in dict.fromkeys(keys) if key not in places]
            start = len(self.coordinates)
            places.update({key: start + k for k, key in enumerate(new)})
            self._add(one, len(new))
            if array and len(new) == vocabulary > 1:
                self.rows.append([*range(start, start + len(new))])

    def name(self, i: int) -> str:
        """Return a coordinate's name for a reader. All numbers of a row that may race have one name."""
        row = next((row for row in self.rows if i in row), None)
        i, last = (row[0], 1) if row else (i, 0)
        part = next((p for p in self.parts if p.start <= i < p.stop), None)
        if part is None:
            keys = ((name, key) for name, places in self.keyed.items() for key, k in places.items() if k == i)
            return next(f"{name}{[*key][: 2 - last]}" for name, key in keys)
        place = np.unravel_index(i - part.start, part.sizes) if part.sizes else ()
        return part.declared.name + "".join(f"[{int(k)}]" for k in place[: len(place) - last])

    def start(self) -> Point:
        """Return the point with every number in the middle of its lattice."""
        return tuple((c.first + c.last) // 2 for c in self.coordinates)

    def drawn(self, generator: np.random.Generator, count: int) -> list[Point]:
        """Draw points at random, as the numbers are distributed."""
        columns = [c.drawn(generator, count) for c in self.coordinates]
        return [*zip(*columns)] if columns else [()] * count

    def numbers(self, point: Point) -> dict[str, Any]:
        """Return what the subject is given for a point, by name, as nested lists. Keyed generators are left out."""
        return self.many([point])[0]

    def many(self, points: Sequence[Point]) -> list[dict[str, Any]]:
        """Return the same for many points at once."""
        array = np.array(points, dtype=np.int64).reshape(len(points), -1)
        columns = []
        for part in self.parts:
            values = self.coordinates[part.start].values(array[:, part.start : part.stop])
            columns.append(values.reshape(len(points), *part.sizes).tolist())
        names = [part.declared.name for part in self.parts]
        return [dict(zip(names, numbers)) for numbers in zip(*columns)] if columns else [{} for _ in points]

    def tables(self, point: Point, seed: int) -> dict[str, KeyedTable]:
        """Return keyed generators at a point. seed: of the numbers of keys that are not in it."""
        tables = {}
        for name, places in self.keyed.items():
            coordinate = self.kinds[name]
            numbers = {key: coordinate.value(point[i]) for key, i in places.items()}
            tables[name] = KeyedTable(numbers, lambda key, coordinate=coordinate: hashed(coordinate, key, seed))
        return tables
