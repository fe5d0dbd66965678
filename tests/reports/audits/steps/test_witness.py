"""The smallest witness of a recording: `draftproof audit --problem` refutes the mutant on it, and not the rule."""

import json

import pytest

from draftproof.tests.reports.commands.in_process import draftproof as run
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS

from .recordings import record


@pytest.mark.parametrize(
    ("name", "right", "rule", "steps"),
    [
        ("M11", "C10", "token", 40),
        ("M51", "C10", "token", 60),
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
