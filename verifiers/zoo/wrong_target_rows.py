"""Mutants that verify with target rows other than those the text is to follow."""

import numpy as np

from .building_blocks import (
    Floats,
    Generator,
    Tokens,
    draw,
    drawn_from,
    normalised,
    token_by_token,
    with_parts,
    with_rows,
    without,
)  # fmt: skip

target_at_defaults = with_rows(target=lambda rows, _: normalised(np.sqrt(rows)))
"""Verifies with the target at twice its temperature, as if the request had named none."""


def _penalised(target: Floats, tokens: Tokens) -> Floats:
    rows = target.copy()
    for i, x in enumerate(tokens):
        rows[i + 1 :, x] /= 2
    return normalised(rows)


penalty_counted_twice = with_rows(target=_penalised)
"""Halves a token's target probability for every time it stands in the draft before."""


def target_zeroed_before_test(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Takes the draft token out of the target row for the residual, and only then tests it: always rejected."""
    row = without(target[0], tokens[0])
    return token_by_token(target, draft, tokens, rng, lambda i, x: row[x] > 0, lambda i, x: draw(rng, row, target[0]))


rows_taken_for_logits = with_rows(*[lambda rows, _: normalised(np.exp(rows))] * 2)
"""Puts the rows of both models through a softmax, though they are probabilities already."""


def _logits(row: Floats) -> Floats:
    return np.log(np.maximum(row, np.finfo(float).tiny))


def _positive(p: Floats, q: Floats, x: int) -> Floats:
    return np.maximum(_logits(p) - _logits(q), 0.0)


logits_taken_for_probabilities = with_parts(
    lambda rng, p, q, x: rng.random() * _logits(q)[x] > _logits(p)[x], drawn_from(_positive)
)
"""Compares the logarithms of the probabilities, and subtracts them, as if they were the probabilities."""
