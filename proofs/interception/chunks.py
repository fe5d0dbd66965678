"""Draws in two levels on wide problems: a chunk of the vocabulary first, then a token in it.

The project's batched verifiers draw so. The path is traced once for each chunk, for the weights inside it, and calls
with plain numbers confirm tokens. Most tokens of most chunks are not called, so such a law is by calls.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .called_ids import CalledIds
from .following import following_once
from .outcomes import Outcome, Raised
from .row_draws import RowDraw, RowLaw, WideTracer

MOST_CHUNKS = 600
"""Largest number of chunks."""

Plain = Callable[[list[RowDraw], dict[int, int]], Outcome]
"""Function that calls with plain numbers that lead to indices of rows, by their number."""


class ChunksLaw(NamedTuple):
    """The row that a path's two draws make up, and the probability of the tokens that no call led to."""

    row: RowLaw
    not_called: float


def law_of_chunks(
    call: Callable[[], Outcome], plain: Plain, tracer: WideTracer, rows: list[RowDraw], outcome: Outcome,
    probability: float, ids_of: CalledIds,
) -> ChunksLaw | None:  # fmt: skip
    """Return the law of a path that draws a chunk, then a token in it; None if it does something else.

    rows: the rows that the outcome depends on.
    """
    two = len(rows) == 2 and len(tracer.rows) == 2 and rows[0].at == len(tracer.path)
    if not two or isinstance(outcome, Raised) or len(rows[0].possible) > MOST_CHUNKS or tracer.splits:
        return None
    path, kept, sources = list(tracer.path), tracer.rows, tracer.recorded
    try:
        return _traced(call, plain, tracer, rows, outcome[:-1], probability, ids_of)
    finally:
        tracer.path, tracer.rows, tracer.recorded = path, kept, sources
        tracer.retracing, tracer.nested, tracer.forced = False, False, {}


def _traced(
    call: Callable[[], Outcome], plain: Plain, tracer: WideTracer, rows: list[RowDraw], prefix: tuple[int, ...],
    probability: float, ids_of: CalledIds,
) -> ChunksLaw | None:  # fmt: skip
    """Trace the path once for each chunk."""
    first, second = (tracer.rows.index(row) for row in rows)
    path, chunks = list(tracer.path), rows[0].possible
    weights, total, confirmed, mass = np.zeros(tracer.vocabulary), rows[0].weights.sum(), 0, 0.0
    for chunk in map(int, chunks):
        tracer.path = list(path)
        tracer.retrace({first: chunk}, nested=True)
        emitted = following_once(tracer, call)
        inside = tracer.rows[second] if len(tracer.rows) == 2 else None
        if inside is None or isinstance(emitted, Raised) or emitted[:-1] != prefix:
            return None
        tracer.remember_path()
        start, possible = emitted[-1] - inside.base, inside.possible
        if not 0 <= start + possible[0] <= start + possible[-1] < tracer.vocabulary:
            return None
        ends = {int(possible[0]), int(possible[-1])} if chunk in (chunks[0], chunks[-1]) else set()
        chance = float(rows[0].weights[chunk] / total)
        indices = {*ends, *ids_of.inside(inside, start, chance)}
        if any(plain(tracer.rows, {second: i}) != (*prefix, start + i) for i in indices):
            return None
        share = inside.weights / inside.weights.sum() * chance
        weights[start + possible] += share[possible]
        confirmed, mass = confirmed + len(indices), mass + float(share[sorted(indices)].sum())
    look_up = rows[0].look_up or rows[1].look_up
    return ChunksLaw(RowLaw(prefix, 0, probability, weights, confirmed, look_up), probability * max(1.0 - mass, 0.0))
