"""Theorem 2 over several iterations: true against token verification, false against every valid verifier."""

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.claims import lossless, theorem_2
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import expected_tokens, iterated_law, output_law
from draftproof.proofs.theorem_2_counterexample import SHORTER, pair
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact


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
