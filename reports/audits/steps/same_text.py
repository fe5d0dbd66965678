"""Drafted tokens of a tree that are one text: both models have one row behind it, or the recording is inconsistent."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ....models.recorded_steps import Header, Shard
from ....verifiers.conditional.form import DRAFT_ROW
from ....verifiers.conditional.tree_steps import firsts

Array = np.ndarray

MOST_APART = 0.1
"""Largest total variation of two rows behind one text that rounding explains: a model in bfloat16 computes both."""


class TwoRows(NamedTuple):
    """Two rows of a model behind one text.

    step: its number in the shard. first, second: the drafted tokens, by their number in the step.
    distance: least total variation of the rows.
    """

    step: int
    first: int
    second: int
    model: str
    distance: float

    def __str__(self) -> str:
        tokens = f"drafted tokens {self.first} and {self.second} are one text"
        return f"{tokens}, and the {self.model}'s rows behind them differ by TV {self.distance:.2g}"


def two_rows(shard: Shard, header: Header) -> Iterator[TwoRows]:
    """Yield the pairs of drafted tokens of a shard that are one text with two rows."""
    arrays = shard.arrays
    for step in _with_equal_siblings(shard, header.vocabulary):
        tokens, parents = (shard.cut(name, step)[None] for name in ("draft_tokens", "draft_parents"))
        first, row = firsts(parents + 1, tokens)[0][0], arrays["draft_offsets"][step] + step
        for place in np.flatnonzero(first != np.arange(len(first))):
            pair = row + first[place], row + place
            drawn = (arrays["draft_known"][[*pair]] == DRAFT_ROW).all()
            for model in ("target", "draft")[: 1 + drawn]:
                if (distance := _least_distance(shard, *pair, model)) > MOST_APART:
                    yield TwoRows(step, int(first[place]) - 1, int(place) - 1, model, distance)


def _with_equal_siblings(shard: Shard, vocabulary: int) -> list[int]:
    """Return the steps that drafted a token twice behind one place."""
    offsets, tokens = shard.arrays["draft_offsets"], shard.arrays["draft_tokens"].astype(np.int64)
    step = np.repeat(np.arange(shard.steps), np.diff(offsets))
    row = offsets[step] + step + shard.arrays["draft_parents"] + 1
    _, first = np.unique(row * vocabulary + tokens, return_index=True)
    return np.unique(np.delete(step, first)).tolist()


def _least_distance(shard: Shard, first: int, second: int, model: str) -> float:
    """Return the least total variation of two rows, by the tokens that are listed in one of them at least."""
    parts = [slice(*shard.arrays["row_offsets"][row : row + 2]) for row in (first, second)]
    ids, values = ([shard.arrays[name][part] for part in parts] for name in ("ids", model))
    highest = shard.arrays["highest"][[first, second], ("target", "draft").index(model)]
    _, *both = np.intersect1d(ids[0], ids[1], return_indices=True)
    apart = np.abs(values[0][both[0]].astype(float) - values[1][both[1]]).sum()
    for own, listed, other in zip(values, both, highest[::-1]):
        apart += np.maximum(np.delete(own, listed).astype(float) - other, 0.0).sum()
    return float(apart / 2)
