"""Mutants that look up, or write to, the wrong place."""

import numpy as np

from .building_blocks import (
    Floats,
    Generator,
    Tokens,
    draw,
    drawable,
    drawn_from,
    excess,
    ratio,
    token_by_token,
    with_parts,
    with_rows,
)  # fmt: skip


def first_token_unverified(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Starts the loop at the second token: the first is always accepted."""
    return token_by_token(
        target, draft, tokens, rng, lambda i, x: i == 0 or rng.random() < ratio(target[i][x], draft[i][x])
    )


def replacement_from_next_row(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Replaces a rejected token by what would follow it."""
    return token_by_token(target, draft, tokens, rng, recovers=lambda i, x: draw(rng, target[i + 1], target[i + 1]))


target_rows_one_late = with_rows(target=lambda rows, _: np.concatenate([rows[1:], rows[-1:]]))
"""Verifies each token with the target's row of the position after it."""

bonus_from_the_row_before = with_rows(target=lambda rows, _: np.concatenate([rows[:-1], rows[-2:-1]]))
"""Draws the token after a whole accepted block from the row that the last draft token was tested with."""

place_in_sorted_list_returned = with_parts(recovers=drawn_from(lambda p, q, x: np.sort(excess(p, q))[::-1]))
"""Draws from the residual sorted by weight and returns the place in that list as if it were the token."""

draft_rows_out_of_order = with_rows(draft=lambda rows, _: rows[::-1])
"""Tests with the draft's rows in the order that a reordered batch left them in."""


def neighbour_overwrites(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Writes each request's replacement into every row of the batch, here one neighbour on the same problem.

    The row ends where a replacement stands in it, so that of the two the earlier rejection counts.
    """
    ours, theirs = (token_by_token(target, draft, tokens, rng) for _ in range(2))
    return theirs if len(theirs) < len(ours) else ours


def padding_accepted(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests the padding behind the block too, token 0 with rows of zeros: u * 0 <= 0 accepts it."""
    emitted = token_by_token(target, draft, tokens, rng)
    return [*emitted[:-1], 0, emitted[-1]] if len(emitted) > len(tokens) else emitted


def _place_in_tile(rng: Generator, p: Floats, q: Floats, x: int) -> np.intp:
    rest = drawable(excess(p, q), p)
    return np.argmax(rest / rng.exponential(size=len(rest))) % 2


place_in_tile_returned = with_parts(recovers=_place_in_tile)
"""Runs the race for the replacement over tiles of two tokens, and returns the winner's place in its tile."""
