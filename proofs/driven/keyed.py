"""Generators inside a kernel, keyed by seed and position, as a table that stands in their place, with a ledger of
keys."""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .coordinates import Coordinate

Key = tuple[Hashable, int]


class KeyedTable:
    """Numbers by seed and position: the same key gives the same number, and every use of it is in the ledger.

    numbers: those of known keys. other: the number of any other key.
    ledger: how often each key was asked. asked: the keys of each call, and whether they were an array.
    """

    def __init__(self, numbers: dict[Key, float], other: Callable[[Key], float]):
        self.numbers, self.other = numbers, other
        self.ledger: Counter[Key] = Counter()
        self.asked: list[tuple[tuple[Key, ...], bool]] = []

    def __call__(self, seed: Any, positions: Any) -> Any:
        """The number at a position, or an array of those at an array of positions."""
        places = np.asarray(positions)
        keys = tuple((_plain(seed), int(place)) for place in places.ravel())
        self.asked.append((keys, places.ndim > 0))
        self.ledger.update(keys)
        numbers = [self.numbers[key] if key in self.numbers else self.other(key) for key in keys]
        return np.array(numbers).reshape(places.shape) if places.ndim else numbers[0]

    def twice(self) -> Key | None:
        """A key that was used more than once."""
        return next((key for key, n in self.ledger.items() if n > 1), None)


def _plain(seed: Any) -> Hashable:
    return seed.item() if hasattr(seed, "item") else seed


def hashed(coordinate: Coordinate, key: Key, seed: int) -> float:
    """A number that depends on the key and on a seed alone."""
    words = [seed, *np.frombuffer(repr(key).encode().ljust(64, b" ")[:64], dtype=np.uint32).tolist()]
    return coordinate.value(coordinate.drawn(np.random.default_rng(words), 1)[0])
