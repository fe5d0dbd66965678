"""make controls: goes on where it was ended, and one refuted control is a failure."""

import sys

import pytest

from draftproof.benchmarks import controls
from draftproof.tests.reports.golden import golden_report

pytestmark = pytest.mark.interception


def test_a_refuted_control_is_exit_status_1_and_what_is_done_is_not_done_again(monkeypatch, capsys, tmp_path):
    made = []

    def kept(subject, problems, **settings):
        made.append((settings["seed"], [problem.name for problem in problems]))
        return golden_report(subject)

    def main(*arguments):
        words = ["controls.py", "--workers", "1", "--file", str(tmp_path / "rows.jsonl"), *arguments]
        monkeypatch.setattr(sys, "argv", words)
        made.clear()
        with pytest.raises(SystemExit) as ended:
            controls.main()
        return ended.value.code, len(made)

    monkeypatch.setattr(controls, "audit", kept)
    monkeypatch.setattr(controls, "SUBJECTS", {"right": "right", "wrong": "wrong"})
    assert main("--seeds", "2", "--only", "right") == (0, 2)
    assert made[0] == (0, []), "the first is a whole audit"
    assert made[1][0] == 1 and len(made[1][1]) == 7 and all("seed1" in name for name in made[1][1]), "its own problems"
    assert "2 audits of 1 controls: 2 holds; false alarms: 0" in capsys.readouterr().out
    assert main("--seeds", "2") == (1, 2), "those of the right one are in the file"
    assert "false alarms: 2" in capsys.readouterr().out
    monkeypatch.setattr(controls, "digest", lambda: "0" * 64)
    assert main("--seeds", "1", "--only", "right")[1] == 1, "rows of other code do not count"
    ways = {name: {problem.tree.how for problem in controls.own(name, 2)} for name in ("D01", "D05")}
    assert ways["D05"] == {"iid"} < ways["D01"]
