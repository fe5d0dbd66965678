"""The papers' statements on the battery and on drawn problems, each seen to refute a mutant."""

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis.errors import NoSuchExample

from draftproof.models.battery import drawn, drawn_markov, exact_battery, toy
from draftproof.models.problem import as_json
from draftproof.proofs import claims
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, output_law, sub_block_law
from draftproof.tests.proofs.mutants import ACCEPTS_ALL, NO_NORMALISER, SAMPLES_TARGET, TOKEN_RESIDUAL, UNCAPPED_GREEDY
from draftproof.tests.proofs.strategies import problems
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact

BLOCK, TOKEN, GREEDY = reference("block"), reference("token"), reference("greedy-block")
BATTERY = list(exact_battery())
ENUMERABLE = [p for p in BATTERY if p.vocabulary**p.gamma <= 250]
MARKOV = [p for p in BATTERY if p.name.startswith("markov")]
by_name = {"ids": lambda p: p.name}


@pytest.mark.parametrize("problem", BATTERY, **by_name)
def test_block_verification_is_lossless_and_optimal_prefix_by_prefix(problem):
    problem = in_field(problem)
    law = output_law(problem, BLOCK)
    assert claims.lossless(problem, law).holds
    assert claims.lemma_3(problem, law).holds
    assert claims.lemma_10(problem, law).holds


@pytest.mark.parametrize("problem", ENUMERABLE, **by_name)
def test_token_verification_is_lossless_and_below_the_bound(problem):
    problem = in_field(problem)
    law = enumerated_law(problem, TOKEN)
    assert claims.lossless(problem, law).holds
    assert claims.lemma_4(problem, law).holds


@pytest.mark.parametrize("problem", BATTERY, **by_name)
def test_greedy_block_verification_is_the_optimal_coupling_and_lossless_in_its_loop(problem):
    problem = in_field(problem)
    law = output_law(problem, GREEDY)
    assert claims.lemma_9(problem, law).holds
    assert claims.lemma_8(problem, GREEDY).holds
    assert claims.theorem_3(problem, law, output_law(problem, BLOCK)).holds
    value = sum(claims.coupling_bound(problem).values(), 0)
    assert sum((len(o) - 1) * p for o, p in law.items()) == value


@pytest.mark.parametrize("problem", ENUMERABLE, **by_name)
def test_block_verification_decodes_at_least_as_many_tokens_in_one_iteration(problem):
    assert claims.theorem_2(in_field(problem), BLOCK, TOKEN).holds


@pytest.mark.parametrize(
    "problem", [*MARKOV, drawn_markov(4, 3, "mixed"), drawn_markov(2, 6), toy(2), toy(3)], **by_name
)
@pytest.mark.parametrize("iterations", [2, 3, 4])
def test_block_verification_decodes_at_least_as_many_tokens_in_several_iterations(problem, iterations):
    assert claims.theorem_2(in_field(problem), BLOCK, TOKEN, iterations).holds


@pytest.mark.parametrize("problem", [*MARKOV, toy(2), toy(3)], **by_name)
@pytest.mark.parametrize("iterations", [2, 3])
def test_nested_modification_keeps_greedy_block_verification_lossless(problem, iterations):
    assert claims.lemma_8(in_field(problem), GREEDY, iterations).holds


# Each claim refutes a mutant.


def test_lossless_rejects_a_residual_replaced_by_the_target():
    problem = in_field(drawn(3, 2, "generic"))
    found = claims.lossless(problem, enumerated_law(problem, SAMPLES_TARGET))
    assert found.verdict == "refuted"
    assert found.total_variation > 0
    assert found.witness.expected != found.witness.observed


def test_lossless_rejects_the_token_residual_in_block_verification_from_three_tokens_on():
    """At V = 2 the residual is a point mass and the bug is invisible: the battery must be larger."""
    for seed in range(5):
        small = in_field(drawn(2, 2, "generic", seed))
        assert claims.lossless(small, enumerated_law(small, TOKEN_RESIDUAL)).holds
    larger = [in_field(drawn(4, 2, "generic", seed)) for seed in range(4)]
    assert any(not claims.lossless(p, enumerated_law(p, TOKEN_RESIDUAL)).holds for p in larger)


def test_lossless_rejects_greedy_block_verification_in_the_plain_loop():
    problem = in_field(toy(2))
    assert not claims.lossless(problem, output_law(problem, GREEDY)).holds


def test_lemma_3_rejects_an_acceptance_probability_without_its_normaliser():
    problem = in_field(drawn(3, 2, "generic"))
    assert not claims.lemma_3(problem, sub_block_law(problem, NO_NORMALISER)).holds


def test_lemma_4_rejects_a_rule_that_accepts_everything():
    problem = in_field(toy(2))
    found = claims.lemma_4(problem, enumerated_law(problem, ACCEPTS_ALL))
    assert not found.holds
    assert found.witness.sequence
    assert found.witness.expected.startswith("at most ")


def test_theorem_2_rejects_the_opposite_order():
    witness = claims.theorem_2(in_field(toy(2)), TOKEN, BLOCK).witness
    assert (witness.sequence, witness.expected, witness.observed) == ("E[N(1)] token", "at least 20/9 (block)", "19/9")
    assert not claims.theorem_2(in_field(toy(2)), TOKEN, BLOCK, iterations=3).holds


def test_theorem_3_rejects_the_opposite_order():
    problem = in_field(toy(2))
    assert not claims.theorem_3(problem, output_law(problem, BLOCK), output_law(problem, GREEDY)).holds


def test_lemma_8_rejects_a_loop_that_forgets_the_modification():
    assert not claims.lemma_8(in_field(toy(2)), GREEDY._replace(modifies_target=False)).holds


def test_lemma_8_rejects_a_modification_that_is_not_nested(monkeypatch):
    """Footnote 6: with only the newest modification in force, two iterations already deviate."""
    problem = in_field(drawn_markov(3, 3))
    assert claims.lemma_8(problem, GREEDY, 2).holds
    from draftproof.models import decoding
    from draftproof.proofs.laws import reference_laws as laws

    real = decoding.starts_in_force
    for module in (decoding, laws):
        monkeypatch.setattr(module, "starts_in_force", lambda *arguments: real(*arguments)[-1:])
    assert not claims.lemma_8(problem, GREEDY, 2).holds


def test_lemma_9_rejects_an_acceptance_probability_without_its_denominator():
    problem = in_field(drawn(3, 2, "generic"))
    assert not claims.lemma_9(problem, sub_block_law(problem, UNCAPPED_GREEDY)).holds


def test_lemma_10_rejects_a_rule_that_accepts_everything():
    problem = in_field(toy(2))
    assert not claims.lemma_10(problem, enumerated_law(problem, ACCEPTS_ALL)).holds


# Drawn problems, which shrink.


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems())
def test_the_claims_hold_on_drawn_problems(problem):
    problem = in_field(problem)
    block, token, greedy = (output_law(problem, v) for v in (BLOCK, TOKEN, GREEDY))
    for evidence in (
        claims.lossless(problem, block),
        claims.lossless(problem, token),
        claims.lemma_3(problem, block),
        claims.lemma_4(problem, token),
        claims.theorem_3(problem, greedy, block),
        claims.lemma_8(problem, GREEDY),
        claims.lemma_9(problem, greedy),
        claims.lemma_10(problem, block),
    ):
        assert evidence.holds, (evidence.claim, evidence.witness, as_json(problem))


def test_a_bug_shrinks_to_a_smallest_witness():
    """Hypothesis finds the bug and reduces it to one step and two tokens with plain rows."""

    def refuted(problem):
        problem = in_field(problem)
        return not claims.lossless(problem, enumerated_law(problem, SAMPLES_TARGET)).holds

    smallest = find(problems(), refuted, settings=settings(derandomize=True, max_examples=500, deadline=None))
    assert (smallest.vocabulary, smallest.gamma) == (2, 1)
    with pytest.raises(NoSuchExample):
        find(
            problems(),
            lambda p: not claims.lossless(in_field(p), output_law(in_field(p), BLOCK)).holds,
            settings=settings(derandomize=True, max_examples=60, deadline=None),
        )
