"""The line of third-party code that is asking, for findings; and keys of what it asks, for cached answers."""

import os
import sys
from decimal import Decimal
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np

NOT_THE_SUBJECT = {"numpy", "torch", "random", "bisect"}
"""Packages whose frames are skipped in the search for the line of the audited code."""

STANDARD = os.path.dirname(os.__file__) + os.sep
INSTALLED = tuple(os.path.join(STANDARD, folder, "") for folder in ("site-packages", "dist-packages"))
"""Folders of installed packages in the standard library's folder: those may be the audited code."""


def _ours(name: str) -> bool:
    """Check whether a module is traced or traces."""
    return name.partition(".")[0] in NOT_THE_SUBJECT or name.startswith("draftproof.proofs.interception")


def _standard(frame: FrameType) -> bool:
    """Check whether a frame is in the standard library, or in no file."""
    file = frame.f_code.co_filename
    return file.startswith("<frozen") or (file.startswith(STANDARD) and not file.startswith(INSTALLED))


def site() -> tuple[str, int, int]:
    """Return the file, line and instruction of third-party code that is asking."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _ours(frame.f_globals.get("__name__", "")) and not _standard(frame):
            return frame.f_code.co_filename.rsplit("/", 1)[-1], frame.f_lineno, frame.f_lasti
        frame = frame.f_back
    return "unknown place", 0, 0


def place() -> str:
    """Return the file and line of third-party code that is asking, for messages."""
    return "{}:{}".format(*site())


TORCH_CONSTANTS = {"dtype", "device", "memory_format", "layout"}


def scattered(low: int, high: int) -> set[int]:
    """Return points at which a chain of operations is checked for being monotone: spread evenly, and near the ends."""
    wide = high - low
    even = (low + wide * (k * 0x9E3779B97F4A7C15 % 2**64) // 2**64 for k in range(1, 13))
    near = (wide >> shift for shift in (7, 14, 28, 42))
    return {*even, *(k for d in near for k in (low + d, high - 1 - d))}


def constant_key(constant: Any) -> tuple:
    """Return a key that is equal for constants of the same type and value, to the bit; unknown types never have one."""
    kind = type(constant).__name__
    if isinstance(constant, (np.ndarray, np.generic)) and not constant.dtype.hasobject:
        return (kind, constant.dtype.str, constant.shape, constant.tobytes())
    if isinstance(constant, float):
        return (kind, constant.hex())
    if isinstance(constant, (bool, int, str, bytes, Fraction, Decimal, type(None))):
        return (kind, constant)
    if isinstance(constant, slice):
        return (kind, *map(constant_key, (constant.start, constant.stop, constant.step)))
    return (kind, repr(constant) if kind in TORCH_CONSTANTS or constant is ... else object())


def plain_key(tree: Any) -> tuple:
    """Return ``constant_key`` of arguments in tuples, lists and dictionaries."""
    if type(tree) in (tuple, list):
        return (type(tree).__name__, *map(plain_key, tree))
    if type(tree) is dict:
        return ("dict", *((name, plain_key(value)) for name, value in tree.items()))
    return constant_key(tree)
