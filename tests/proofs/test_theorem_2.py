"""Theorem 2 over several iterations: true against token verification, false against every valid verifier.

The models: equal, a point mass, for gamma tokens; then a coin of the target that the draft model calls for token 0; after
token 0 the draft model is unsure where the target is certain, and both agree from there on; after token 1 nothing in
common. Verification that starts before the coin can make up for it (the likelihood ratio 1/2 is followed by 2), one that
starts after it cannot; block verification's bonus token always takes it past the coin.
"""

import pytest
from sympy import QQ

from draftproof.models.battery import drawn
from draftproof.models.problem import Problem
from draftproof.proofs.claims import lossless, theorem_2
from draftproof.proofs.laws import expected_tokens, in_field, iterated_law, output_law
from draftproof.verifiers.block_verification import block_verification
from draftproof.verifiers.draft_block import Block
from draftproof.verifiers.registry import Reference, reference

pytestmark = pytest.mark.exact
FIRST, SECOND, COIN = (QQ(1), QQ(0)), (QQ(0), QQ(1)), (QQ(1, 2), QQ(1, 2))


class Model:
    def __init__(self, row):
        self.row = row

    def state(self, prefix):
        return prefix


def pair(gamma):
    def target(prefix):
        if len(prefix) == gamma:
            return COIN
        return SECOND if len(prefix) > gamma and prefix[gamma] == 1 else FIRST

    def draft(prefix):
        return COIN if len(prefix) == gamma + 1 and prefix[gamma] == 0 else FIRST

    return Problem(2, gamma, Model(target), Model(draft), f"coin-after-{gamma}")


def shorter(block, chance):
    """Block verification of all draft tokens but the last."""
    return block_verification(Block(block.target[:-1], block.draft[:-1], block.tokens[:-1]), chance)


SHORTER = Reference("block, one token shorter", shorter, "a valid verifier")


@pytest.mark.parametrize(("gamma", "block", "short"), [(5, "33/4", "8"), (7, "43/4", "11"), (8, "12", "25/2")])
def test_a_shorter_block_can_decode_more_in_two_iterations(gamma, block, short):
    problem = pair(gamma)
    assert str(expected_tokens(iterated_law(problem, reference("block"), 2))) == block
    assert str(expected_tokens(iterated_law(problem, SHORTER, 2))) == short
    assert theorem_2(problem, reference("block"), reference("token"), iterations=2).holds
    assert theorem_2(problem, reference("block"), SHORTER, iterations=2).holds == (gamma < 7)
    assert theorem_2(problem, reference("block"), SHORTER, iterations=1).holds


@pytest.mark.parametrize(
    "problem", [drawn(3, 2, "generic"), drawn(2, 4, "mixed"), drawn(3, 3, "mixed")], ids=lambda p: p.name
)
def test_the_shorter_verifier_is_valid(problem):
    exact = in_field(problem)
    assert lossless(exact, output_law(exact, SHORTER)).holds


def test_it_is_valid_on_the_pair_itself_from_every_context_of_the_two_iterations():
    problem = pair(7)
    for length in (0, 6, 7, 8):
        for last in (0, 1):
            here = problem.after((0,) * max(length - 1, 0) + ((last,) if length else ()))
            assert lossless(here, output_law(here, SHORTER)).holds
