"""Entries without meaning, by which it is seen what a function of torch does to its random entries.

A function that describes a tensor needs no numbers. One that moves entries returns those of the same places, whichever
they are: ordinary, huge, tiny or infinite ones.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

DESCRIBING: set[Any] = set()
"""Functions that were seen to describe tensors without their numbers."""

STREAMS = (2, 3, 5, 7, 11)
"""Whole numbers whose roots are irrational, one for each stream of ``even``."""


def even(count: int, stream: int) -> np.ndarray:
    """Return numbers between 0 and 1 that look independent."""
    # No generator of NumPy: those are followed themselves.
    return np.modf((np.arange(1, count + 1) + 0.1 * stream) * math.sqrt(STREAMS[stream]))[0]


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
    except Exception:  # it asks for numbers, each in a way of its own
        return False
    DESCRIBING.add(func)
    return True


class Entries(NamedTuple):
    """Rows of entries to call a function with.

    rows: the first of different numbers, by which it is seen what is moved where; all others confirm it.
    order, ranked: the places of the first row in ascending order, and its numbers in that order.
    """

    rows: list[torch.Tensor]
    order: np.ndarray
    ranked: np.ndarray

    def places(self, result: torch.Tensor) -> np.ndarray:
        """Return the place in the first row that each entry of a result comes from; -1 if from none."""
        found = _plain(result)
        if not len(self.ranked):
            return np.full(found.shape, -1)
        at = np.minimum(np.searchsorted(self.ranked, found), len(self.ranked) - 1)
        return np.where(self.ranked[at] == found, self.order[at], -1)

    def confirms(self, which: int, places: np.ndarray, first: torch.Tensor, result: torch.Tensor) -> bool:
        """Return whether a result has another row's entries at these places, and the first result's elsewhere."""
        row = self.rows[which]
        if result.shape != first.shape or result.dtype != first.dtype or first.dtype == torch.bool:
            return False
        expected = np.where(places >= 0, _plain(row)[places], _plain(first)) if len(row) else _plain(first)
        return np.array_equal(_plain(result), expected, equal_nan=first.is_floating_point())


def _plain(tensor: torch.Tensor) -> np.ndarray:
    """Return the numbers of a tensor in a dtype that has them all."""
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


@cache
def entries(dtype: torch.dtype, count: int) -> Entries:
    """Return rows of ``count`` entries of a dtype.

    Raises: ValueError if the dtype has too few numbers to tell so many entries apart.
    """
    signs = np.where(even(count, 1) < 0.5, -1.0, 1.0)

    def spread(low: float, high: float, size: int) -> np.ndarray:
        return (1 + even(size, 2)) * 2.0 ** np.floor(low + (high - low) * even(size, 3))

    most = float(np.log2(torch.finfo(dtype).max))
    # Numbers of like size, so that none is lost in the sum with another; many of half precision have to be apart.
    apart = 4 if count < 100 else min(0.4 * most, 60)
    numbers, huge = spread(-apart, apart, 8 * count), spread(0.6 * most, 0.9 * most, count)
    others = [huge * signs, -huge * signs, signs / huge, *(np.full(count, x) for x in (np.inf, -np.inf, np.nan, 0))]
    rounded = torch.from_numpy(numbers).to(dtype)
    different = np.sort(np.unique(_plain(rounded), return_index=True)[1])
    if len(different) < 2 * count:
        raise ValueError(f"fewer than {2 * count} numbers of {dtype}")
    one, other = (rounded[torch.from_numpy(at)] for at in (different[:count], different[count : 2 * count]))
    turned = torch.from_numpy(signs).to(dtype)
    rows = [one * turned, -other * turned, *(torch.from_numpy(np.asarray(row)).to(dtype) for row in others)]
    order = np.argsort(_plain(rows[0]))
    return Entries(rows, order, _plain(rows[0])[order])
