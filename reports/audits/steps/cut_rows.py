"""Rows of a recorded step cut to a few tokens, as rows of a problem."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ....verifiers.conditional.sparse import EDGES
from ....verifiers.conditional.steps import Array, Steps

NEARLY = 0.9
"""Share of the evidence of a step, its logarithm, that a part of it must have."""

DENOMINATOR = 10**9
"""Rows of a problem are rounded to multiples of 1 / DENOMINATOR, so that they sum to exactly 1."""


def cut_row(steps: Steps, place: int, labels: Mapping[int, int], size: int) -> Array:
    """Return p and q of so many tokens at a place of one step, [size, 2].

    labels: the token in the problem of some tokens. All others with p > q are the last but one, those with p <= q the
    last, so that sum_x max(p - q, 0) stays what it was.
    """
    ids, p, q = steps.rows.ids[0, place], steps.rows.target[0, place], steps.rows.draft[0, place]
    which = np.where(p > q, size - 2, size - 1)
    for token, label in labels.items():
        which[ids == token] = label
    row = np.stack([np.bincount(which, values, size) for values in (p, q)], axis=1)
    above = np.arange(len(EDGES) + 1) > np.searchsorted(EDGES, 1.0)
    for column, rest in enumerate((steps.rows.rest_target[0, place], steps.rows.rest_draft[0, place])):
        row[-2:, column] += rest[above].sum(), rest[~above].sum()
    return row


def whole_row(row: Array) -> list[str]:
    """Return a row as fractions that sum to exactly 1: the largest takes what rounding leaves."""
    parts = [round(float(value) * DENOMINATOR) for value in row / max(row.sum(), 1e-300)]
    parts[int(np.argmax(row))] += DENOMINATOR - sum(parts)
    return [str(Fraction(part, DENOMINATOR)) for part in parts]
