"""Mutants for the tests: each claim must be seen to refute one of these."""

from draftproof.verifiers import block_verification as block
from draftproof.verifiers import greedy_block_verification as greedy
from draftproof.verifiers.arithmetic import minimum, ratio, residual
from draftproof.verifiers.draft_block import Verdict
from draftproof.verifiers.registry import Reference
from draftproof.verifiers.sub_block import SubBlockRule


def _first_rejection(rest, reject=lambda block, i: i):
    """Token verification with another residual, or another place of the first rejection."""

    def verify(block, chance):
        for i, x in enumerate(block.tokens):
            if not chance.flip(minimum(ratio(block.target[i][x], block.draft[i][x]), 1)):
                return Verdict(reject(block, i), chance.draw(rest(block, i)))
        return Verdict(block.gamma, chance.draw(block.target[block.gamma]))

    return verify


def _block_with_token_residual(block_, chance):
    kept = [1]
    for i, x in enumerate(block_.tokens):
        kept.append(block.survive(kept[i], block_.target[i][x], block_.draft[i][x]))
    if chance.flip(kept[-1]):
        return Verdict(block_.gamma, chance.draw(block_.target[-1]))
    for i in range(block_.gamma - 1, -1, -1):
        rest = residual(block_.target[i], block_.draft[i], kept[i])
        if i == 0 or chance.flip(block.accept(kept[i], sum(rest), block_.target[i], block_.draft[i])):
            token_rest = residual(block_.target[i], block_.draft[i])
            return Verdict(i, chance.draw(token_rest if sum(token_rest) else block_.target[i]))
    raise AssertionError


def _always(block_, chance):
    return Verdict(block_.gamma, chance.draw(block_.target[-1]))


SAMPLES_TARGET = Reference("samples-target", _first_rejection(lambda b, i: b.target[i]), "a mutant")
TOKEN_RESIDUAL = Reference("block-token-residual", _block_with_token_residual, "a mutant")
ACCEPTS_ALL = Reference("accepts-all", _always, "a mutant")

NO_NORMALISER = SubBlockRule(block.survive, lambda kept, surplus, p, q: minimum(surplus, 1), block.accept_all)
UNCAPPED_GREEDY = SubBlockRule(greedy.survive, lambda kept, surplus, p, q: minimum(surplus, 1), greedy.accept_all)
"""Rules whose h_i lacks its denominator."""
