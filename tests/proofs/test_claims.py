"""The papers' statements each refute a mutant, and hold on drawn problems (on the battery: obligations/)."""

import pytest

from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.proofs import claims
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, output_law, sub_block_law
from draftproof.tests.proofs.mutants import ACCEPTS_ALL, NO_NORMALISER, TOKEN_RESIDUAL, UNCAPPED_GREEDY
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact

BLOCK, TOKEN, GREEDY = reference("block"), reference("token"), reference("greedy-block")


TOY, GENERIC = in_field(toy(2)), in_field(drawn(3, 2, "generic"))
REFUTED = {
    "lossless, greedy in the plain loop": lambda: claims.lossless(TOY, output_law(TOY, GREEDY)),
    "lemma-3, h without its normaliser": lambda: claims.lemma_3(GENERIC, sub_block_law(GENERIC, NO_NORMALISER)),
    "theorem-3, the opposite order": lambda: claims.theorem_3(TOY, output_law(TOY, BLOCK), output_law(TOY, GREEDY)),
    "lemma-8, no modification": lambda: claims.lemma_8(TOY, GREEDY._replace(modifies_target=False)),
    "lemma-9, h without its denominator": lambda: claims.lemma_9(GENERIC, sub_block_law(GENERIC, UNCAPPED_GREEDY)),
    "lemma-10, everything accepted": lambda: claims.lemma_10(TOY, enumerated_law(TOY, ACCEPTS_ALL)),
}


@pytest.mark.parametrize("wrong", REFUTED)
def test_a_claim_refutes_what_is_wrong(wrong):
    assert not REFUTED[wrong]().holds


def test_lossless_rejects_the_token_residual_in_block_verification_from_three_tokens_on():
    """At V = 2 the residual is a point mass and the bug is invisible: the battery must be larger."""
    for seed in range(5):
        small = in_field(drawn(2, 2, "generic", seed))
        assert claims.lossless(small, enumerated_law(small, TOKEN_RESIDUAL)).holds
    larger = [in_field(drawn(4, 2, "generic", seed)) for seed in range(4)]
    assert any(not claims.lossless(p, enumerated_law(p, TOKEN_RESIDUAL)).holds for p in larger)


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


# Drawn problems, which shrink.
