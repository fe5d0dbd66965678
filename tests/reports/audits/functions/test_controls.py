"""make controls: goes on where it was ended, and one refuted control is a failure."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

import draftproof
from draftproof.models.battery import toy
from draftproof.reports.audits.api import audit

pytestmark = pytest.mark.interception
FILE = Path(draftproof.__file__).parent / "benchmarks" / "controls.py"


@pytest.fixture
def controls(monkeypatch, tmp_path):
    """The script with two controls and one problem; main(*arguments): its exit status, and the audits it made."""
    spec = importlib.util.spec_from_file_location("controls_script", FILE)
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = []
    once = cache(lambda subject: audit(subject, [toy(1)], explain=False, levels=("statistical",), samples=2000))

    def quickly(subject, problems, **settings):
        made.append((settings["seed"], [problem.name for problem in problems]))
        return once(subject)

    subjects = "draftproof.tests.subjects.regions"
    monkeypatch.setattr(script, "audit", quickly)
    monkeypatch.setattr(
        script, "SUBJECTS", {"right": f"{subjects}:right", "wrong": f"{subjects}:thrown_away_everywhere"}
    )

    def main(*arguments):
        monkeypatch.setattr(
            sys, "argv", ["controls.py", "--workers", "1", "--file", str(tmp_path / "rows.jsonl"), *arguments]
        )
        made.clear()
        with pytest.raises(SystemExit) as ended:
            script.main()
        return ended.value.code, [*made]

    main.own, main.change_code = script.own, lambda: monkeypatch.setattr(script, "digest", lambda: "0" * 64)
    return main


def test_a_refuted_control_is_exit_status_1_and_what_is_done_is_not_done_again(controls, capsys):
    status, made = controls("--seeds", "2", "--only", "right")
    assert (status, len(made)) == (0, 2)
    assert made[0] == (0, []), "the first is a whole audit"
    assert made[1][0] == 1 and len(made[1][1]) == 7 and all("seed1" in name for name in made[1][1]), "its own problems"
    assert "2 audits of 1 controls: 2 inconclusive; false alarms: 0" in capsys.readouterr().out
    status, made = controls("--seeds", "2")
    assert (status, len(made)) == (1, 2), "those of the right one are in the file"
    assert "false alarms: 2" in capsys.readouterr().out
    controls.change_code()
    assert len(controls("--seeds", "1", "--only", "right")[1]) == 1, "rows of other code do not count"


def test_of_further_seeds_a_control_of_trees_is_given_trees_of_the_ways_it_is_meant_for(controls):
    ways = {name: {problem.tree.how for problem in controls.own(name, 2)} for name in ("D01", "D05")}
    assert ways["D05"] == {"iid"} < ways["D01"]
