"""What a function of torch does to its random entries, seen by calling it with entries without meaning.

A function that describes a tensor needs no numbers. One that moves entries returns, of tensors that have no number in
common, the entries of the same places, and does so with huge, tiny and infinite ones too.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from .places import plain_key
from .tensors import TracedTensor, key_of

SMALL = 64
"""Entries of an argument up to which a call is known again by its numbers."""

DESCRIBING: set[Any] = set()
"""Functions that were seen to describe tensors without their numbers."""


def describes(func: Callable, build: Callable, slots: list[Any], results: tuple[Any, Any]) -> bool:
    """Return whether a result that is no tensor is known without any numbers.

    build: makes the arguments from the tensors and numbers in their slots. results: of two calls with other numbers.
    """
    if func in DESCRIBING:
        return True
    try:
        if results[0] is not results[1] and results[0] != results[1]:
            return False
        args, kwargs = build([x.to("meta") if isinstance(x, torch.Tensor) else x for x in slots])
        func(*args, **kwargs)
    except Exception:  # it asks for numbers, in a way of its own
        return False
    DESCRIBING.add(func)
    return True


class Entries(NamedTuple):
    """Rows of entries to call a function with.

    rows: two of different numbers, by which it is seen what is moved where; then huge, tiny and equal ones.
    order, ranked: of each of the first two rows, the places in ascending order, and the numbers in that order.
    """

    rows: list[torch.Tensor]
    order: list[np.ndarray]
    ranked: list[np.ndarray]

    def _places(self, which: int, result: torch.Tensor) -> np.ndarray:
        """Return the place in the first or second row that each entry of a result comes from; -1 if from none."""
        found, ranked = _plain(result), self.ranked[which]
        if not len(ranked):
            return np.full(found.shape, -1)
        at = np.minimum(np.searchsorted(ranked, found), len(ranked) - 1)
        return np.where(ranked[at] == found, self.order[which][at], -1)

    def came_from(self, one: torch.Tensor, other: torch.Tensor) -> np.ndarray | None:
        """Return which place each entry of a result comes from, -1 for constants; None if it does more than move.

        one, other: the results with the first two rows.
        """
        if (
            one.shape != other.shape
            or one.is_floating_point() != self.rows[0].is_floating_point()
            or one.dtype == torch.bool
        ):
            return None
        places, found = self._places(0, one), _plain(one)
        constant = (places < 0) & ((found == _plain(other)) | (np.isnan(found) & np.isnan(_plain(other))))
        return places if np.array_equal(places, self._places(1, other)) and (constant | (places >= 0)).all() else None

    def confirm(self, places: np.ndarray, results: list[torch.Tensor]) -> bool:
        """Return whether the results with all rows have moved entries at these places, and constants elsewhere."""
        constants = _plain(results[0])
        for row, result in zip(self.rows, results):
            expected = np.where(places >= 0, _plain(row)[places], constants) if len(row) else constants
            if not np.array_equal(_plain(result), expected, equal_nan=row.is_floating_point()):
                return False
        return True


def _plain(tensor: torch.Tensor) -> np.ndarray:
    """Return the numbers of a tensor in a type that has them all."""
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def even(count: int, stream: int) -> np.ndarray:
    """Return numbers between 0 and 1 that look independent; no generator of NumPy, which is followed itself."""
    return np.modf((np.arange(1, count + 1) + 0.1 * stream) * math.sqrt(STREAMS[stream]))[0]


STREAMS = (2, 3, 5, 7, 11, 13)
"""Whole numbers whose roots are irrational, one for each stream of ``even``."""


@cache
def entries(dtype: torch.dtype, count: int) -> Entries:
    """Return rows of ``count`` entries of a dtype.

    Raises: ValueError if the dtype has too few numbers to tell so many entries apart.
    """
    signs = np.where(even(count, 1) < 0.5, -1.0, 1.0)

    def spread(low: float, high: float, size: int) -> np.ndarray:
        return (1 + even(size, 2)) * 2.0 ** np.floor(low + (high - low) * even(size, 3))

    if dtype.is_floating_point:
        most = float(np.log2(torch.finfo(dtype).max))
        numbers, huge = spread(-9, 9, 8 * count), spread(0.6 * most, 0.9 * most, count)
        rows = [huge * signs, -huge * signs, signs / huge]
        rows += [np.full(count, x) for x in (np.inf, -np.inf, np.nan, 0.0)]
    else:
        numbers, rows = np.floor(spread(1, 28, 8 * count)), [np.full(count, x) for x in (2.0**30, -(2.0**30), 1, 0)]
    rounded = torch.from_numpy(numbers).to(dtype)
    at = np.sort(np.unique(_plain(rounded), return_index=True)[1])
    if len(at) < 2 * count:
        raise ValueError(f"fewer than {2 * count} numbers of {dtype}")
    different = rounded[torch.from_numpy(at)]
    turned = torch.from_numpy(signs).to(dtype)
    first = [different[:count] * turned, -different[count : 2 * count] * turned]
    order = [np.argsort(_plain(row)) for row in first]
    ranked = [_plain(row)[at] for row, at in zip(first, order)]
    return Entries(first + [torch.from_numpy(row).to(dtype) for row in rows], order, ranked)


def call_key(func: Callable, name: str, slots: list[Any], build: Callable) -> tuple | None:
    """Return what is equal for calls that do the same to their random entries; None if it would be too long."""
    parts: list[tuple] = []
    for x in slots:
        if isinstance(x, TracedTensor):
            parts.append(("random", str(x.dtype), tuple(x.shape), x.is_contiguous()))
        elif isinstance(x, torch.Tensor) and x.numel() <= SMALL:
            parts.append((tuple(x.shape), *key_of(x)))
        else:
            return None
    return (func, name, plain_key(build(["?"] * len(slots))), *parts)
