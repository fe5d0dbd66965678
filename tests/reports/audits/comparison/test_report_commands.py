"""The commands draftproof report diff, merge and show, their statuses, badges and JUnit."""

import json
import xml.etree.ElementTree as ET

import pytest

from draftproof.reports.audits.report import Report
from draftproof.reports.commands.main import main
from draftproof.reports.pages.junit import junit
from draftproof.tests.reports.audits.comparison.comparison_parts import GOOD, WITNESS, item, report
from draftproof.verifiers.evidence import (
    NO_EVIDENCE,
    REFUTED,
)

pytestmark = pytest.mark.exact


def test_the_commands_end_with_the_statuses_of_the_contract(tmp_path, monkeypatch, capsys):
    wrong = report(
        item(REFUTED, witness=WITNESS, replay="draftproof audit f"), item(problem="q"), item(claim="optimal")
    )
    for name, made in (("good", GOOD), ("wrong", wrong), ("other", report(item(problem="z")))):
        (tmp_path / f"{name}.json").write_text(made.text())
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["draftproof", "report", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    assert run("diff", "good.json", "good.json")[0] == 0
    status, shown = run("diff", "good.json", "wrong.json", "--json", "changes.json")
    assert (status, "worse    lossless, float64 on p: lattice -> refuted" in shown.out) == (1, True)
    assert json.loads((tmp_path / "changes.json").read_text())["counts"]["worse"] == 1
    assert run("merge", "good.json", "other.json", "--out", "whole.json")[0] == 0
    assert len(Report.from_json(json.loads((tmp_path / "whole.json").read_text())).evidence) == 3
    assert run("show", "wrong.json", "--junit", "junit.xml", "--badge", "badge.svg", "--date", "2026-01-01")[0] == 1
    assert "draftproof: refuted, 2026-01-01" in (tmp_path / "badge.svg").read_text()
    assert [case[0].tag if len(case) else "passed" for case in ET.parse("junit.xml").iter("testcase")] == [
        "failure",
        "passed",
    ]
    status, shown = run("diff", "good.json", "junit.xml")
    assert (status, shown.err.count("\n")) == (2, 1)


def test_what_is_shown_is_what_the_evidence_gives_and_a_badge_says_no_more(tmp_path, monkeypatch, capsys):
    """A verdict or a state that was edited, a date that is none, answers that are missing, subjects that could not be
    drawn from."""
    monkeypatch.chdir(tmp_path)
    check = {"subject": "f", "version": "v", "check": "p", "current": True, "state": "alarm", "detects": None}
    history = {
        "checks": [check],
        "state": "quiet",
        "failures": [],
        "lifetime_alpha": 1e-3,
        "scope": None,
        "history": "h",
    }
    missing = {"judged": [{"id": "v1", "status": "missing"}], "vectors": "d", "program": "p", "dtype": "float32"}
    rows = [{"claim": "lemma-1", "method": "coq", "what": "w", "size": "s", "verdict": "no-evidence"}]
    failed = history | {"checks": [], "failures": [{"subject": "g", "message": "m"}]}

    def show(data, *words):
        (tmp_path / "one.json").write_text(json.dumps(data))
        monkeypatch.setattr("sys.argv", ["draftproof", "report", "show", "one.json", "--badge", "badge.svg", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        written = tmp_path / "badge.svg"
        label = ET.parse(written).getroot().get("aria-label") if written.exists() else None
        written.unlink(missing_ok=True)
        return ended.value.code, label, shown.err

    assert show(history)[:2] == (2, None)
    assert show(GOOD.as_json(), "--date", "proved for all models")[:2] == (2, None)
    assert show(missing, "--date", "2026-01-01")[:2] == (3, "draftproof: error, 2026-01-01")
    assert show(failed, "--date", "2026-01-01")[:2] == (3, "draftproof: error, 2026-01-01")
    assert show(rows, "--date", "2026-01-01")[:2] == (0, "draftproof: open, 2026-01-01")
    assert show(GOOD.as_json() | {"date": "forever"}, "--date", "2026-01-01")[1] == (
        "draftproof: not refuted on 2 problems (V to 2), 2026-01-01"
    )
    empty = {
        "title": "t",
        "date": "2026-01-01",
        "plan": {},
        "draftproof": {"code": "c"},
        "format": "draftproof-compliance-1",
    }
    status, label, error = show(empty | {"requirements": [], "parts": [], "verdict": "met"})
    met = empty | {
        "verdict": "open",
        "requirements": [],
        "parts": [
            {
                "id": "a",
                "kind": "audit",
                "options": {},
                "state": "done",
                "why": None,
                "recorded": False,
                "files": {},
                "versions": {},
                "report": report(item(), item(REFUTED, claim="optimal"), findings={"array": "torch"}).as_json(),
            }
        ],
    }
    assert show(met)[:2] == (0, "draftproof: open, 2026-01-01"), "a part's claim that nothing requires decides nothing"
    assert (status, label) == (2, None) and "says met, and its evidence gives open" in error


def test_junit_has_no_pass_without_evidence_that_holds():
    cases = ET.fromstring(junit(report(item(NO_EVIDENCE), item(REFUTED, claim="optimal")))).iter("testcase")
    assert [case[0].tag for case in cases] == ["skipped", "skipped"]
    failed = ET.fromstring(junit(report(failure={"kind": "crash", "message": "boom"})))
    assert [case[0].tag for case in failed.iter("testcase")] == ["error", "error"]
    other = ET.fromstring(junit(report(item(claim="support"))))
    assert [len(case) and case[0].tag for case in other.iter("testcase")] == [0, "error"], "lossless was not examined"
