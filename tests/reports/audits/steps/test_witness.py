"""The smallest witness of a recording: `draftproof audit --problem` refutes the mutant on it, and not the rule."""

import json

import pytest

from draftproof.tests.reports.commands.in_process import draftproof as run
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS, TREE_CONTROLS, TREE_MUTANTS

from .recordings import record
from .tree_recordings import record_trees

pytestmark = pytest.mark.usefixtures("brief_audits")


@pytest.mark.parametrize(
    ("name", "right", "rule", "steps"),
    [
        ("M11", "C10", "token", 40),
        pytest.param("M51", "C10", "token", 60, marks=pytest.mark.long),
        pytest.param("M37", "C04", "block", 200, marks=pytest.mark.long),
    ],
)
def test_the_audit_refutes_the_mutant_on_its_witness_and_not_the_rule(name, right, rule, steps, tmp_path):
    record(tmp_path / "steps", name, steps=steps, rule=rule, gamma=2)
    assert run("steps", tmp_path / "steps", "--jobs", 1, "--witness", tmp_path / "witness.json").status == 1
    written = json.loads((tmp_path / "witness.json").read_text())
    about = written["about"]
    assert about["recorded"].startswith("steps-00000") and "drafted tokens, then token" in about["recorded"]
    assert about["behaves_like"][0]["name"] == name or about["behaves_like"][0]["title"]
    kept = [entry for entry in about["laws"] if entry["sequence"].endswith(" kept")]
    for law in ("expected", "observed"):
        assert sum(float(entry[law]) for entry in kept if "given" not in entry["sequence"]) == pytest.approx(
            1, abs=2e-3
        )
    wrong, fine = (
        run("audit", where[entry].target, "--problem", tmp_path / "witness.json", "--dtype", "float64")
        for where, entry in ((MUTANTS, name), (CONTROLS, right))
    )
    assert (wrong.status, fine.status) == (1, 0), wrong.out + fine.out


def test_only_the_places_that_matter_are_kept(tmp_path):
    record(tmp_path / "steps", "M11", steps=40, gamma=5)
    run("steps", tmp_path / "steps", "--jobs", 1, "--witness", tmp_path / "witness.json")
    written = json.loads((tmp_path / "witness.json").read_text())
    assert written["gamma"] == 1 and written["vocabulary"] <= 4


def test_where_nothing_refutes_no_problem_is_written(tmp_path):
    record(tmp_path / "right", steps=40, gamma=2)
    right = run("steps", tmp_path / "right", "--witness", tmp_path / "right.json")
    assert right.status == 0 and not (tmp_path / "right.json").exists() and "no step of a chain refutes" in right.out


@pytest.mark.parametrize(
    ("name", "right", "rule", "how", "parents"),
    [
        ("T01", "D01", "spec-infer", IID, (-1, -1)),
        pytest.param("T05", "D01", "spec-infer", WITHOUT_REPLACEMENT, (-1, -1, 0, 1), marks=pytest.mark.long),
        pytest.param("T07", "D02", "without-replacement", WITHOUT_REPLACEMENT, (-1, -1, 0), marks=pytest.mark.long),
        pytest.param("T09", "D04", "naive", TOP, (-1, -1, 0, 0), marks=pytest.mark.long),
        pytest.param("T11", "D06", "traversal", IID, (-1, -1, 0, 0), marks=pytest.mark.long),
    ],
)
def test_the_audit_refutes_a_mutant_of_trees_on_its_witness_and_not_the_rule(name, right, rule, how, parents, tmp_path):
    record_trees(tmp_path / "steps", name, 60 if name == "T01" else 200, rule, how, parents=parents)
    assert run("steps", tmp_path / "steps", "--jobs", 1, "--witness", tmp_path / "witness.json").status == 1
    written = json.loads((tmp_path / "witness.json").read_text())
    assert written["drafting"]["how"] == how and len(written["drafting"]["parents"]) <= len(parents)
    wrong, fine = (
        run("audit", entry.target, "--problem", tmp_path / "witness.json", "--dtype", "float64")
        for entry in (TREE_MUTANTS[name], TREE_CONTROLS[right])
    )
    assert (wrong.status, fine.status) == (1, 0), wrong.out + fine.out


def test_a_tree_that_is_too_large_or_drawn_in_no_known_way_is_no_problem(tmp_path):
    record_trees(tmp_path / "steps", "T11", 60, "traversal", IID)
    done = run("steps", tmp_path / "steps", "--jobs", 1, "--witness", tmp_path / "witness.json")
    assert done.status == 1 and not (tmp_path / "witness.json").exists()
