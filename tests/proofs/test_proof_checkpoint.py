"""A run of proofs that was stopped goes on: decided rows of the same code are kept, all others are run again."""

import json

import pytest

from draftproof.models.errors import InputError
from draftproof.proofs import proof_checkpoint
from draftproof.proofs.proof_checkpoint import ProofCheckpoint
from draftproof.proofs.proving import Proof, ProofResult
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED

pytestmark = pytest.mark.certificate


class Proofs:
    """Three proofs that count how often they are run."""

    def __init__(self, verdicts=(HOLDS, NO_EVIDENCE, REFUTED)):
        self.runs = [0] * len(verdicts)
        self.all = [Proof("lemma-1", "coq", f"number {k}", "all", self._run(k, v)) for k, v in enumerate(verdicts)]

    def _run(self, k, verdict):
        def run():
            self.runs[k] += 1
            return ProofResult(verdict)

        return run


def test_what_was_decided_is_not_run_again_and_what_was_not_is(tmp_path):
    file, proofs = str(tmp_path / "rows.json"), Proofs()
    stopped = ProofCheckpoint(file).run(proofs.all)
    assert [next(stopped).verdict for _ in range(2)] == [HOLDS, NO_EVIDENCE]
    assert proofs.runs == [1, 1, 0]
    rows = list(ProofCheckpoint(file).run(proofs.all))
    assert [row.verdict for row in rows] == [HOLDS, NO_EVIDENCE, REFUTED]
    assert proofs.runs == [1, 2, 1]
    list(ProofCheckpoint(file).run(proofs.all))
    assert proofs.runs == [1, 3, 1]


def test_rows_of_other_code_are_not_used(tmp_path, monkeypatch):
    file, proofs = str(tmp_path / "rows.json"), Proofs((HOLDS,))
    list(ProofCheckpoint(file).run(proofs.all))
    monkeypatch.setattr(proof_checkpoint, "code_digest", lambda: "another")
    checkpoint = ProofCheckpoint(file)
    assert checkpoint.of_other_code
    list(checkpoint.run(proofs.all))
    assert proofs.runs == [2]


def test_a_changed_source_is_other_code(tmp_path, monkeypatch):
    (tmp_path / "a.v").write_text("Theorem a : True.")
    monkeypatch.setattr(proof_checkpoint, "ROOT", tmp_path)
    before = proof_checkpoint.code_digest()
    (tmp_path / "a.v").write_text("Theorem a : False.")
    assert proof_checkpoint.code_digest() != before


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"code": "x", "rows": [{"claim": "lemma-1"}]})])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(InputError, match="not a file of proofs"):
        ProofCheckpoint(str(tmp_path / "rows.json"))
