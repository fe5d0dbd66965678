"""What makes two operations on random numbers the same, so that a threshold found once serves again."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

TORCH_CONSTANTS = {"dtype", "device", "memory_format", "layout"}


def scattered(low: int, high: int) -> set[int]:
    """Points at which it is seen whether a chain of operations that should be monotone is: evenly, and near the
    ends."""
    wide = high - low
    even = (low + wide * (k * 0x9E3779B97F4A7C15 % 2**64) // 2**64 for k in range(1, 13))
    near = (wide >> shift for shift in (7, 14, 28, 42))
    return {*even, *(k for d in near for k in (low + d, high - 1 - d))}


def constant_key(constant: Any) -> tuple:
    """What makes two constants the same in an operation: type and value, to the bit; unknown types never are."""
    kind = type(constant).__name__
    if isinstance(constant, (np.ndarray, np.generic)) and not constant.dtype.hasobject:
        return (kind, constant.dtype.str, constant.shape, constant.tobytes())
    if isinstance(constant, float):
        return (kind, constant.hex())
    if isinstance(constant, (bool, int, str, bytes, Fraction, Decimal, type(None))):
        return (kind, constant)
    return (kind, repr(constant) if kind in TORCH_CONSTANTS else object())


def plain_key(tree: Any) -> tuple:
    """``constant_key`` of arguments in tuples, lists and dictionaries."""
    if type(tree) in (tuple, list):
        return (type(tree).__name__, *map(plain_key, tree))
    if type(tree) is dict:
        return ("dict", *((name, plain_key(value)) for name, value in tree.items()))
    return constant_key(tree)
