"""Sparse rows of two models: the most probable entries one by one, all others as masses of classes of p / q."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LISTED = 256
"""Entries of a row that are listed, if not told otherwise; the others are masses of classes."""

EDGES = 2.0 ** (np.arange(-16, 17) / 4)
"""Edges of the classes, ratios p / q: 1 / 16 to 16 in quarters of an octave; 1 is one of them."""

CLASSES = len(EDGES) + 1
"""Number of classes: class k has EDGES[k - 1] <= p / q < EDGES[k]."""


class Reduced(NamedTuple):
    """Sparse rows of one step, [R] of them: see ``docs/recorded-steps.md`` for the fields."""

    natural: np.ndarray
    ids: list[np.ndarray]
    target: list[np.ndarray]
    draft: list[np.ndarray]
    rest_target: np.ndarray
    rest_draft: np.ndarray
    rest_count: np.ndarray
    highest: np.ndarray


def _among(some: np.ndarray, sorted_ids: np.ndarray) -> np.ndarray:
    """Return which ids are among others. ``numpy.isin`` takes ten times as long for so few."""
    at = np.searchsorted(sorted_ids, some)
    return np.append(sorted_ids, -1)[at] == some


@np.errstate(divide="ignore", invalid="ignore")
def reduced(target: np.ndarray, draft: np.ndarray, forced: Sequence[int], listed: int = LISTED,
            logits: np.ndarray | None = None) -> Reduced:  # fmt: skip
    """Return rows as their most probable entries, those of some tokens, and classes of all others.

    target, draft: [R, V]; a draft's row that is not known is 0
    forced: tokens that are listed whatever their probabilities are
    listed: how many of the largest max(p, q) are listed
    logits: [R, V], of the target before any setting; then as many of the largest of these are listed, too
    """
    size = target.shape[1]
    parts, rest = [], []
    extra = np.unique(np.asarray(forced, dtype=np.int64))
    for k, (p, q) in enumerate(zip(target, draft)):
        larger = np.maximum(p, q)
        if logits is not None:
            larger = np.maximum(larger, np.exp(logits[k] - logits[k].max()))
        natural = np.argpartition(larger, size - listed)[size - listed :] if listed < size else np.arange(size)
        natural = np.sort(natural[larger[natural] > 0])
        ids = np.concatenate([natural, extra[~_among(extra, natural)]])
        parts.append((len(natural), ids.astype(np.int32), p[ids], q[ids]))
        p, q = p.astype(np.float64), q.astype(np.float64)
        p[ids] = q[ids] = 0.0
        left = np.flatnonzero((p != 0) | (q != 0))  # NaN stays: the row is none
        p, q = p[left], q[left]
        place = EDGES.searchsorted(p / q, side="right")
        masses = [np.bincount(place, values, CLASSES).astype(np.float64) for values in (p, q)]
        rest.append((*masses, size - len(ids), [p.max(initial=0.0), q.max(initial=0.0)]))
    natural, ids, some_target, some_draft = map(list, zip(*parts))
    return Reduced(np.array(natural, dtype=np.int32), ids, some_target, some_draft, *map(np.array, zip(*rest)))
