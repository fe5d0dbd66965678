"""The loops: Algorithm 3 and Algorithm 6 as samplers and as programs that can be enumerated."""

import random

import pytest

from draftproof.models.battery import drawn_markov, toy
from draftproof.models.decoding import Decoded, Modified, decode, iteration, modified
from draftproof.models.law import Table
from draftproof.models.problem import with_numbers
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import iterated_law, joint_law, total_variation
from draftproof.verifiers.chance import RandomChance
from draftproof.verifiers.registry import REFERENCES, reference

pytestmark = pytest.mark.exact


def two_iterations(problem, verifier):
    def program(chance):
        return iteration(problem, verifier, iteration(problem, verifier, Decoded(), chance), chance)

    return program


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_merging_equal_states_gives_the_law_of_running_the_loop_itself(name):
    problem = in_field(drawn_markov(2, 2, "mixed"))
    assert iterated_law(problem, reference(name), 2) == law_of(two_iterations(problem, reference(name)))


@pytest.mark.parametrize("name", sorted(n for n, r in REFERENCES.items() if not r.modifies_target))
@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_the_decoded_text_follows_the_target_over_several_iterations(name, gamma):
    """decode() enumerated as it stands: the first four tokens follow M_b exactly. (Of Algorithm 6 the text owes its
    next tokens to the modified target: that is Lemma 8, in test_claims.)"""
    problem = in_field(drawn_markov(2, gamma))
    law = law_of(lambda chance: decode(problem, reference(name), 4, chance)[:4])
    assert total_variation(law, joint_law(problem.target, 4)) == 0


def test_decoding_stops_at_the_end_token_and_keeps_it():
    problem = with_numbers(toy(3), float)
    for seed in range(50):
        tokens = decode(problem, reference("block"), 30, RandomChance(random.Random(seed)), end=1)
        assert tokens.count(1) == 1 and tokens[-1] == 1
    assert 10 <= len(decode(problem, reference("greedy-block"), 10, RandomChance(random.Random(1)))) <= 13


def test_off_the_support_of_the_modified_target_any_row_will_do_but_the_loop_goes_on():
    """After AA is rejected in favour of B the modified target excludes A: a prefix B, A has no modified row."""
    problem = in_field(toy(3))
    target = modified(problem.target, problem.draft, (0, 1), 3)
    for length in range(6):
        for prefix in problem.prefixes(length):
            row = target.row(prefix)
            assert sum(row) == 1
            assert min(row) >= 0


def test_a_modification_ends_after_gamma_tokens():
    problem = in_field(toy(2))
    target = Modified(problem.target, problem.draft, 0, 2)
    assert target.row((1,)) != problem.target.row((1,))
    assert target.row((1, 0)) == problem.target.row((1, 0))
    assert isinstance(problem.tabulated().target, Table)
