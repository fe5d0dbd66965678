"""Theorem 2 over several iterations: false as published against every valid verifier, true of target calls."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from sympy import QQ

from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.proofs.certificates.linear_program import most_tokens
from draftproof.proofs.claims import lossless, theorem_2, theorem_2_calls
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_tokens, iterated_law, output_law
from draftproof.proofs.obligations import by_certificate
from draftproof.proofs.theorem_2 import SURE_BONUS, expected_calls, pair, sure_bonus
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


def test_the_smallest_case_is_6_tokens_against_23_quarters_and_no_strategy_decodes_more():
    assert (str(tokens(pair(2), BLOCK, 3)), str(tokens(pair(2), SURE_BONUS, 3))) == ("23/4", "6")
    assert most_tokens(pair(2), 3) == pytest.approx(6, abs=1e-7)


def ending(problem, length):
    """The same over three tokens: a text has that many tokens, then the third, E.O.S., for ever."""

    class Ends(NamedTuple):
        model: Any

        def row(self, prefix):
            over = len(prefix) >= length or 2 in prefix
            return (QQ(0), QQ(0), QQ(1)) if over else (*self.model.row(prefix), QQ(0))

        def state(self, prefix):
            return prefix

    return replace(problem, vocabulary=3, target=Ends(problem.target), draft=Ends(problem.draft))


def test_it_is_so_where_models_end_unless_they_end_before_the_last_call():
    def up_to_eos(verifier, length):
        law = iterated_law(ending(pair(2), length), verifier, 3)
        return sum(p * min((*text, 2).index(2) + 1, len(text)) for (text, *_), p in law.items())

    assert (up_to_eos(BLOCK, 8), up_to_eos(SURE_BONUS, 8)) == (QQ(23, 4), 6)
    assert up_to_eos(BLOCK, 4) > up_to_eos(SURE_BONUS, 4)


def test_on_the_same_models_block_verification_wins_where_the_published_statement_is_true():
    """One iteration, or gamma = 1, or gamma = 2 and two iterations; t is where the others are lost."""
    for gamma, iterations in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (3, 1)):
        assert theorem_2(pair(gamma, QQ(2, 3)), BLOCK, SURE_BONUS, iterations).holds
    assert not theorem_2(pair(2, QQ(2, 3), apart=2), BLOCK, SURE_BONUS, 5).holds
    assert theorem_2(pair(2, QQ(2, 3), apart=3), BLOCK, SURE_BONUS, 5).holds


@pytest.mark.parametrize(
    "problem", [drawn(3, 2, "generic"), drawn(2, 4, "mixed"), drawn(3, 3, "mixed"), toy(2)], ids=lambda p: p.name
)
def test_the_verifier_is_valid(problem):
    exact = in_field(problem)
    assert lossless(exact, output_law(exact, SURE_BONUS)).holds


def test_a_bonus_dropped_by_what_the_bonus_is_would_not_be_valid():
    def by_token(block, chance):
        verdict = sure_bonus(block._replace(target=[*block.target[:-1], (1, 0)]), chance)
        drop = verdict.accepted == block.gamma and verdict.token == 0
        return Verdict(block.gamma - 1, 1) if drop else verdict

    exact = in_field(toy(2))
    assert not lossless(exact, output_law(exact, Reference("by token", by_token, "a mutant"))).holds


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
