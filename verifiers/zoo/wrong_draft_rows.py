"""Mutants that test with a q which is not the one the tokens were drawn from; everything else is right."""

import numpy as np

from .building_blocks import Floats, Tokens, drawable, normalised, with_rows

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
