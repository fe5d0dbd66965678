"""Theorem 2 does not hold for two iterations against every valid verifier: the models and the verifier that show it.

The models: equal, a point mass, for gamma tokens; then a coin of the target that the draft model calls for token 0; after
token 0 the draft model is unsure where the target is certain, and both agree from there on; after token 1 nothing in
common. Verification that starts before the coin can make up for it (the likelihood ratio 1/2 is followed by 2), one that
starts after it cannot; block verification's bonus token always takes it past the coin.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sympy import QQ

from ..models.law import Prefix
from ..models.problem import Problem
from ..verifiers.block_verification import block_verification
from ..verifiers.chance import Chance
from ..verifiers.draft_block import Block, Verdict
from ..verifiers.registry import Reference

FIRST, SECOND, COIN = (QQ(1), QQ(0)), (QQ(0), QQ(1)), (QQ(1, 2), QQ(1, 2))


class _Rule:
    """A model whose rows are given by a function of the prefix."""

    def __init__(self, rule: Callable[[Prefix], Sequence[Any]]):
        self._rule = rule

    def row(self, prefix: Prefix) -> Sequence[Any]:
        return self._rule(prefix)

    def state(self, prefix: Prefix) -> Any:
        return prefix


def pair(gamma: int) -> Problem:
    """The two models, for draft blocks of gamma tokens."""

    def target(prefix: Prefix):
        if len(prefix) == gamma:
            return COIN
        return SECOND if len(prefix) > gamma and prefix[gamma] == 1 else FIRST

    def draft(prefix: Prefix):
        return COIN if len(prefix) == gamma + 1 and prefix[gamma] == 0 else FIRST

    return Problem(2, gamma, _Rule(target), _Rule(draft), f"coin-after-{gamma}")


def shorter_block(block: Block, chance: Chance) -> Verdict:
    """Block verification of all draft tokens but the last: valid, and in two iterations better on ``pair(7)``.

    Guarantee: valid (Theorem 1 with gamma - 1; the last draft token is not looked at). On ``pair(7)`` it decodes
    E[N(2)] = 11 tokens where block verification decodes 43/4.
    """
    return block_verification(Block(block.target[:-1], block.draft[:-1], block.tokens[:-1]), chance)


SHORTER = Reference("block, one token shorter", shorter_block, "a valid verifier")
