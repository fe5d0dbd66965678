"""Drafts that end early: by a rule that sees the draft nothing changes; by the verifier's coins it is refuted."""

import pytest

from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.proofs.claims import lossless
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.block_laws import enumerated_law
from draftproof.verifiers.arithmetic import minimum, ratio
from draftproof.verifiers.block_verification import block_verification
from draftproof.verifiers.draft_block import Block, Verdict
from draftproof.verifiers.registry import Reference
from draftproof.verifiers.token_verification import token_verification

pytestmark = pytest.mark.exact


def shortened(block, length):
    return Block(block.target[: length + 1], block.draft[:length], block.tokens[:length])


def ends_after_token_0(verify):
    """The draft ends behind its first token 0: a rule that sees the draft alone."""

    def run(block, chance):
        length = block.tokens.index(0) + 1 if 0 in block.tokens else block.gamma
        return verify(shortened(block, length), chance)

    return Reference("ends after token 0", run, "a composition")


def ends_when_its_coin_falls(block, chance):
    """The draft ends after its first token exactly if that token's coin falls; else it goes on as if without it."""
    first = minimum(ratio(block.target[0][block.tokens[0]], block.draft[0][block.tokens[0]]), 1)
    if chance.flip(first):
        return Verdict(1, chance.draw(block.target[1]))
    return block_verification(block, chance)


def one_hot_rule(block, chance):
    """Reads a sampled draft as if the draft model had been sure of it."""
    rows = [[int(y == x) for y in range(len(row))] for x, row in zip(block.tokens, block.draft)]
    return token_verification(block._replace(draft=rows), chance)


PROBLEMS = [
    in_field(p)
    for p in (toy(2), drawn(3, 2, "generic"), drawn(2, 3, "mixed"), drawn(3, 3, "zeros"), drawn_markov(3, 2))
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("verify", [block_verification, token_verification])
def test_a_rule_that_sees_the_draft_alone_changes_nothing(problem, verify):
    assert lossless(problem, enumerated_law(problem, ends_after_token_0(verify))).holds


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_draft_that_ends_by_the_verifiers_coins_is_refuted(problem):
    law = enumerated_law(problem, Reference("ends when its coin falls", ends_when_its_coin_falls, "a mutant"))
    assert not lossless(problem, law).holds


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_one_hot_rule_is_lossless_for_sampled_drafts(problem):
    assert lossless(problem, enumerated_law(problem, Reference("one-hot rule", one_hot_rule, "a composition"))).holds
