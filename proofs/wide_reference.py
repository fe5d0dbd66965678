"""What a precision does to plain token verification on a wide problem: the figure beside that of the code under audit."""

import math
from dataclasses import replace
from itertools import product

import numpy as np

from .wide_measurement import Row, WideMeasurement


def in_precision(row: Row, dtype: str) -> Row:
    """The row rounded to the type; bfloat16 as float32 with 8 bits of significand, to nearest, ties to even."""
    if dtype != "bfloat16":
        return row.astype(dtype)
    bits = row.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def reference_deviations(measurement: WideMeasurement) -> dict[str, float]:
    """The total variation from the target of token verification computed in the precision of the rows.

    weights: each p / q and each entry of max(p - q, 0) is rounded, and the last token drawn by these weights exactly.
    running_sum: it is looked up in a running sum of them in that precision; not computed in bfloat16.
    """
    ways = ("weights",) if measurement.dtype == "bfloat16" else ("weights", "running_sum")
    return {way: _deviation(measurement, way) for way in ways}


def _deviation(measurement: WideMeasurement, way: str) -> float:
    problem, dtype = measurement.problem, measurement.dtype
    law = replace(measurement, emitted={}, malformed={}, strays=0.0, unknown=0.0, reason=None)
    target = {x: in_precision(row, dtype) for x, row in measurement.target.items()}
    draft = {x: in_precision(row, dtype) for x, row in measurement.draft.items()}

    def put(prefix: tuple[int, ...], weights: Row, mass: float) -> None:
        if way == "running_sum":
            edges = np.cumsum(weights, dtype=weights.dtype).astype(np.float64)
            shares = np.diff(edges, prepend=0.0) / edges[-1]
        else:
            shares = weights.astype(np.float64) / math.fsum(weights)
        law.put(prefix, 0, shares * mass)

    for block in product(*problem.live):
        mass = math.prod(float(measurement.draft[block[:i]][token]) for i, token in enumerate(block))
        for i, token in enumerate(block):
            p, q = target[block[:i]], draft[block[:i]]
            accepted = min(float(in_precision(np.array([p[token] / q[token]]), dtype)[0]), 1.0)
            rest = in_precision(np.maximum(p - q, 0), dtype)
            if accepted < 1 and rest.any():
                put(block[:i], rest, mass * (1 - accepted))
            mass *= accepted
        put(block, target[block], mass)
    return law.total_variation
