"""The machine-checked proofs: they compile, rest on nothing, break when the algorithm is changed, and mean the same."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import draftproof
from draftproof.models.battery import toy
from draftproof.proofs.laws import expected_accepted, in_field, output_law
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.mechanized
SOURCES = Path(draftproof.__file__).parent / "proofs" / "mechanized"
needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="needs Coq with MathComp: make mechanized installs it"
)
needs_sources = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the Coq sources are in the repository, not in the wheel"
)

THEOREMS = {
    "lemma_1", "lemma_3", "theorem_1", "lemma_4", "theorem_2_one", "block_kernel", "token_valid", "token_le_block",
    "lemma_9", "lemma_8", "theorem_3", "token_le_block_iterations", "theorem_2_two_iterations_fails", "program_run",
}  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "mechanized"
    folder.mkdir()
    for file in [*SOURCES.glob("*.v"), SOURCES / "Makefile"]:
        shutil.copy(file, folder)
    return folder


def build(folder, *targets):
    return subprocess.run(["make", "-C", folder, *targets], capture_output=True, text=True, timeout=600)


@needs_sources
def test_nothing_is_assumed_or_left_open_in_the_sources():
    for file in SOURCES.glob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", file.read_text(), flags=re.DOTALL)
        assert not re.search(r"\b(Admitted|Axiom|Parameter|Conjecture|admit)\b", text), file.name
    listed = set(re.findall(r"Print Assumptions (\w+)\.", (SOURCES / "Axioms.v").read_text()))
    assert listed >= THEOREMS


@needs_sources
@needs_coq
def test_every_theorem_is_closed_under_the_global_context(copy):
    done = build(copy)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    listed = len(re.findall(r"^Print Assumptions", (copy / "Axioms.v").read_text(), flags=re.MULTILINE))
    assert (copy / "axioms.log").read_text().count("Closed under the global context") == listed


@needs_sources
@needs_coq
@pytest.mark.parametrize(
    ("right", "wrong", "breaks"),
    [
        ("if excess b s p + 1 - p == 0 then 1 else excess b s p / (excess b s p + 1 - p).", "excess b s p.", "h_blockE|Block.v"),
        ("if excess b s p == 0 then b y else over b s p y / excess b s p.",
         "if excess b s 1 == 0 then b y else over b s 1 y / excess b s 1.", "residualE|Block.v"),
    ],
    ids=["h without its normaliser", "residual without p_i"],
)  # fmt: skip
def test_a_change_of_the_algorithm_breaks_the_proof(copy, right, wrong, breaks):
    file = copy / "Algorithms.v"
    text = file.read_text()
    assert text.count(right) == 1
    file.write_text(text.replace(right, wrong))
    done = build(copy, "Block.vo")
    assert done.returncode != 0
    assert re.search(breaks, done.stdout + done.stderr)


@needs_sources
def test_the_definitions_give_the_numbers_of_the_python_code_on_the_paper_example():
    """Evaluate.v proves by computation what the exact engine counts."""
    text = (SOURCES / "Evaluate.v").read_text()
    for name, verifier in (("toy_block", "block"), ("toy_token", "token")):
        found = re.search(rf"Theorem {name} : .* = (\d+)%:R / (\d+)%:R\.", text)
        value = expected_accepted(output_law(in_field(toy(2)), reference(verifier)))
        assert f"{found[1]}/{found[2]}" == str(value)
