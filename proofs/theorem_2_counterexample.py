"""Theorem 2 does not hold for several iterations against every valid verifier: models and a verifier that show it.

The models: equal, a point mass, for gamma tokens; then a coin of the target, token 0 with probability t, that the draft
model calls for token 0; after token 1 nothing in common, ever; after token 0 one token of which only the target is
sure, then equal point masses, but for position 2 gamma, where they are sure of different tokens. Block verification
takes the coin as its bonus and can be unlucky behind it; one that stops before the coin wins back behind it what it
loses on it.

    gamma = 2, three iterations: 5 + 3 t^2 tokens against 4 + 4 t, more for every t in (1/3, 1)
    gamma = 3, two iterations:   5 + 2 t^2 tokens against 4 + 3 t, more for every t in (1/2, 1)
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..models.law import Prefix
from ..models.problem import Problem
from ..verifiers.block_verification import block_verification
from ..verifiers.chance import Chance
from ..verifiers.draft_block import Block, Verdict
from ..verifiers.registry import Reference
from .field import QQ

FIRST, SECOND = (QQ(1), QQ(0)), (QQ(0), QQ(1))
HALF = QQ(1, 2)


class _Rule:
    """A model whose rows are given by a function of the prefix."""

    def __init__(self, rule: Callable[[Prefix], Sequence[Any]]):
        self._rule = rule

    def row(self, prefix: Prefix) -> Sequence[Any]:
        return self._rule(prefix)

    def state(self, prefix: Prefix) -> Any:
        return prefix


def pair(gamma: int, t: Any = HALF, apart: int = 0) -> Problem:
    """The two models, for draft blocks of gamma tokens.

    t: the probability of the coin's token 0, in (0, 1).
    apart: how many tokens without anything in common come before all others; each costs every verifier an iteration.
    Source: ``pair_b`` and ``pair_s`` of mechanized/Counterexample.v.
    """
    coin, start = (t, 1 - t), apart + gamma

    def target(prefix: Prefix):
        if len(prefix) < apart:
            return SECOND
        if len(prefix) <= start:
            return coin if len(prefix) == start else FIRST
        return SECOND if prefix[start] == 1 or len(prefix) == start + gamma else FIRST

    def draft(prefix: Prefix):
        return coin if len(prefix) == start + 1 and prefix[start] == 0 else FIRST

    return Problem(2, gamma, _Rule(target), _Rule(draft), f"coin-{t}-after-{start}")


def sure_bonus(block: Block, chance: Chance) -> Verdict:
    """Block verification that drops the bonus token unless the target is sure of it; the output is then the draft.

    Guarantee: valid for every gamma (an output without its last token is as valid, and whether it is dropped depends on
    the draft alone); it sees the draft and the rows along it, nothing else.
    """
    verdict, gamma = block_verification(block, chance), len(block.tokens)
    if gamma == 0 or verdict.accepted < gamma or max(block.target[gamma]) == 1:
        return verdict
    return Verdict(gamma - 1, block.tokens[-1])


SURE_BONUS = Reference("block, its bonus only if sure", sure_bonus, "a valid verifier")
