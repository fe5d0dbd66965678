"""What a precision does to plain token verification on a wide problem: the figure beside that of audited code."""

import math

import numpy as np

from ..models.law import Prefix
from ..models.wide import WideProblem
from .row_sums import row_sum
from .wide_frontier import Row, Rows, apart, frontier


def in_precision(row: Row, dtype: str) -> Row:
    """The row rounded to the type; bfloat16 as float32 with 8 bits of significand, to nearest, ties to even."""
    if dtype != "bfloat16":
        return row.astype(dtype)
    bits = row.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def reference_deviations(problem: WideProblem, target: Rows, draft: Rows, dtype: str) -> dict[str, float]:
    """The total variation from the target of token verification computed in the precision of the rows.

    target, draft: rows in use.
    weights: each p / q and each entry of max(p - q, 0) is rounded, and the last token drawn by these weights exactly.
    running_sum: it is looked up in a running sum of them in that precision; not computed in bfloat16.
    """
    ways = ("weights",) if dtype == "bfloat16" else ("weights", "running_sum")
    return {way: apart(frontier(problem, target, _emitted(problem, target, draft, dtype, way))) for way in ways}


def _emitted(problem: WideProblem, target: Rows, draft: Rows, dtype: str, way: str) -> dict[Prefix, Row]:
    emitted = {prefix: np.zeros(problem.vocabulary) for prefix in target}
    low_target, low_draft = ({x: in_precision(row, dtype) for x, row in rows.items()} for rows in (target, draft))

    def put(prefix: Prefix, weights: Row, mass: float) -> None:
        if way == "running_sum":
            edges = np.cumsum(weights, dtype=weights.dtype).astype(np.float64)
            shares = np.diff(edges, prepend=0.0) / edges[-1]
        else:
            shares = weights.astype(np.float64) / row_sum(weights)
        emitted[prefix] += shares * mass

    for block in problem.prefixes(problem.gamma):
        mass = math.prod(float(draft[block[:i]][token]) for i, token in enumerate(block))
        for i, token in enumerate(block):
            p, q = low_target[block[:i]], low_draft[block[:i]]
            accepted = min(float(in_precision(np.array([p[token] / q[token]]), dtype)[0]), 1.0)
            rest = in_precision(np.maximum(p - q, 0), dtype)
            if accepted < 1 and rest.any():
                put(block[:i], rest, mass * (1 - accepted))
            mass *= accepted
        put(block, low_target[block], mass)
    return emitted
