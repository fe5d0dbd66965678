"""Draws in two levels on wide problems: a chunk of the vocabulary first, then a token in it.

The project's batched verifiers draw so. The path is traced once for each chunk, for the weights inside it, and calls
with plain numbers confirm tokens: the ends of each chunk among them, and INSIDE by weight. Most tokens are not called,
so such a law is by calls, and what they may have missed is in its resolution.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .called_ids import CalledIds
from .following import LEFT_PATH, following_once
from .outcomes import Outcome, Raised
from .row_draws import RowDraw, RowLaw, WideTracer

MOST_CHUNKS = 600
"""Largest number of chunks."""

Plain = Callable[[list[RowDraw], dict[int, int]], Outcome]
"""Function that calls with plain numbers that lead to indices of rows, by their number."""


class ChunksLaw(NamedTuple):
    """The row that a path's two draws make up.

    not_called: probability of the tokens that no call led to. own: outcomes that are not the token drawn, with their
    probabilities; where there are any, tokens that were not called are no part of the row.
    """

    row: RowLaw
    not_called: float
    own: list[tuple[Outcome, float]]


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
    called, own = np.zeros(tracer.vocabulary, dtype=bool), list[tuple[Outcome, float]]()
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
        chance = float(rows[0].weights[chunk] / total)
        share = inside.weights / inside.weights.sum() * chance
        indices = sorted(ids_of.inside(inside, start, chance))
        emitted_by = {i: plain(tracer.rows, {second: i}) for i in indices}
        unlike = {i: o for i, o in emitted_by.items() if o != (*prefix, start + i)}
        if unlike and (inside.drawn is None or 2 * len(unlike) > len(indices)):
            return None
        if any(isinstance(o, Raised) and o.error == LEFT_PATH for o in unlike.values()):
            return None  # behind such a token it draws more numbers: what it emits then is not known
        own += [(o, probability * float(share[i])) for i, o in unlike.items()]
        weights[start + possible] += share[possible]
        weights[[start + i for i in unlike]] = 0.0
        called[[start + i for i in indices]] = True
        confirmed, mass = confirmed + len(indices) - len(unlike), mass + float(share[indices].sum())
    kept = probability
    if own:
        weights[~called] = 0.0
        kept *= float(weights.sum())
    look_up = rows[0].look_up or rows[1].look_up
    row = RowLaw(prefix, 0, kept, weights, confirmed, look_up)
    return ChunksLaw(row, probability * max(1.0 - mass, 0.0), own)
