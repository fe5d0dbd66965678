"""Theorem 2 corrected: the expected number of target calls until a text is finished, and the counterexample."""

from collections.abc import Callable, Sequence
from typing import Any

from ..models.decoding import Decoded
from ..models.law import Prefix
from ..models.problem import Problem
from ..verifiers.block_verification import block_verification
from ..verifiers.chance import Chance
from ..verifiers.draft_block import Block, Verdict
from ..verifiers.registry import Reference
from .field import QQ
from .laws.reference_laws import IteratedLaw


def expected_calls(problem: Problem, verifier: Reference, length: int, end: int | None = None) -> Any:
    """Return E[target calls] of a verifier's loop until ``length`` tokens or the token ``end``, exactly.

    calls(c) = 0 if c is finished, else 1 + sum_o Pr(o) calls(c o).
    """
    loop = IteratedLaw(problem, verifier)

    def one_iteration(text: Prefix, calls: Callable[[Prefix], Any]) -> Any:
        return sum(p * calls(after.tokens) for after, p in loop.iteration(Decoded(text)))

    return calls_until(problem, one_iteration, length, end)


def calls_until(problem: Problem, one_iteration: Callable, length: int, end: int | None) -> Any:
    """Return the recursion over unfinished texts. ``one_iteration(text, calls)`` is the mean of ``calls`` one iteration
    later.

    Texts of one length with the same future are computed once.
    """
    known: dict[Any, Any] = {}

    def calls(text: Prefix) -> Any:
        if len(text) >= length or end in text:
            return 0
        future = (len(text), problem.target.state(text), problem.draft.state(text))
        if future not in known:
            known[future] = 1 + one_iteration(text, calls)
        return known[future]

    return calls(())


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
    """Return the two models, for draft blocks of gamma tokens.

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
    """Run block verification, and drop the bonus token unless the target is sure of it; then the output is the draft.

    Guarantee: valid for every gamma (an output without its last token is as valid, and whether it is dropped depends on
    the draft alone); it sees the draft and the rows along it, nothing else.
    """
    verdict, gamma = block_verification(block, chance), len(block.tokens)
    if gamma == 0 or verdict.accepted < gamma or max(block.target[gamma]) == 1:
        return verdict
    return Verdict(gamma - 1, block.tokens[-1])


SURE_BONUS = Reference("block, its bonus only if sure", sure_bonus, "a valid verifier")
