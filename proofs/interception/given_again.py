"""The arguments of a call after it: whether they are as they were, and whether the next call may get the same ones."""

import contextlib
import ctypes
import sys
from sys import getrefcount
from typing import Any

import numpy as np

from .tracer import not_followed

FEW = 1000
"""Entries of an array below which comparing its bytes is faster than comparing its entries."""


def same(now: Any, before: Any) -> bool:
    """Check whether an argument is equal to what it was before a call."""
    if type(now) is not type(before):
        return False
    if isinstance(now, (list, tuple)):
        if type(next(iter(now), None)) is float:  # a row: one call for all
            with not_followed(), contextlib.suppress(Exception):
                return now == before
        return len(now) == len(before) and all(map(same, now, before))
    if isinstance(now, np.ndarray):
        if (now.shape, now.dtype) != (before.shape, before.dtype):
            return False
        return now.tobytes() == before.tobytes() if now.size < FEW else bool((now == before).all())
    if hasattr(now, "equal"):  # a tensor; of another shape it is none
        from .tensors import equal

        return equal(now, before)
    return now.shape == before.shape and bool((now == before).all()) if hasattr(now, "shape") else now == before


def untouched(now: Any, before: Any) -> bool:
    """Check whether a list is as it was made before a call: of the same objects, and with no more room.

    One that is equal may have others, and one that was longer for a while has more room. False for anything else.
    """
    if not (OF_CPYTHON and type(now) is type(before) is list and len(now) == len(before)):
        return False
    if type(next(iter(before), None)) is list:
        return all(map(untouched, now, before))
    if now.__sizeof__() > before.__sizeof__():
        return False
    return same_memory(_entries(now), _entries(before), len(now) * POINTER)


def held(given: list) -> bool:
    """Check whether anything but this list has one of the lists in it, or of the rows in those."""
    return _most_references(given) > ALONE


def _most_references(given: list) -> int:
    rows = (row for x in given for row in x if type(row) is list)
    return max(map(getrefcount, [*given, *rows]))


ALONE = _most_references([[]])
"""References to a list that is in one other alone."""

OF_CPYTHON = sys.implementation.name == "cpython"
"""True where lists are CPython's: the place and the room of the pointers to entries are a list's last two fields."""

POINTER = ctypes.sizeof(ctypes.c_void_p)
_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t


def same_memory(one: int | None, other: int | None, size: int) -> bool:
    """Check whether so many bytes from two addresses on are the same."""
    return _compare(one, other, size) == 0


def _entries(row: list) -> int | None:
    """Return where the pointers to a list's entries are."""
    return ctypes.c_void_p.from_address(id(row) + list.__basicsize__ - 2 * POINTER).value
