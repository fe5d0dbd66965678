"""Batched verifiers with driven random numbers: a right one, and mutants in which rows influence each other.

The rule of each row is right token verification; a mutant answers it from parts of another row.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..adapters.protocol import PLACEHOLDER, BatchedAdapter, Row
from .building_blocks import excess, ratio

Mix = Callable[[Sequence[Row], int], Row]
"""What row k of a batch is answered from."""


def _with(row: Row, **numbers: np.ndarray) -> Row:
    """Return the row with other random numbers."""
    return row._replace(random={**row.random, **numbers})


def alone(rows: Sequence[Row], k: int) -> Row:
    """Return the verifier's row from itself: right."""
    return rows[k]


def shared_uniforms(rows: Sequence[Row], k: int) -> Row:
    """Tests every row with the uniforms of the first."""
    uniforms = np.resize(rows[0].random["accept"], len(rows[k].tokens))
    return _with(rows[k], accept=uniforms)


def padded_offsets(rows: Sequence[Row], k: int) -> Row:
    """Reads a row's uniforms where they would stand if all rows were as long as the longest."""
    flat, longest = np.concatenate([row.random["accept"] for row in rows]), max(len(row.tokens) for row in rows)
    uniforms = np.take(flat, range(k * longest, k * longest + len(rows[k].tokens)), mode="clip")
    return _with(rows[k], accept=uniforms)


def greedy_flag_lost(rows: Sequence[Row], k: int) -> Row:
    """Samples greedy rows too, as soon as one row of the batch is sampled."""
    return rows[k]._replace(greedy=all(row.greedy for row in rows))


def rows_sorted_by_length(rows: Sequence[Row], k: int) -> Row:
    """Sorts the batch by length and leaves the draft's rows where they were."""
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i].tokens))
    other = rows[order[k]].draft
    return rows[k]._replace(draft=np.array([other[min(i, len(other) - 1)] for i in range(len(rows[k].tokens))]))


def placeholder_reads_last_row(rows: Sequence[Row], k: int) -> Row:
    """Looks a placeholder up at index -1: the last row of the batch says what follows."""
    tokens = list(rows[k].tokens)
    if PLACEHOLDER not in tokens:
        return rows[k]
    target = np.array(rows[k].target)
    target[tokens.index(PLACEHOLDER)] = rows[-1].target[0]
    return rows[k]._replace(target=target)


def stream_by_slot(rows: Sequence[Row], k: int) -> Row:
    """Gives the same seed another stream in another slot."""
    return _with(rows[k], noise=np.roll(rows[k].random["noise"], k))


def numbers_shift_behind_empty_rows(rows: Sequence[Row], k: int) -> Row:
    """Draws numbers for rows without drafts too and does not skip them: the rows behind get their neighbour's noise."""
    empty = any(row.tokens[0] == PLACEHOLDER for row in rows[:k])
    noise = rows[k - 1].random["noise"] if empty else rows[k].random["noise"]
    return _with(rows[k], noise=noise)


class Batched(BatchedAdapter):
    """A token verification of many requests in one call."""

    random = (
        {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53},
        {"name": "noise", "kind": "exponential", "shape": ["V"]},
    )
    array, batch, placeholders, mixes_greedy, seeded = "numpy", 64, True, True, True

    def __init__(self, mix: Mix):
        self.mix = mix

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        return [_emitted(self.mix(rows, k)) for k in range(len(rows))]


def _emitted(row: Row) -> list[int]:
    tokens = [int(x) for x in row.tokens]
    gamma = tokens.index(PLACEHOLDER) if PLACEHOLDER in tokens else len(tokens)
    if row.seed is not None:
        own = np.random.default_rng(row.seed)
        row = _with(row, accept=own.random(len(tokens)), noise=own.exponential(size=len(row.target[0])))
    for i, x in enumerate(tokens[:gamma]):
        best = int(row.target[i].argmax())
        if row.greedy and x != best:
            return [*tokens[:i], best]
        if not row.greedy and not row.random["accept"][i] < ratio(row.target[i][x], row.draft[i][x]):
            return [*tokens[:i], int((excess(row.target[i], row.draft[i]) / row.random["noise"]).argmax())]
    last = row.target[gamma] if row.greedy else row.target[gamma] / row.random["noise"]
    return [*tokens[:gamma], int(last.argmax())]


right = Batched(alone)
one_set_of_uniforms = Batched(shared_uniforms)
offsets_of_padded_rows = Batched(padded_offsets)
greedy_rows_sampled = Batched(greedy_flag_lost)
draft_not_reordered = Batched(rows_sorted_by_length)
placeholder_as_index = Batched(placeholder_reads_last_row)
seed_of_the_slot = Batched(stream_by_slot)
shifted_numbers = Batched(numbers_shift_behind_empty_rows)
