"""Every proof that ``draftproof prove`` runs without Coq holds."""

from functools import cache

import pytest

from draftproof.proofs.proving import all_proofs
from draftproof.proofs.statements import standing
from draftproof.verifiers.evidence import HOLDS

pytestmark = pytest.mark.certificate
RECORDED = dict.fromkeys((row["claim"], row["method"]) for row in standing() if row["method"] != "coq")


@cache
def proofs_by(method):
    return all_proofs(methods=[method])


@pytest.mark.parametrize(("claim", "method"), RECORDED)
def test_the_proofs_of_a_claim_by_a_method_hold(claim, method):
    proofs = [proof for proof in proofs_by(method) if proof.claim == claim]
    assert proofs
    for proof in proofs:
        result = proof.run()
        assert result.verdict == HOLDS, (proof.what, proof.size, result.detail)
