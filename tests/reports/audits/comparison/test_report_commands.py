"""The commands draftproof report diff and show, their statuses, badges and JUnit."""

import json
import xml.etree.ElementTree as ET

import pytest

from draftproof.reports.pages.junit import junit
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.golden import golden
from draftproof.tests.reports.report_parts import GOOD, WITNESS, item, report_on
from draftproof.verifiers.evidence import NO_EVIDENCE, REFUTED

pytestmark = pytest.mark.exact


def test_the_commands_end_with_the_statuses_of_the_contract(tmp_path):
    wrong = report_on(
        item(REFUTED, witness=WITNESS, replay="draftproof audit f"), item(problem="q"), item(claim="optimal")
    )
    for name, made in (("good", GOOD), ("wrong", wrong)):
        (tmp_path / f"{name}.json").write_text(made.text())

    def run(*words):
        return draftproof("report", *words, cwd=tmp_path)

    assert run("diff", "good.json", "good.json").status == 0
    status, shown, _ = run("diff", "good.json", "wrong.json", "--json", "changes.json")
    assert (status, "worse    lossless, float64 on p: lattice -> refuted" in shown) == (1, True)
    assert json.loads((tmp_path / "changes.json").read_text())["counts"]["worse"] == 1
    assert run("show", "wrong.json", "--junit", "junit.xml", "--badge", "b.svg", "--date", "2026-01-01").status == 1
    assert "draftproof: refuted, 2026-01-01" in (tmp_path / "b.svg").read_text()
    cases = ET.parse(tmp_path / "junit.xml").iter("testcase")
    assert [case[0].tag if len(case) else "passed" for case in cases] == ["failure", "passed"]
    refused = run("diff", "good.json", "junit.xml")
    assert (refused.status, len(refused.lines)) == (2, 1)


CHECK = {"subject": "f", "version": "v", "check": "p", "current": True, "state": "alarm", "detects": None}
HISTORY = {"checks": [CHECK], "state": "quiet", "failures": [], "lifetime_alpha": 1e-3, "scope": None, "history": "h"}
MISSING = {"judged": [{"id": "v1", "status": "missing"}], "vectors": "d", "program": "p", "dtype": "float32"}
ROWS = [{"claim": "lemma-1", "method": "coq", "what": "w", "size": "s", "verdict": "no-evidence"}]
FAILED = HISTORY | {"checks": [], "failures": [{"subject": "g", "message": "m"}]}
DOCUMENT = golden("compliance")
ALONE = DOCUMENT | {"requirements": DOCUMENT["requirements"][:1], "verdict": "met"}
DAY = ("--date", "2026-01-01")


@pytest.mark.parametrize(
    ("data", "words", "status", "label"),
    [
        (HISTORY, (), 2, None),
        (GOOD.as_json(), ("--date", "proved for all models"), 2, None),
        (MISSING, DAY, 3, "error, 2026-01-01"),
        (FAILED, DAY, 3, "error, 2026-01-01"),
        (ROWS, DAY, 0, "open, 2026-01-01"),
        (GOOD.as_json() | {"date": "forever"}, DAY, 0, "not refuted on 2 problems (V to 2), 2026-01-01"),
        (DOCUMENT, (), 1, "refuted, 2026-01-01"),
        (DOCUMENT | {"verdict": "met"}, (), 2, None),
        # a part that failed, and one that is refuted, which nothing requires
        (ALONE, (), 3, "met, 2026-01-01"),
    ],
)
def test_what_is_shown_is_what_the_evidence_gives_and_a_badge_says_no_more(data, words, status, label, tmp_path):
    (tmp_path / "one.json").write_text(json.dumps(data))
    done = draftproof("report", "show", "one.json", "--badge", "badge.svg", *words, cwd=tmp_path)
    badge = tmp_path / "badge.svg"
    shown = ET.parse(badge).getroot().get("aria-label") if badge.exists() else None
    assert (done.status, shown) == (status, label and f"draftproof: {label}"), done.err


@pytest.mark.parametrize(
    ("made", "outcomes"),
    [
        (report_on(item(NO_EVIDENCE), item(REFUTED, claim="optimal")), ["skipped", "skipped"]),
        (report_on(failure={"kind": "crash", "message": "boom"}), ["error", "error"]),
        (report_on(item(claim="support")), ["passed", "error"]),  # lossless was not examined
    ],
)
def test_junit_has_no_pass_without_evidence_that_holds(made, outcomes):
    cases = ET.fromstring(junit(made)).iter("testcase")
    assert [case[0].tag if len(case) else "passed" for case in cases] == outcomes
