"""Mutants that test with a q which is not the one the tokens were drawn from; everything else is right."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, drawable, normalised, token_by_token


def softmax_for_greedy_draft(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests with a softmax, though the draft row is the sampler's own (one-hot where the draft is greedy)."""
    return token_by_token(target, normalised(np.exp(draft)), tokens, rng)


def q_before_truncation(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests with a raw q in which the tail that the draft's top-k cut off has its tenth of the mass back."""
    return token_by_token(target, 0.9 * draft + 0.1 / draft.shape[-1], tokens, rng)


def q_at_another_temperature(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests with q at half the temperature at which the tokens were drawn."""
    return token_by_token(target, normalised(draft**2), tokens, rng)


def q_of_the_best_beam(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests with flatter rows than those that a beam search, drawn to likely blocks, has in effect."""
    return token_by_token(target, normalised(np.sqrt(draft)), tokens, rng)


def q_without_earlier_tokens(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Takes independent draws for one draw of several tokens without replacement: q loses the block's earlier tokens."""
    rows = []
    for i, row in enumerate(draft):
        rest = np.where(np.isin(np.arange(len(row)), tokens[:i]), 0.0, row)
        rows.append(drawable(rest, row))
    return token_by_token(target, np.array(rows), tokens, rng)
