"""Theorem 2 over several iterations: false as published against every valid verifier, true of target calls."""

import pytest
from sympy import QQ

from draftproof.models.battery import drawn_markov, toy
from draftproof.proofs.certificates.linear_program import most_tokens
from draftproof.proofs.claims import theorem_2, theorem_2_calls
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_tokens, iterated_law
from draftproof.proofs.obligations import by_certificate
from draftproof.proofs.theorem_2 import SURE_BONUS, expected_calls, pair
from draftproof.verifiers.draft_block import Verdict
from draftproof.verifiers.registry import Reference, reference

pytestmark = pytest.mark.exact
BLOCK = reference("block")
CERTAIN = Reference("accepts all", lambda block, chance: Verdict(block.gamma, 0), "a mutant")


def tokens(problem, verifier, iterations):
    return expected_tokens(iterated_law(problem, verifier, iterations))


@pytest.mark.parametrize("t", [QQ(1, 3), QQ(1, 2), QQ(2, 3), QQ(99, 100)])
def test_the_values_by_hand(t):
    """5 + 3 t^2 against 4 + 4 t, and 5 + 2 t^2 against 4 + 3 t, as Counterexample.v proves for all t."""
    for gamma, iterations, block, other in ((2, 3, 5 + 3 * t**2, 4 + 4 * t), (3, 2, 5 + 2 * t**2, 4 + 3 * t)):
        problem = pair(gamma, t)
        assert tokens(problem, BLOCK, iterations) == block
        assert tokens(problem, SURE_BONUS, iterations) == other
        assert theorem_2(problem, BLOCK, reference("token"), iterations).holds
        assert theorem_2(problem, BLOCK, SURE_BONUS, iterations).holds == (block >= other)


def test_calls_by_hand():
    """Models with nothing in common decode one token a call; equal models gamma + 1."""
    assert expected_calls(in_field(drawn_markov(2, 3, "disjoint")), BLOCK, 3) == 3
    assert expected_calls(in_field(drawn_markov(2, 2, "equal")), BLOCK, 7) == 3
    assert expected_calls(in_field(toy(2)), BLOCK, 1) == expected_calls(in_field(toy(2)), reference("token"), 1) == 1


def test_fewer_calls_than_block_verification_are_noticed_and_more_are_refused():
    """What is biased can be faster; token verification is not the optimum."""
    exact = in_field(toy(2))
    found = theorem_2_calls(exact, BLOCK, CERTAIN, 6)
    assert not found.holds
    assert found.witness is not None
    assert "token needs" in by_certificate._fewest_calls(5, None, exact, "token")


def test_where_block_verification_decodes_more_the_other_is_not_the_best_of_all_strategies():
    assert "the optimum is" in by_certificate._most_tokens(most_tokens, pair(2, QQ(1, 4)))
