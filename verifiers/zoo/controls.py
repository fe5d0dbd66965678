"""Right verifiers with an unusual rule: an audit that refutes one of these is wrong."""

import numpy as np

from .building_blocks import (
    Floats,
    Generator,
    Tokens,
    answer,
    block_by_block,
    draw,
    drawable,
    drawn_from,
    excess,
    ratio,
    survivals,
    with_parts,
    without,
)  # fmt: skip

point_mass_rule = with_parts(lambda rng, p, q, x: rng.random() < p[x], drawn_from(lambda p, q, x: without(p, x)))
"""Treats a sampled draft as a point mass: accepts with p(x), else draws from p without x."""


def sampler_match(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Samples the target at every position, and goes on as long as the draft has guessed the sample."""
    for i, x in enumerate(tokens):
        y = draw(rng, target[i], target[i])
        if y != x:
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def one_draw_for_both(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Decides acceptance and replacement in a single draw among V + 1 outcomes."""
    for i, x in enumerate(tokens):
        accepted = min(ratio(target[i][x], draft[i][x]), 1.0)
        rest = (1.0 - accepted) * drawable(excess(target[i], draft[i]), target[i])
        k = draw(rng, np.append(rest, accepted), target[i])
        if k < len(rest):
            return answer(tokens[:i], k)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def block_verification_in_floats(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Block verification, from the longest sub-block down."""
    return block_by_block(target, draft, tokens, rng)


def block_verification_as_a_stream(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Block verification front to back: at each step the outcome so far stays, or a longer one replaces it."""
    survival, outcome = survivals(target, draft, tokens), None
    for i in range(len(tokens) + 1):
        q = draft[i] if i < len(tokens) else np.zeros_like(target[i])
        weights = np.append(excess(target[i], q, survival[i]), 1.0 - survival[i])
        if weights.sum() > 0:
            k = draw(rng, weights, weights)
            outcome = outcome if k == len(q) else answer(tokens[:i], k)
    return outcome or answer((), draw(rng, target[0], target[0]))  # only for tokens that cannot be drafted
