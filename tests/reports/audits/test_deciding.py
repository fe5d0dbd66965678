"""A verdict speaks of what was decided: wide problems on which nothing is are left out by name, and of nothing else."""

import json

import pytest

from draftproof.models.wide import wide
from draftproof.proofs.laws.wide_law import WideMeasurement
from draftproof.reports.audits.report import Report
from draftproof.reports.commands.exit_status import of_verdict
from draftproof.reports.pages.junit import junit
from draftproof.reports.pages.page import page
from draftproof.reports.pages.plain_words import plain_sentence
from draftproof.reports.pages.sarif import sarif
from draftproof.reports.pages.summary import in_brief, summaries
from draftproof.reports.testing.checks import run_check
from draftproof.tests.reports.audits.test_scope import law, report_of, shown
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.report_schema import validate
from draftproof.verifiers.evidence import NO_EVIDENCE, REFUTED, Method
from draftproof.verifiers.verdicts import ReportVerdict

pytestmark = pytest.mark.exact
WIDE = {"ids_called": 9, "fewest_ids_of_a_row": 9, "mass_not_called": 0.1, "allowed_to_look_ups": 0.0,
        "look_ups_explained": 0.0}  # fmt: skip
SMALL, DECIDED = law("a"), law("b", vocabulary=5003, **WIDE)
MANY_WAYS = law("c", NO_EVIDENCE, vocabulary=32000, reason="it has more than 300 ways", out_of_scope=True)
SAMPLED = law("c", NO_EVIDENCE, vocabulary=32000, method=Method.CHI_SQUARE, bound=0.2, out_of_scope=True)
READING = (
    "holds: not refuted on 2 problems (V to 5003), exactly; not decided on 1 (V = 32,000: it has more than 300 ways)"
)


def test_a_problem_that_is_not_decided_for_its_time_is_left_out_wherever_the_verdict_is_said(tmp_path):
    report = report_of(SMALL, DECIDED, MANY_WAYS, SAMPLED)
    assert (report.verdict, report.reading) == ("holds", READING)
    assert (report.scope.problems, report.scope.vocabularies) == (2, [2, 5003])
    assert "not decided on 1 (V = 32,000" in report.scope.says and "1 sampled (V = 32000" in report.scope.says
    assert "c (V = 32000, gamma = 1): not decided, it has more than 300 ways" in report.not_examined
    assert "On 1 more of up to 32,000 tokens nothing is decided" in plain_sentence(report)
    assert READING.removeprefix("holds: ") in " ".join(shown(report).split()) and READING in page(report)
    (run,) = sarif(report)["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "not decided on 1 (V = 32,000" in note["message"]["text"] and run["properties"]["reading"] == READING
    rows = [(row.verdict, row.problems) for row in summaries(report)]
    assert rows[:2] == [("holds", "2 of 2"), ("no-evidence", "1 of 1")]
    assert junit(report).count("<skipped") == 2 and READING in junit(report)
    run_check(report, "lossless")
    validate(json.loads(json.dumps(report.as_json())))
    again = Report.from_json(json.loads(report.text()))
    assert (again.verdict, again.reading, again.scope) == (report.verdict, READING, report.scope)
    (tmp_path / "r.json").write_text(report.text())
    words = "report", "show", "r.json", "--badge", "b.svg"
    assert [draftproof(*words, *more, cwd=tmp_path).status for more in ((), ("--require-decision",))] == [0, 4]
    assert in_brief(report) == "not refuted on 2 problems (V to 5003); 1 not decided"
    assert in_brief(report) in (tmp_path / "b.svg").read_text()


def test_what_is_decided_altogether_reads_and_exits_as_before():
    report = report_of(SMALL, DECIDED)
    assert report.reading == "holds: not refuted on 2 problems (V to 5003), exactly"
    assert in_brief(report) == "not refuted on 2 problems (V to 5003)" and report.scope.not_decided == []
    assert of_verdict(report.verdict, True) == 0 and of_verdict("inconclusive", True, True) == 4
    assert of_verdict("refuted", True, True) == 1 and of_verdict("error", True, True) == 3


OF_FLOAT32 = law("a", dtype="float32"), law("c", NO_EVIDENCE, 32000, dtype="float32", out_of_scope=True)


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param([SMALL, DECIDED, law("c", NO_EVIDENCE, 32000, reason="it keeps state")], id="seen, not neutral"),
        pytest.param([SMALL, DECIDED, MANY_WAYS, law("d", NO_EVIDENCE, reason="too long")], id="a small problem too"),
        pytest.param([SMALL, MANY_WAYS], id="no wide problem is decided"),
        pytest.param([MANY_WAYS], id="nothing is decided"),
        pytest.param([SMALL, DECIDED, *OF_FLOAT32], id="no wide problem in that precision"),
    ],
)
def test_a_verdict_is_given_by_no_less_than_the_least(evidence):
    report = report_of(*evidence)
    assert report.verdict == "inconclusive" and report.reading.startswith("inconclusive: nothing decided on")
    with pytest.raises(AssertionError, match="no proof of lossless"):
        run_check(report, "lossless")


def test_a_refutation_or_a_failure_decides_whatever_is_left_out():
    refuted = report_of(SMALL, DECIDED, MANY_WAYS, law("c", REFUTED, 32000, method=Method.CHI_SQUARE, bound=0.2))
    assert (refuted.verdict, refuted.scope.not_decided) == ("refuted", [])
    failed = report_of(SMALL, DECIDED, MANY_WAYS)
    failed.fail("crash", "it ended")
    assert failed.verdict == "error"


def test_a_law_that_is_withdrawn_for_what_was_seen_is_not_left_out():
    slow = WideMeasurement(wide(9, 1), reason="it has more than 300 ways", unknown=1.0, out_of_scope=True)
    assert slow.facts()["out_of_scope"] is True
    assert not slow.withdrawn("it keeps state").out_of_scope


def test_a_badge_is_green_for_the_whole_battery_alone(tmp_path):
    """Not for a quick audit, for problems given by hand, or with problems left undecided."""
    given = {"all": {}, "quick": {"quick": True}, "given": {"problems": {"a": "0"}}, "undecided": {}}
    for name, how in given.items():
        report = report_of(SMALL, DECIDED, *([MANY_WAYS] if name == "undecided" else []), **how)
        (tmp_path / "r.json").write_text(report.text())
        draftproof("report", "show", "r.json", "--badge", "b.svg", cwd=tmp_path)
        drawn = (tmp_path / "b.svg").read_text()
        assert (ReportVerdict.HOLDS.badge in drawn, "#55555a" in drawn) == (name == "all", name != "all")
        assert "not refuted on" in drawn
