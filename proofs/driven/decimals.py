"""Floating-point numbers as decimals that read back as the same numbers, many at a time.

The shortest decimal of a float costs half a microsecond, and was most of what a request to a program cost. Here all digits
of many numbers are made at once, by arrays, wherever that is exact.
"""

from collections.abc import Sequence

import numpy as np

GROUPS = 5
"""Of four digits after the point."""

WIDTH = 4 * (GROUPS + 1)
"""Characters of a number: sign, whole part and point, as many as a group has, and the groups."""

LEAST, LARGEST = 2.0**-12, 100.0
"""Cut after 20 digits, a number from LEAST on is off by less than half of what separates it from its neighbours in float64."""

FINEST = 2.0**-43
"""Its multiples stay exact when their whole part is taken away and what is left is multiplied by 10,000."""

AT_ONCE = 2**16
"""Numbers that are written at a time."""

_DIGITS = np.frombuffer("".join(f"{k:04}" for k in range(10_000)).encode(), dtype=np.uint32)
_WHOLE = np.frombuffer(
    "".join(f"{sign}{k}.".rjust(4) for sign in ("", "-") for k in range(100)).encode(), dtype=np.uint32
)


def filled(pieces: Sequence[str], values: np.ndarray) -> list[str]:
    """A text for each row of values: pieces[0], the row's first value, pieces[1], ..., pieces[-1].

    pieces: one more than values in a row, ASCII. values: float64, rows of one text each.
    Guarantee: each value is a JSON number that reads back as it: in WIDTH characters, else the shortest there is.
    """
    rows = max(1, AT_ONCE // max(1, values.shape[1]))
    return [text for k in range(0, len(values), rows) for text in _filled(pieces, values[k : k + rows])]


def _filled(pieces: Sequence[str], values: np.ndarray) -> list[str]:
    magnitudes = np.abs(values)
    with np.errstate(over="ignore"):
        multiples = values / FINEST
    exact = (magnitudes >= LEAST) & (magnitudes < LARGEST) & (np.floor(multiples) == multiples)
    rows = exact.all(axis=1)
    aligned, others = iter(_aligned(pieces, values[rows])), iter(values[~rows].tolist())
    return [next(aligned) if row else _shortest(pieces, next(others)) for row in rows.tolist()]


def _shortest(pieces: Sequence[str], row: Sequence[float]) -> str:
    return "".join(piece + repr(value) for piece, value in zip(pieces, row)) + pieces[-1]


def _aligned(pieces: Sequence[str], values: np.ndarray) -> list[str]:
    """The texts, all of one length."""
    rest = np.abs(values)
    groups = np.empty((*values.shape, GROUPS + 1), dtype=np.uint32)
    for k in range(GROUPS + 1):
        number = rest.astype(np.int32)
        groups[..., k] = _DIGITS[number] if k else _WHOLE[number + 100 * (values < 0)]
        rest = (rest - number) * 10_000
    pattern, at = (" " * WIDTH).join(pieces).encode("ascii"), 0
    texts = np.tile(np.frombuffer(pattern, dtype=np.uint8), (len(values), 1))
    for piece, number in zip(pieces, groups.view(np.uint8).reshape(*values.shape, WIDTH).transpose(1, 0, 2)):
        at += len(piece)
        texts[:, at : at + WIDTH] = number
        at += WIDTH
    whole = texts.tobytes().decode("ascii")
    return [whole[k : k + len(pattern)] for k in range(0, len(whole), len(pattern))]
