"""One list of Coq's files, _CoqProject: what make compiles, what Axioms.v imports, and what each file needs, agree."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from draftproof.corpus import coq
from draftproof.corpus.coq.theorems import THEOREMS
from draftproof.models.digests import MECHANIZED

pytestmark = pytest.mark.skipif(not MECHANIZED.is_dir(), reason="Coq's sources are in the repository, not in the wheel")
MAIN = 35
NOT_ASKED = "Axioms.v does not ask about what it lists"


def listed(folder) -> list[str]:
    return re.findall(r"^(\w+)\.v$", (folder / "_CoqProject").read_text(), re.M)


def disagreements(folder) -> list[str]:
    """What of the folder is not in the list, not imported by Axioms.v, or needed without a rule of the Makefile."""
    names, texts = listed(folder), {file.stem: file.read_text() for file in folder.glob("*.v")}
    needs = {
        name: {
            need for one in re.findall(r"^From Draftproof Require Import ([^.]*)\.", text, re.M) for need in one.split()
        }
        for name, text in texts.items()
    }
    rules = dict(re.findall(r"^(\w+)\.vo: (.+)$", (folder / "Makefile").read_text(), re.M))

    def made_before(name):
        direct = re.findall(r"(\w+)\.vo", rules.get(name, ""))
        return {*direct, *(other for one in direct for other in made_before(one))}

    wrong = [f"{name}.v is not listed" for name in sorted(texts.keys() - {*names})]
    wrong += [f"{name}.v is not there" for name in names if name not in texts]
    wrong += [f"Axioms.v does not import {name}" for name in names if name not in needs["Axioms"] | {"Axioms"}]
    for name in (name for name in names if name in texts and name != "Axioms"):
        wrong += [f"{name}.v needs {need} before it" for need in sorted(needs[name] - made_before(name))]
    every = "\n".join(texts.values())
    theorems = coq.listed(folder)
    reals = coq.over_the_reals(folder)
    asked = ""
    for term, of in (("every_theorem", [one for one in theorems if one not in reals]), ("over_the_reals", reals)):
        lines = "".join(f"  let _ := @{one} in\n" for one in of)
        asked += f"Definition {term} :=\n{lines}  tt.\nPrint Assumptions {term}.\n"
    if not texts["Axioms"].endswith(asked):
        wrong.append(NOT_ASKED)
    for theorem in theorems:
        if not re.search(rf"^(Theorem|Lemma|Corollary|Canonical) {theorem}\b", every, re.M):
            wrong.append(f"no file states {theorem}")
    return wrong


def test_the_list_is_that_of_the_folder_and_axioms_imports_all_of_it():
    assert len(listed(MECHANIZED)) == len({*listed(MECHANIZED)}) > 25
    assert disagreements(MECHANIZED) == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_compiles_what_the_list_has():
    command = ["make", "-s", "--eval", "show:;@echo $(FILES)", "show"]
    shown = subprocess.run(command, cwd=MECHANIZED, capture_output=True, text=True, check=True).stdout
    assert shown.split() == [name for name in listed(MECHANIZED) if name != "Axioms"]


@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    [
        ("_CoqProject", "Block.v\n", "", ["Block.v is not listed"]),
        ("_CoqProject", "Block.v\n", "Block.v\nGone.v\n", ["Gone.v is not there", "Axioms.v does not import Gone"]),
        ("Axioms.v", " Precision ", " ", ["Axioms.v does not import Precision"]),
        ("Axioms.v", "let _ := @lemma_1 in", "let _ := @lemma_11 in", ["no file states lemma_11"]),
        ("Axioms.v", "  let _ := @lemma_1 in", "(*\n  let _ := @lemma_1 in\n*)", [NOT_ASKED]),
        ("Axioms.v", "Print Assumptions every_theorem.", "Print Assumptions lemma_1.", [NOT_ASKED]),
        ("Axioms.v", "Print Assumptions over_the_reals.", "Print Assumptions lemma_1.", [NOT_ASKED]),
        ("Makefile", "Law.vo: Algorithms.vo\n", "", ["Law.v needs Algorithms before it"]),
    ],
    ids=[
        "a file left out",
        "a file that is gone",
        "an import left out",
        "a theorem that is gone",
        "a theorem not asked about",
        "another one asked about",
        "another one asked about over the reals",
        "a rule left out",
    ],
)
def test_a_list_that_does_not_agree_is_noticed(tmp_path, file, right, wrong, said):
    folder = shutil.copytree(MECHANIZED, tmp_path / "folder", ignore=shutil.ignore_patterns("*.vo*", "*.glob", ".*"))
    text = (folder / file).read_text()
    assert text.count(right) == 1
    (folder / file).write_text(text.replace(right, wrong))
    assert disagreements(folder) == said


def test_the_tests_that_need_coq_are_where_make_mechanized_looks():
    here = Path(__file__).parent
    mark = re.compile(r"^ *(pytestmark = |@)?pytest\.mark\.mechanized\b", re.M)
    marked = [file for file in here.parents[1].rglob("test_*.py") if mark.search(file.read_text())]
    assert len(marked) == 2 and {file.parent for file in marked} == {here}


def test_each_theorem_over_the_reals_and_on_underflow_is_one_that_a_claim_rests_on():
    """``draftproof prove`` and the page of statements name them: IEEE formats are not left out."""
    stated = {name for names in THEOREMS.values() for name in names}
    assert {*coq.over_the_reals(MECHANIZED)} <= stated
    assert {"block_absolute", "token_absolute", "list_matching_valid", "coin_shared", "survivals_apart"} <= stated
    assert stated <= {*coq.listed(MECHANIZED)}


def test_main_has_no_section_and_each_of_its_theorems_is_asked_about():
    text, axioms = (MECHANIZED / "Main.v").read_text(), coq.listed(MECHANIZED)
    theorems = re.findall(r"^Theorem (\w+)", text, re.M)
    assert len(theorems) == MAIN
    assert not re.search(r"^ *(Section|Variables?|Hypothes[ie]s|Context|Let)\b", text, re.M)
    assert [name for name in theorems if name not in axioms] == []
