"""The machine-checked proofs: they compile, rest on nothing, break when the algorithm is changed, and mean the same."""

import fcntl
import json
import os
import pickle
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from draftproof.corpus import coq
from draftproof.corpus.coq import theorems as by_coq
from draftproof.corpus.coq.agreement import compare
from draftproof.models.battery import KINDS, drawn, drawn_markov, toy
from draftproof.models.digests import MECHANIZED
from draftproof.models.errors import InputError
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.tests.proofs.mutants import NO_NORMALISER, SAMPLES_TARGET, UNCAPPED_GREEDY
from draftproof.verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.registry import Reference, reference
from draftproof.verifiers.sub_block import longest_sub_block

pytestmark = pytest.mark.mechanized
MISSING = coq.missing()
needs_coq = pytest.mark.skipif(MISSING is not None, reason=f"{MISSING}; make mechanized installs it on Debian")

STATED = {theorem for theorems in by_coq.THEOREMS.values() for theorem in theorems}
"""Theorems that a claim of ``draftproof prove`` rests on."""

LISTED = 200
"""Number of theorems below which some were lost."""

PROBLEMS = [
    *(drawn(3, 2, kind) for kind in KINDS), drawn(3, 2, "mixed"), drawn(2, 1, "generic"), drawn(2, 3, "mixed"),
    drawn(2, 3, "zeros"), drawn(3, 1, "mixed"), drawn(4, 1, "zeros"), toy(2),
]  # fmt: skip


def compiled_in(folder, limit=coq.TIME_LIMIT):
    """What Coq says of every listed theorem; sources that the folder already has are used as they are."""
    with coq.workplace(folder) as place:
        build = coq.Build(place, limit=limit)
        return build.check(build.listed)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with everything compiled, once for all workers, and what Coq said of each theorem."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, said = root / "mechanized", root / "mechanized.rows"
    with open(root / "mechanized.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            folder.mkdir()
            said.write_bytes(pickle.dumps(compiled_in(folder)))
    return folder, pickle.loads(said.read_bytes())


@pytest.fixture
def place(compiled, tmp_path):
    """A copy of it: a comparison writes its questions there, and other workers ask theirs at the same time."""
    return shutil.copytree(compiled[0], tmp_path / "place")


def test_nothing_is_assumed_or_left_open_in_the_sources():
    for file in MECHANIZED.glob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", file.read_text(), flags=re.DOTALL)
        assert not re.search(r"\b(Admitted|Axiom|Parameter|Conjecture|admit|Abort)\b", text), file.name
    listed = {*coq.listed(MECHANIZED)}
    assert listed >= STATED and len(listed) >= LISTED


@needs_coq
def test_every_theorem_is_proved_and_rests_on_nothing(compiled):
    rows = compiled[1]
    assert {row.theorem for row in rows} >= STATED
    assert {row.verdict for row in rows} == {HOLDS}, [row for row in rows if row.verdict != HOLDS]
    assert all(row.seconds > 0 for row in rows)


@needs_coq
def test_make_in_the_folder_does_what_its_readme_says(place):
    """In a copy, in which every file is compiled but for what no listed theorem needs."""
    done = coq.run_in(place, ["make"], coq.TIME_LIMIT)
    assert done.returncode == 0, coq.first_error(done.stderr)
    reals = len(coq.over_the_reals(MECHANIZED))
    assert f"{len(coq.listed(MECHANIZED)) - reals} theorems, closed under the global context" in done.stdout
    assert f"{reals} over the reals of Coq's library" in done.stdout


@needs_coq
@pytest.mark.parametrize(
    ("added", "verdict", "says"),
    [
        ("Theorem planted : 1 = 1. Proof. reflexivity. Qed.", HOLDS, None),
        ("Axiom cheat : 0 = 1.\nTheorem planted : 0 = 1. Proof. exact cheat. Qed.", NO_EVIDENCE, "cheat"),
        ("Theorem planted : 0 = 1. Admitted.", NO_EVIDENCE, "planted"),
        ("Theorem planted : 0 = 1. Proof. reflexivity. Qed.", ERROR, "RealField.v, line 2"),
    ],
    ids=["a proof", "an axiom", "an open proof", "a proof that breaks"],
)
def test_a_theorem_that_is_not_proved_is_not_reported_as_one(tmp_path, added, verdict, says):
    """Asked about together with one that is: which of them is not is said, by the audit and by make."""
    sound = "Theorem sound : True. Proof. exact I. Qed."
    (tmp_path / "RealField.v").write_text(f"{sound}\n{added}\n")
    asked = "From Draftproof Require Import RealField.\nDefinition every_theorem :=\n  let _ := @sound in\n"
    asked += "  let _ := @planted in\n  tt.\nPrint Assumptions every_theorem.\n"
    (tmp_path / "Axioms.v").write_text(asked)
    with coq.workplace(tmp_path) as place:
        proved, found, nowhere = coq.Build(place).check([*coq.listed(place), "nowhere"])
    assert (found.theorem, found.verdict) == ("planted", verdict)
    assert says is None or says in found.detail
    assert (proved.theorem, proved.verdict) == ("sound", ERROR if verdict == ERROR else HOLDS)
    assert nowhere.verdict == ERROR
    done = coq.make(tmp_path, "FILES=RealField", limit=60)
    assert (done.returncode == 0) == (verdict == HOLDS)
    assert ("Print~Assumptions~planted" in done.stdout) == (verdict == NO_EVIDENCE)
    assert "Print~Assumptions~sound" not in done.stdout
    assert not [*tmp_path.glob("*Each*")]


@needs_coq
@pytest.mark.parametrize("axiom", [False, True], ids=["the library's axioms", "an axiom of one's own"])
def test_a_theorem_over_the_reals_rests_on_the_librarys_axioms_alone(tmp_path, axiom):
    """It is so for the one over the reals only: the other one has to be closed."""
    own = "Axiom cheat : 0 = 1.\n" if axiom else ""
    proof = "(conj (classic False) cheat)" if axiom else "(conj (classic False) I)"
    stated = f"(False \\/ ~ False) /\\ {'0 = 1' if axiom else 'True'}"
    (tmp_path / "RealField.v").write_text(
        f"Require Import Classical.\n{own}Theorem closed : True. Proof. exact I. Qed.\n"
        f"Theorem planted : {stated}. Proof. exact {proof}. Qed.\n"
    )
    (tmp_path / "Axioms.v").write_text(
        "From Draftproof Require Import RealField.\nDefinition every_theorem :=\n  let _ := @closed in\n  tt.\n"
        "Print Assumptions every_theorem.\nDefinition over_the_reals :=\n  let _ := @planted in\n  tt.\n"
        "Print Assumptions over_the_reals.\n"
    )
    with coq.workplace(tmp_path) as place:
        closed, planted = coq.Build(place).check(coq.listed(place))
    assert (closed.verdict, planted.verdict) == (HOLDS, NO_EVIDENCE if axiom else HOLDS)
    done = coq.make(tmp_path, "FILES=RealField", limit=60)
    assert (done.returncode != 0) == axiom
    assert ("rests on" in done.stdout and "cheat" in done.stdout) == axiom


@needs_coq
@pytest.mark.broken_proof
@pytest.mark.parametrize(
    ("right", "wrong", "breaks", "untouched"),
    [
        ("if excess b s p + 1 - p == 0 then 1 else excess b s p / (excess b s p + 1 - p).", "excess b s p.",
         "h_blockE", ("token_verify", "greedy_verify")),
        ("if excess b s p == 0 then b y else over b s p y / excess b s p.",
         "if excess b s 1 == 0 then b y else over b s 1 y / excess b s 1.", "residualE", ("token_verify",)),
    ],
    ids=["h without its normaliser", "residual without p_i"],
)  # fmt: skip
def test_a_change_of_the_algorithm_breaks_its_proof_and_its_tie_to_the_code(
    compiled, tmp_path, right, wrong, breaks, untouched
):
    folder = shutil.copytree(compiled[0], tmp_path / "changed")
    text = (folder / "Algorithms.v").read_text()
    assert text.count(right) == 1
    (folder / "Algorithms.v").write_text(text.replace(right, wrong))
    done = coq.make(folder, "Block.vo", limit=300)
    line = int(re.search(r"Block\.v, line (\d+)", coq.first_error(done.stderr))[1])
    stated = re.findall(
        r"^(?:Lemma|Theorem) (\w+)", "\n".join((folder / "Block.v").read_text().split("\n")[:line]), re.M
    )
    assert stated[-1] == breaks
    rows = compare([drawn(3, 2, "generic")], folder=folder)
    assert {row.definition: row.verdict for row in rows} == {
        name: HOLDS if name in untouched else REFUTED for name in ("token_verify", "block_verify", "greedy_verify")
    }


CHANGES = [json.loads(line) for line in Path(__file__).with_name("changes.jsonl").read_text().splitlines()]
"""What is changed in a file: its text before and after. A proof must break, in that file or in the one it breaks."""


@needs_coq
@pytest.mark.broken_proof
@pytest.mark.parametrize("change", CHANGES, ids=[change["what"] for change in CHANGES])
def test_a_change_of_a_statement_breaks_its_proof(compiled, tmp_path, change):
    folder = shutil.copytree(compiled[0], tmp_path / "changed")
    changed, file = folder / f"{change['file']}.v", change.get("breaks", change["file"])
    text = changed.read_text()
    assert text.count(change["right"]) == 1
    changed.write_text(text.replace(change["right"], change["wrong"]))
    done = coq.make(folder, f"{file}.vo", limit=300)
    assert done.returncode != 0
    assert re.search(rf"{file}\.v, line \d+", coq.first_error(done.stderr))


def test_every_file_with_a_theorem_has_a_change_that_must_break_it():
    changed = {change.get("breaks", change["file"]) for change in CHANGES}
    assert len(changed) > 20 and all((MECHANIZED / f"{file}.v").is_file() for file in changed)


@needs_coq
def test_coq_and_python_give_the_same_law_entry_by_entry(place):
    rows = compare(PROBLEMS, folder=place)
    assert [row for row in rows if row.verdict != HOLDS] == []
    assert len(rows) == 3 * len(PROBLEMS)
    compared = {(row.problem, row.compared) for row in rows}
    assert compared == {(p.name, 1 + sum(p.vocabulary**n for n in range(1, p.gamma + 2))) for p in PROBLEMS}


@needs_coq
def test_coq_and_python_give_the_same_text_after_two_iterations(place):
    problems = [toy(2), drawn_markov(2, 2, "mixed"), drawn_markov(3, 1, "mixed")]
    rows = compare(problems, iterations=2, folder=place)
    assert [row for row in rows if row.verdict != HOLDS] == []
    assert len(rows) == 3 * len(problems)
    with pytest.raises(InputError, match="no row for the prefix"):
        compare([drawn(2, 2, "generic")], iterations=2, folder=place)


@needs_coq
def test_a_wrong_verifier_is_not_tied_to_the_definition(place):
    wrong = {
        "token_verify": SAMPLES_TARGET,
        "block_verify": Reference("no-normaliser", partial(longest_sub_block, NO_NORMALISER), "a mutant"),
        "greedy_verify": Reference("uncapped", partial(longest_sub_block, UNCAPPED_GREEDY), "a mutant"),
    }
    rows = compare([drawn(3, 2, "generic")], folder=place, verifiers=wrong)
    assert [(row.definition, row.verdict) for row in rows] == [(name, REFUTED) for name in wrong]
    assert all(re.fullmatch(r"(E\[tau\]|Pr\(.*\)): \S+ in Coq, \S+ in Python", row.detail) for row in rows)


@needs_coq
def test_greedy_block_verification_in_the_wrong_loop_is_not_tied_to_its_own(place):
    plain = reference("greedy-block")._replace(modifies_target=False)
    (row,) = compare([toy(2)], iterations=2, folder=place, verifiers={"greedy_verify": plain})
    assert row.verdict == REFUTED


@needs_coq
def test_a_proof_that_does_not_end_is_ended_and_no_evidence(tmp_path, busy_machine):
    """Its own processor time counts, and neither the other files nor what else the machine does."""
    loop = "Ltac for_ever := idtac; for_ever.\nTheorem endless : True. Proof. for_ever. Qed.\n"
    (tmp_path / "Algorithms.v").write_text(loop)
    (tmp_path / "RealField.v").write_text("Theorem short : True. Proof. exact I. Qed.\n")
    (tmp_path / "Axioms.v").write_text("  let _ := @endless in\n  let _ := @short in\n")
    endless, short = compiled_in(tmp_path, limit=1)
    assert (endless.verdict, endless.detail) == (
        NO_EVIDENCE,
        "time-out: Algorithms.v not done within 1 s of processor time",
    )
    assert short.verdict == HOLDS
    rows = compare([toy(2)], folder=tmp_path, limit=1)
    assert {(row.verdict, row.detail) for row in rows} == {(NO_EVIDENCE, endless.detail)}


@needs_coq
def test_what_waits_for_ever_is_ended_by_the_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(coq, "CLOCK_FACTOR", 1)
    with pytest.raises(subprocess.TimeoutExpired):
        coq.run_in(tmp_path, ["sleep", "60"], limit=1)


def test_where_coq_is_missing_the_reason_is_one_sentence_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert coq.missing().startswith("coqc is not installed; the proofs need Coq 8.16")
    for program in ("coqc", "make"):
        (tmp_path / program).write_text("#!/bin/sh\necho 8.20.1 4.14.1\n")
        (tmp_path / program).chmod(0o755)
    assert re.fullmatch(
        r"the proofs need Coq 8\.16 with MathComp 1\.15 \(Debian: .*\); coqc is 8\.20\.1", coq.missing()
    )
    (tmp_path / "coqc").write_text(f"#!/bin/sh\ncase $1 in -where) echo {tmp_path} ;; *) echo 8.16.1 ;; esac\n")
    assert coq.missing().startswith("Coq is installed without mathcomp/algebra")
    with pytest.raises(RuntimeError, match="without mathcomp"):
        compare([toy(2)], folder=tmp_path / "none")


def test_the_theorems_of_the_example_state_the_numbers_of_the_python_code():
    """Counterexample.v proves by computation what the exact engine counts."""
    text = (MECHANIZED / "Counterexample.v").read_text()
    for name, verifier in (("toy_block", "block"), ("toy_token", "token")):
        found = re.search(rf"Theorem {name} : .* = (\d+)%:R / (\d+)%:R\.", text)
        value = expected_accepted(output_law(in_field(toy(2)), reference(verifier)))
        assert f"{found[1]}/{found[2]}" == str(value)
