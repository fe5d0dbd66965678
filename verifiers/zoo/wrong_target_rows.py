"""Mutants that verify with target rows other than those the text is to follow."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, draw, normalised, token_by_token, with_rows, without

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
