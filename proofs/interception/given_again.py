"""The arguments of a call after it: whether they are as they were, and whether the next call may get the same ones."""

import contextlib
import ctypes
import sys
import weakref
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
    """Check whether a list or tensor is as it was before a call, and nothing in it shows that a call has had it.

    A list has the same objects then: one that is equal may be another one. False for anything else.
    """
    if type(now) is not type(before):
        return False
    if type(now) is list:
        if len(now) != len(before):
            return False
        if type(next(iter(before), None)) is list:
            return all(map(untouched, now, before))
        return OF_CPYTHON and _compare(_entries(now), _entries(before), len(now) * POINTER) == 0
    if not hasattr(now, "equal"):
        return False
    from . import tensors

    return tensors.untouched(now, before)


def held(given: list) -> bool:
    """Check whether anything but this list has one of the lists and tensors in it, or a part of them."""
    if most_references(given) > ALONE or any(weakref.getweakrefcount(x) for x in given):
        return True
    tensors = [x for x in given if type(x) is not list]
    if not tensors:
        return False
    from .tensors import memory_held

    return any(map(memory_held, tensors))


def most_references(given: list) -> int:
    """Return the largest number of references to one of the objects of a list, and of the lists in it."""
    rows = (row for x in given if type(x) is list for row in x if type(row) is list)
    return max(map(getrefcount, [*given, *rows]))


ALONE = most_references([[]])
"""References to an object that nothing else has."""

OF_CPYTHON = sys.implementation.name == "cpython"
"""True where lists are CPython's: the place and the room of the pointers to entries are a list's last two fields."""

POINTER = ctypes.sizeof(ctypes.c_void_p)
_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t


def _entries(row: list) -> int | None:
    """Return where the pointers to a list's entries are."""
    return ctypes.c_void_p.from_address(id(row) + list.__basicsize__ - 2 * POINTER).value
