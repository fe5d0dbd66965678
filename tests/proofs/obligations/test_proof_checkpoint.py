"""A run of proofs that was stopped goes on: decided rows of the same code are kept, all others are run again."""

import ast

import pytest

from draftproof.models import digests
from draftproof.models.errors import InputError
from draftproof.proofs.proving import PROOF_CODE, Proof, ProofResult, proof_checkpoint, resumed
from draftproof.tests.test_house import SOURCES, imports_of
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


def run(file, proofs):
    with proof_checkpoint(file) as store:
        yield from resumed(proofs.all, store)


def test_what_was_decided_is_not_run_again_and_what_was_not_is(tmp_path):
    file, proofs = str(tmp_path / "rows.json"), Proofs()
    stopped = run(file, proofs)
    assert [next(stopped).verdict for _ in range(2)] == [HOLDS, NO_EVIDENCE]
    assert proofs.runs == [1, 1, 0]
    stopped.close()
    rows = [*run(file, proofs)]
    assert [row.verdict for row in rows] == [HOLDS, NO_EVIDENCE, REFUTED]
    assert proofs.runs == [1, 2, 1]
    assert [*run(file, proofs)] == [rows[0], rows[2], rows[1]]
    assert proofs.runs == [1, 3, 1]


def test_what_the_proofs_import_is_declared():
    declared = {path for pattern in PROOF_CODE for path in digests.ROOT.glob(pattern)}
    modules = {name: ast.parse(source) for name, source in SOURCES.items()}
    seen, left = set(), [name for name in modules if name.startswith("draftproof.proofs.obligations.")]
    while left:
        seen.add(name := left.pop())
        left += imports_of(name, modules[name]) - seen
    assert len(seen) > 50
    files = {digests.ROOT.joinpath(*name.split(".")[1:]) for name in seen}
    assert {f for f in files if not {f.with_suffix(".py"), f / "__init__.py"} & declared} == set()


@pytest.mark.parametrize("text", ["{}x", "[]", '{"code": "x"}\n'])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(InputError, match="no file of proofs"):
        proof_checkpoint(str(tmp_path / "rows.json"))
