"""The report: its verdict, its form, the earlier version of that form; and the runner that fills it."""

import copy
import json
from importlib.resources import files

import pytest
from jsonschema import ValidationError

from draftproof.models.errors import InputError, RunFailed
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.runner import examine
from draftproof.reports.pages.page import page
from draftproof.reports.pages.summary import run_lines, summaries
from draftproof.tests.reports.report_schema import validate
from draftproof.verifiers.details import LawDetail
from draftproof.verifiers.evidence import (
    ERROR,
    HOLDS,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    Evidence,
    LawEntry,
    Method,
    Witness,
    merge_verdicts,
)

pytestmark = pytest.mark.exact

WITNESS = Witness(sequence="0", expected="2/3", observed="11/18", problem={"vocabulary": 2})


def item(verdict=HOLDS, claim="lossless", **fields):
    return Evidence(claim=claim, method=Method.INTERCEPTION, verdict=verdict, **fields)


def report_of(*evidence, claims=("lossless",)):
    report = Report({"name": "f", "source": "f.py", "digest": "unknown", "dtypes": ["float64"]}, claims)
    report.add(evidence)
    return report


def old(name):
    return json.loads((files("draftproof.tests.reports.audits") / "reports_1_0" / f"{name}.json").read_text("utf-8"))


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("verdicts", "merged"),
    [
        ([HOLDS, NO_EVIDENCE, REFUTED], REFUTED),
        ([HOLDS, ERROR, NO_EVIDENCE], ERROR),
        ([HOLDS, NO_EVIDENCE], NO_EVIDENCE),
        ([HOLDS, NOT_CLAIMED], NOT_CLAIMED),
        ([HOLDS, HOLDS], HOLDS),
        ([], NO_EVIDENCE),
    ],
)
def test_the_worst_verdict_decides_and_nothing_is_no_evidence(verdicts, merged):
    assert merge_verdicts(verdicts) == merged


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ([], "inconclusive"),
        ([item()], "holds"),
        ([item(), item(NOT_CLAIMED)], "holds"),
        ([item(NOT_CLAIMED)], "inconclusive"),
        ([item(), item(NO_EVIDENCE)], "inconclusive"),
        ([item(), item(REFUTED)], "refuted"),
        ([item(), item(REFUTED, claim="support")], "holds"),
        ([item(), item(ERROR)], "inconclusive"),
    ],
)
def test_the_verdict_of_a_report_is_that_of_the_deciding_claims(evidence, verdict):
    assert report_of(*evidence).verdict == verdict


def test_a_failure_is_an_error_unless_something_is_refuted():
    for evidence, verdict in ((item(), "error"), (item(REFUTED), "refuted")):
        report = report_of(evidence)
        report.fail("crash", "it crashed")
        assert report.verdict == verdict
    assert report_of(item(claim="support"), claims=("support",)).verdict == "holds"


def test_the_smallest_witness_is_shown_first_and_then_the_shortest_problem():
    long, short = (item(REFUTED, witness=Witness(**vars(WITNESS) | {"problem": {"vocabulary": v}})) for v in (1000, 2))
    smallest = item(REFUTED, witness=Witness(**vars(WITNESS) | {"problem": {"vocabulary": 10**9}, "smallest": True}))
    assert report_of(long, short).shown_refutation() is short
    assert report_of(long, short, smallest).shown_refutation() is smallest
    assert report_of(item()).shown_refutation() is None


# ---------------------------------------------------------------- the runner


class Part:
    def __init__(self, error=None):
        self.error, self.measured = error, 0

    def run(self):
        self.measured = 3
        if self.error:
            raise self.error

    def evidence(self, complete):
        return [item(HOLDS if complete else NO_EVIDENCE, detail=LawDetail(paths=self.measured))]


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RunFailed("timeout", "not done within 3 s"), {"kind": "timeout", "message": "not done within 3 s"}),
        (MemoryError("too large"), {"kind": "memory", "message": "too large (take less)"}),
        (
            KeyboardInterrupt(),
            {"kind": "interrupted", "message": "interrupted; what was measured before is in the report"},
        ),
    ],
)
def test_what_was_measured_before_a_failure_is_in_the_report_and_nothing_is_run_after_it(error, failure):
    report, last = report_of(), Part()
    assert not examine(report, [Part(), Part(error), last], " (take less)")
    assert [(e.verdict, e.law.paths) for e in report.evidence] == [(HOLDS, 3), (NO_EVIDENCE, 3)]
    assert (report.failure, report.verdict, last.measured) == (failure, "error", 0)
    assert report.interrupted == isinstance(error, KeyboardInterrupt)


def test_a_bug_of_our_own_is_not_taken_for_a_failure_of_the_subject():
    with pytest.raises(ZeroDivisionError):
        examine(report_of(), [Part(ZeroDivisionError())])


# ---------------------------------------------------------------- the form


def test_a_report_is_read_back_as_it_was_written():
    witness = Witness(**vars(WITNESS) | {"laws": (LawEntry("0", "2/3", "11/18"),), "prefixes": (("0", 0.5, 0.25),)})
    report = report_of(item(REFUTED, witness=witness, replay="draftproof audit f", total_variation=0.25))
    report.fail("crash", "it crashed")
    report.notice({"nan": "computes with NaN"})
    validate(report.as_json())
    again = Report.from_json(json.loads(report.text()))
    assert again == report
    assert again.text() == report.text()


@pytest.mark.parametrize("name", ["audit", "e2e", "campaign"])
def test_reports_of_version_1_are_read(name):
    data = old(name)
    before = copy.deepcopy(data)
    report = Report.from_json(data)
    assert data == before, "what was read is left as it was"
    assert (report.verdict, report.seed) == (data["verdict"], data["seed"])
    assert [(e.claim, e.method, e.verdict) for e in report.evidence] == [
        (e["claim"], e["method"], e["verdict"]) for e in data["evidence"]
    ]
    validate(report.as_json())
    assert data["subject"]["name"] in page(report)


def test_of_version_1_the_smallest_witness_is_found_and_the_table_is_the_same():
    report, run = Report.from_json(old("audit")), Report.from_json(old("e2e"))
    assert (report.smallest.problem, report.smallest.witness.expected) == ("plain-shrunk", "2/3")
    assert report.shown_refutation() is report.smallest
    columns = {(e["claim"], e["method"]): e["detail"] for e in old("e2e")["evidence"]}
    for row, (claim, method) in zip(
        summaries(run), dict.fromkeys((e.claim, e.method) for e in run.evidence), strict=True
    ):
        if method not in ("forward-pass", "warp"):  # of two models, in one row
            assert (row.how, row.worst, row.limit) == tuple(
                columns[claim, method][c] for c in ("how", "worst", "limit")
            )
    assert run.end_to_end.setting["mutant"] == "L03"
    assert all(" --defect " not in (e.replay or "") for e in run.evidence)


@pytest.mark.parametrize(("name", "value"), [("bound", "1/3"), ("bound", -1), ("total_variation", [])])
def test_a_deviation_or_a_bound_that_is_no_number_is_refused_with_its_place(name, value):
    data = json.loads(report_of(item(), item()).text())
    data["evidence"][1][name] = value
    with pytest.raises(InputError, match=rf"evidence\[1\]\.{name}: .*expected null, or a number"):
        Report.from_json(data)


def test_a_convention_that_is_null_is_refused():
    data = json.loads(report_of(item()).text())
    data["subject"]["convention"] = None
    with pytest.raises(InputError, match=r"subject\.convention: expected object, got null"):
        Report.from_json(data)


@pytest.mark.parametrize("missing", ["confidence", "wall_clock_speedup", "wall_clock_speedup_interval"])
def test_figures_of_a_run_that_are_missing_are_not_shown(missing):
    data = old("e2e")
    del data["end_to_end"]["figures"][missing]
    assert page(Report.from_json(data))
    assert dict(run_lines(Report.from_json(data)))["block efficiency"].startswith("2.29 tokens")


@pytest.mark.parametrize("version", ["3.0", None])
def test_a_version_that_is_not_known_is_refused(version):
    with pytest.raises(InputError, match=r"expected 2\.2, 2\.1, 2\.0 or 1\.0"):
        Report.from_json(old("audit") | {"schema_version": version})


@pytest.mark.parametrize("change", [{"smallest": None}, {"worst": "TV 1"}, {"expected": 0.5}])
def test_the_schema_refuses_other_witnesses(change):
    data = report_of(item(REFUTED, witness=WITNESS)).as_json()
    data["evidence"][0]["witness"] |= change
    with pytest.raises(ValidationError):
        validate(data)
