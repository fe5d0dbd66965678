"""Mutants of block verification."""

from collections.abc import Callable, Mapping
from typing import Any

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
    legal = np.cumprod([min(ratio(target[i][x], draft[i][x]), 1.0) for i, x in enumerate(tokens)])
    passed = np.flatnonzero(legal >= np.cumprod(rng.random(len(tokens))))
    end = int(passed[-1]) + 1 if len(passed) else 0
    rest = excess(target[end], draft[end]) if end < len(tokens) else target[end]
    return answer(tokens[:end], draw(rng, rest, target[end]))


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


class Driven:
    """A mutant with its random numbers as inputs: its uniforms, asked for at once, and a race for the last token."""

    random = (
        {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53},
        {"name": "noise", "kind": "exponential", "shape": ["V"]},
    )
    array = "numpy"

    def __init__(self, rule: Callable[..., list[int]]):
        self.rule = rule

    def __call__(self, target: Floats, draft: Floats, tokens: Tokens, random: Mapping[str, Any]) -> list[int]:
        return self.rule(target, draft, [int(x) for x in tokens], _Inputs(random))


class _Inputs:
    """A substitute for numpy's Generator: the numbers that were handed in."""

    def __init__(self, numbers: Mapping[str, Any]):
        self.numbers = numbers

    def random(self, size: int) -> Floats:
        return np.asarray(self.numbers["accept"])[:size]

    def choice(self, count: int, p: Floats) -> int:
        return int((p / self.numbers["noise"]).argmax())


products_of_uniforms_driven = Driven(products_of_uniforms)
