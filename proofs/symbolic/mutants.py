"""Mutants for the proofs to refute: a query that no mutant can fail proves nothing."""

from collections.abc import Callable
from functools import partial

from ...verifiers import block_verification as block
from ...verifiers import greedy_block_verification as greedy
from ...verifiers.arithmetic import minimum, positive_part, quotient, ratio, residual
from ...verifiers.block_stream import block_stream
from ...verifiers.chance import Chance
from ...verifiers.draft_block import Block, Verdict, Verify
from ...verifiers.registry import Reference, reference
from ...verifiers.sub_block import SubBlockRule, longest_sub_block


def _mutant(of: str, original: SubBlockRule, name: str, **parts) -> Reference:
    """A verifier of the sub-block family, by its formulas."""
    rule = original._replace(**parts)
    return Reference(f"{of}, {name}", lambda block, chance: longest_sub_block(rule, block, chance), "a mutant", rule)


_block, _greedy = partial(_mutant, "block", block.RULE), partial(_mutant, "greedy block", greedy.RULE)


def _uncapped_acceptance(p_i, surplus, target, draft):
    return quotient(surplus, sum(positive_part(q - p_i * p) for p, q in zip(target, draft)), 1)


UNCAPPED = _block("p_i without its cap", survive=greedy.survive)
LOW = _block("p_{i-1} twice in p_i", survive=lambda p_i, p, q: p_i * block.survive(p_i, p, q))
NO_NORMALISER = _block("h_i without its denominator", accept=lambda p_i, surplus, target, draft: surplus)
GENEROUS = _block("p_i added to h_i", accept=lambda p_i, *rest: block.accept(p_i, *rest) + p_i)
HASTY = _block("p_i for h_i", accept=lambda p_i, surplus, target, draft: p_i)

CAPPED = _greedy("each ratio capped", survive=lambda p_i, p, q: p_i * minimum(ratio(p, q), 1))
NO_SHORTFALL = _greedy("h_i without its denominator", accept=lambda p_i, surplus, target, draft: minimum(surplus, 1))
NO_CAP = _greedy("h_i without its cap", accept=_uncapped_acceptance)
CERTAIN = _greedy("h_i = 1", accept=lambda p_i, surplus, target, draft: 1)
FORGETFUL = reference("greedy-block")._replace(name="greedy block, its modification forgotten", modifies_target=False)


def _redrawn(block_, chance):
    verdict = block.block_verification(block_, chance)
    if verdict.accepted == block_.gamma:
        return verdict
    return Verdict(verdict.accepted, chance.draw(block_.target[verdict.accepted]))


REDRAWN = Reference("block, replacing from the target", _redrawn, "a mutant")


def token_mutant(accept: Callable = lambda p, q: minimum(ratio(p, q), 1), rest: Callable = residual) -> Verify:
    """Token verification with another acceptance probability, or another law of what replaces a rejected token."""

    def verify(block: Block, chance: Chance) -> Verdict:
        for i, x in enumerate(block.tokens):
            if not chance.flip(accept(block.target[i][x], block.draft[i][x])):
                return Verdict(i, chance.draw(rest(block.target[i], block.draft[i])))
        return Verdict(block.gamma, chance.draw(block.target[block.gamma]))

    return verify


FROM_TARGET = Reference("token, replacing from the target", token_mutant(rest=lambda target, draft: target), "a mutant")
RATIO = Reference("token, accepting with the bare ratio", token_mutant(accept=ratio), "a mutant")
_with_half = token_mutant(lambda p, q: minimum(ratio(p, q) / 2, 1))
HALF = Reference("token, accepting with half the ratio", _with_half, "a mutant")
FIRST_ROW = Reference(
    "block stream that takes the target's first row everywhere",
    lambda block, chance: block_stream(block._replace(target=[block.target[0]] * len(block.target)), chance),
    "a mutant",
)
