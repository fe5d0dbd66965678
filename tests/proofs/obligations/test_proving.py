"""The list of proofs: each kind is seen rejecting a wrong verifier under the name of a right one."""

from functools import partial

import pytest

from draftproof.proofs.proving import all_proofs, run
from draftproof.proofs.statements import PROVABLE_CLAIMS
from draftproof.tests.proofs.mutants import ACCEPTS_ALL, NO_NORMALISER, TOKEN_RESIDUAL, UNCAPPED_GREEDY
from draftproof.verifiers.registry import REFERENCES, Reference
from draftproof.verifiers.sub_block import longest_sub_block

pytestmark = pytest.mark.certificate


def verdicts(claim, method):
    return {row.what: row.verdict for row in run(all_proofs([claim], [method]))}


def test_every_claim_has_a_proof_and_every_proof_a_claim():
    assert {proof.claim for proof in all_proofs()} == set(PROVABLE_CLAIMS)


def test_two_proofs_do_not_share_a_row():
    rows = [(p.claim, p.method, p.what, p.size) for p in all_proofs()]
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize("claim", ["theorem-1", "lemma-1", "lemma-2", "lemma-3", "lemma-10"])
def test_enumeration_refutes_a_block_verification_without_its_normaliser(monkeypatch, claim):
    monkeypatch.setitem(REFERENCES, "block", Reference("block", partial(longest_sub_block, NO_NORMALISER), "a mutant"))
    if claim == "theorem-1":
        monkeypatch.setitem(REFERENCES, "block", TOKEN_RESIDUAL._replace(name="block"))
    if claim == "lemma-10":
        monkeypatch.setitem(REFERENCES, "block", ACCEPTS_ALL._replace(name="block"))
    found = verdicts(claim, "enumeration")
    assert any(verdict == "refuted" for what, verdict in found.items() if what.startswith("block"))


@pytest.mark.parametrize("claim", ["lemma-4", "lemma-2"])
def test_enumeration_refutes_a_token_verification_that_accepts_everything(monkeypatch, claim):
    monkeypatch.setitem(REFERENCES, "token", ACCEPTS_ALL._replace(name="token"))
    assert verdicts(claim, "enumeration")["token"] == "refuted"


@pytest.mark.parametrize("claim", ["lemma-8", "lemma-9"])
def test_enumeration_refutes_a_greedy_block_verification_without_its_normaliser(monkeypatch, claim):
    wrong = Reference("greedy-block", partial(longest_sub_block, UNCAPPED_GREEDY), "a mutant", modifies_target=True)
    monkeypatch.setitem(REFERENCES, "greedy-block", wrong)
    assert "refuted" in verdicts(claim, "enumeration").values()


@pytest.mark.parametrize("claim", ["theorem-2", "theorem-2-iterations", "theorem-3", "lemma-7"])
def test_enumeration_refutes_an_order_that_is_the_wrong_way_round(monkeypatch, claim):
    block, token = REFERENCES["block"], REFERENCES["token"]
    monkeypatch.setitem(REFERENCES, "block", token._replace(name="block"))
    monkeypatch.setitem(REFERENCES, "token", block._replace(name="token"))
    if claim == "theorem-3":
        monkeypatch.setitem(REFERENCES, "block", block)
        monkeypatch.setitem(REFERENCES, "greedy-block", token._replace(name="greedy-block"))
    assert "refuted" in verdicts(claim, "enumeration").values()


@pytest.mark.parametrize(("claim", "name"), [("theorem-2", "block"), ("lemma-10", "greedy-block")])
def test_a_certificate_of_a_rule_that_accepts_less_is_refuted(monkeypatch, claim, name):
    monkeypatch.setitem(REFERENCES, name, REFERENCES["token"]._replace(name=name))
    assert verdicts(claim, "certificate")[name] == "refuted"


@pytest.mark.parametrize("claim", ["theorem-1", "lemma-2", "lemma-8", "lemma-9", "remark-c1"])
def test_what_is_enumerated_is_the_code_that_runs_and_not_its_rule_alone(monkeypatch, claim):
    """Each verifier runs the other's procedure, with its own rule untouched."""
    block, greedy = REFERENCES["block"], REFERENCES["greedy-block"]
    monkeypatch.setitem(REFERENCES, "block", block._replace(verify=greedy.verify))
    monkeypatch.setitem(REFERENCES, "greedy-block", greedy._replace(verify=block.verify))
    assert "refuted" in verdicts(claim, "enumeration").values()
