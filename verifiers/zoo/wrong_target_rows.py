"""Mutants that verify with target rows other than those the text is to follow."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, draw, normalised, token_by_token, without


def target_at_defaults(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Verifies with the target at twice its temperature, as if the request had named none."""
    return token_by_token(normalised(np.sqrt(target)), draft, tokens, rng)


def penalty_counted_twice(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Halves a token's target probability for every time it stands in the draft before."""
    rows = target.copy()
    for i, x in enumerate(tokens):
        rows[i + 1 :, x] /= 2
    return token_by_token(normalised(rows), draft, tokens, rng)


def target_zeroed_before_test(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Takes the draft token out of the target row for the residual, and only then tests it: always rejected."""
    row = without(target[0], tokens[0])
    return token_by_token(target, draft, tokens, rng, lambda i, x: row[x] > 0, lambda i, x: draw(rng, row, target[0]))
