"""Mutants that verify with rows other than those meant: of another target, of another draft, of too few bits."""

import numpy as np

from .building_blocks import (
    Floats,
    Generator,
    Tokens,
    draw,
    drawable,
    drawn_from,
    normalised,
    ratio,
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


softmax_for_greedy_draft = with_rows(draft=lambda rows, _: normalised(np.exp(rows)))
"""Tests with a softmax, though the draft row is the sampler's own (one-hot where the draft is greedy)."""

q_before_truncation = with_rows(draft=lambda rows, _: 0.9 * rows + 0.1 / rows.shape[-1])
"""Tests with a raw q in which the tail that the draft's top-k cut off has its tenth of the mass back."""

q_at_another_temperature = with_rows(draft=lambda rows, _: normalised(rows**2))
"""Tests with q at half the temperature at which the tokens were drawn."""

q_of_the_best_beam = with_rows(draft=lambda rows, _: normalised(np.sqrt(rows)))
"""Tests with flatter rows than those that a beam search, drawn to likely blocks, has in effect."""


def _without_earlier(rows: Floats, tokens: Tokens) -> Floats:
    rest = [np.where(np.isin(np.arange(len(row)), tokens[:i]), 0.0, row) for i, row in enumerate(rows)]
    return np.array([drawable(left, row) for left, row in zip(rest, rows)])


q_without_earlier_tokens = with_rows(draft=_without_earlier)
"""Takes independent draws for one draw of several tokens without replacement: q loses the block's earlier tokens."""


def _bfloat16(rows: Floats) -> Floats:
    """Return the nearest numbers of 8 significant bits."""
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
