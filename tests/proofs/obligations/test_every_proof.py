"""Every proof that ``draftproof prove`` runs without Coq holds."""

from functools import cache

import pytest

from draftproof.proofs.proving import all_proofs
from draftproof.proofs.statements import standing
from draftproof.tests.choices import long_unless
from draftproof.verifiers.evidence import HOLDS

pytestmark = pytest.mark.certificate
RECORDED = dict.fromkeys((row["claim"], row["method"]) for row in standing() if row["method"] != "coq")


@cache
def proofs_by(method):
    return all_proofs(methods=[method])


OF_SECONDS = {
    ("lemma-4", "certificate"), ("lemma-8", "enumeration"), ("lemma-10", "certificate"), ("lenience", "sympy"),
    ("reaches", "certificate"), ("several-drafts", "enumeration"), ("tokens-per-iteration", "sympy"),
    ("transport", "certificate"),
}  # fmt: skip
"""Proofs that take one second or more, where a shorter one has the same method; ``draftproof prove`` has them all."""


@pytest.mark.parametrize(("claim", "method"), long_unless(RECORDED, RECORDED.keys() - OF_SECONDS))
def test_the_proofs_of_a_claim_by_a_method_hold(claim, method):
    proofs = [proof for proof in proofs_by(method) if proof.claim == claim]
    assert proofs
    for proof in proofs:
        result = proof.run()
        assert result.verdict == HOLDS, (proof.what, proof.size, result.detail)
