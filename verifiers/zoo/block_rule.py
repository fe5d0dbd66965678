"""Mutants of block verification."""

import numpy as np

from .building_blocks import (
    UNCAPPED,
    Floats,
    Generator,
    Tokens,
    answer,
    block_by_block,
    draw,
    excess,
    ratio,
    share,
    survivals,
    token_by_token,
    with_parts,
)  # fmt: skip


def products_of_uniforms(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Compares products of capped ratios with products of uniforms; keeps up to the last that passes."""
    legal = np.cumprod(_capped(target, draft, tokens))
    passed = np.flatnonzero(legal >= np.cumprod(rng.random(len(tokens))))
    return _kept(target, draft, tokens, rng, int(passed[-1]) + 1 if len(passed) else 0)


def products_of_uniforms_by_law(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Does the same, and draws how many tokens are kept: no trace follows a product of random numbers.

    Minus the logarithms of the products of uniforms are the arrivals of a Poisson process, so the product of k numbers
    passes where fewer than k arrivals come before minus the logarithm of what it is compared with.
    """
    ratios, count = _capped(target, draft, tokens), len(tokens)
    late = np.ones(count + 1)  # the probability that no later product passes, by the number of arrivals
    ends = np.zeros(count + 1)
    for k in range(count, -1, -1):
        ends[k] = _arrivals(float(np.prod(ratios[:k])), k) @ late[:k] if k else late[0]
        if k:
            late[:k] = 0.0  # fewer than k arrivals: it passes
            for before in range(count):
                more = _arrivals(ratios[k - 1], count + 1 - before)
                late[before] = more @ late[before:] + (1.0 - more.sum()) * late[-1]
    return _kept(target, draft, tokens, rng, int(rng.choice(count + 1, p=ends / ends.sum())))


def _capped(target: Floats, draft: Floats, tokens: Tokens) -> list[float]:
    return [min(ratio(target[i][x], draft[i][x]), 1.0) for i, x in enumerate(tokens)]


def _kept(target: Floats, draft: Floats, tokens: Tokens, rng: Generator, end: int) -> list[int]:
    """Return so many tokens, and one from the token's residual or the bonus row."""
    rest = excess(target[end], draft[end]) if end < len(tokens) else target[end]
    return answer(tokens[:end], draw(rng, rest, target[end]))


def _arrivals(none: float, most: int) -> Floats:
    """Return the probabilities of fewer than ``most`` arrivals, one for each number, given that of none."""
    return none * np.cumprod([1.0, *(-np.log(none) / np.arange(1, most))]) if none > 0 else np.zeros(most)


def block_with_token_residual(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Accepts by the block and replaces from the residual of a single token."""
    return block_by_block(target, draft, tokens, rng, weights=lambda i: excess(target[i], draft[i]))


def block_without_draft_probabilities(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Puts q = 1 for every token, as if a draft without probabilities had them."""
    return block_by_block(target, np.ones_like(draft), tokens, rng)


def surplus_of_placeholder_row(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Takes the residual's mass in h_i from the row after, and at the end from that of a draft that is not there."""
    survival = survivals(target, draft, tokens)
    rows = np.concatenate([draft[1:], np.zeros_like(draft[:1])])

    def accept(i):
        return share(excess(target[i + 1], rows[i], survival[i]).sum(), 1.0 - survival[i])

    return block_by_block(target, draft, tokens, rng, survival, accept=accept)


def greedy_block_in_plain_loop(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Verifies by greedy blocks without the change of the target that has to follow it."""
    survival = survivals(target, draft, tokens, UNCAPPED)

    def accept(i):
        shortfall = excess(draft[i], survival[i] * target[i]).sum()
        return excess(target[i], draft[i], survival[i]).sum() / shortfall if shortfall > 0 else 1.0

    return block_by_block(target, draft, tokens, rng, survival, accept=accept)


def last_ratio_uncapped(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Caps ratios branch by branch for every sub-block but the whole, which is accepted by the plain product."""
    return block_by_block(target, draft, tokens, rng, last=survivals(target, draft, tokens, UNCAPPED)[-1])


token_rule_under_the_name_of_block = with_parts()
"""Token verification: right, but not the block verification that was asked for."""


def block_rule_from_three_tokens_on(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Verifies by blocks for gamma >= 3 and by tokens below, where it is held to be the same."""
    return (block_by_block if len(tokens) >= 3 else token_by_token)(target, draft, tokens, rng)
