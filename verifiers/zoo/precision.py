"""Mutants of precision: the formulas are right, the numbers are too short."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, ratio, token_by_token, with_rows


def _bfloat16(rows: Floats) -> Floats:
    """The nearest numbers of 8 significant bits."""
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent)


q_in_another_precision = with_rows(draft=lambda rows, _: _bfloat16(rows))
"""Tests with q rounded to bfloat16, though the tokens were drawn from the unrounded row."""


def half_precision_rows(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests in float16: small probabilities lose their digits, below 6e-8 themselves, and 0 / 0 is accepted."""
    p, q = (rows.astype(np.float16).astype(np.float64) for rows in (target, draft))
    return token_by_token(
        target, draft, tokens, rng, lambda i, x: q[i][x] == 0 or rng.random() < ratio(p[i][x], q[i][x])
    )
