"""The report: its verdict, its form, what stands next to a verdict; and the runner that fills it."""

import json

import pytest
from jsonschema import ValidationError

from draftproof.models.errors import InputError, RunFailed
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.runner import examine
from draftproof.tests.reports.golden import golden, golden_report
from draftproof.tests.reports.report_parts import WITNESS, item, report_on
from draftproof.tests.reports.report_schema import SCHEMA, VALIDATOR, validate
from draftproof.verifiers.evidence import (
    ERROR,
    HOLDS,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    LawEntry,
    Witness,
    merge_verdicts,
)

pytestmark = pytest.mark.exact


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
    ("evidence", "failed", "verdict"),
    [
        ([], False, "inconclusive"),
        ([item()], False, "holds"),
        ([item(), item(NOT_CLAIMED)], False, "holds"),
        ([item(NOT_CLAIMED)], False, "inconclusive"),
        ([item(), item(NO_EVIDENCE)], False, "inconclusive"),
        ([item(), item(REFUTED)], False, "refuted"),
        ([item(), item(REFUTED, claim="support")], False, "holds"),
        ([item(), item(ERROR)], False, "inconclusive"),
        ([item()], True, "error"),
        ([item(REFUTED)], True, "refuted"),
    ],
)
def test_the_verdict_of_a_report_is_that_of_the_deciding_claims(evidence, failed, verdict):
    report = report_on(*evidence)
    if failed:
        report.fail("crash", "it crashed")
    assert report.verdict == verdict
    assert report_on(*evidence, item(claim="support"), claims=("support",)).verdict in ("holds", "refuted")


def test_the_smallest_witness_is_shown_first_and_then_the_shortest_problem():
    long, short = (item(REFUTED, witness=Witness(**vars(WITNESS) | {"problem": {"vocabulary": v}})) for v in (1000, 2))
    smallest = item(REFUTED, witness=Witness(**vars(WITNESS) | {"problem": {"vocabulary": 10**9}, "smallest": True}))
    assert report_on(long, short).shown_refutation() is short
    assert report_on(long, short, smallest).shown_refutation() is smallest
    assert report_on(item()).shown_refutation() is None


class Part:
    def __init__(self, error=None):
        self.error, self.measured = error, 0

    def run(self):
        self.measured = 3
        if self.error:
            raise self.error

    def evidence(self, complete):
        return [item(HOLDS if complete else NO_EVIDENCE, detail={"paths": self.measured})]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (RunFailed("timeout", "not done within 3 s"), "timeout", "not done within 3 s"),
        (MemoryError("too large"), "memory", "too large (take less)"),
        (KeyboardInterrupt(), "interrupted", "interrupted; what was measured before is in the report"),
    ],
)
def test_what_was_measured_before_a_failure_is_in_the_report_and_nothing_is_run_after_it(error, kind, message):
    report, last = report_on(), Part()
    assert not examine(report, [Part(), Part(error), last], " (take less)")
    assert [(e.verdict, e.law.paths) for e in report.evidence] == [(HOLDS, 3), (NO_EVIDENCE, 3)]
    assert (report.failure, report.verdict, last.measured) == ({"kind": kind, "message": message}, "error", 0)
    assert report.interrupted == isinstance(error, KeyboardInterrupt)
    with pytest.raises(ZeroDivisionError):  # a bug of our own is not taken for a failure of the subject
        examine(report_on(), [Part(ZeroDivisionError())])


# ---------------------------------------------------------------- the form


def test_a_report_is_read_back_as_it_was_written():
    witness = Witness(**vars(WITNESS) | {"laws": (LawEntry("0", "2/3", "11/18"),), "prefixes": (("0", 0.5, 0.25),)})
    report = report_on(item(REFUTED, witness=witness, replay="draftproof audit f", total_variation=0.25))
    report.fail("crash", "it crashed")
    report.notice({"nan": "computes with NaN"})
    validate(report.as_json())
    again = Report.from_json(json.loads(report.text()))
    assert again == report and again.text() == report.text()
    for name in ("right", "wrong", "undecided", "broken", "evil", "block"):
        validate(golden(name))
        assert golden_report(name).as_json() == golden(name), "the kept reports are written as they were"


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("evidence bound", "1/3", r"evidence\[1\]\.bound: .*expected null, or a number"),
        ("evidence bound", -1, r"evidence\[1\]\.bound: .*expected null, or a number"),
        ("evidence total_variation", [], r"evidence\[1\]\.total_variation: .*expected null, or a number"),
        ("subject convention", None, r"subject\.convention: expected object, got null"),
        ("schema_version", "2.0", r"report of version '2\.0': expected 2\.2 or 2\.1"),
        ("schema_version", None, r"report of version None: expected 2\.2 or 2\.1"),
    ],
)
def test_another_version_and_what_has_another_form_are_refused_with_their_place(where, value, said):
    data = json.loads(report_on(item(), item()).text())
    first, *name = where.split()
    place = data if not name else data["evidence"][1] if first == "evidence" else data[first]
    place[(name or [first])[0]] = value
    with pytest.raises(InputError, match=said):
        Report.from_json(data)


def test_reports_that_say_lossless_are_read_as_holds():
    written = golden("right") | {"schema_version": "2.1", "verdict": "lossless"}
    assert Report.from_json(written).as_json() == golden("right")


def test_the_schema_is_one():
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("change", [{"smallest": None}, {"worst": "TV 1"}, {"expected": 0.5}])
def test_the_schema_refuses_other_witnesses(change):
    data = report_on(item(REFUTED, witness=WITNESS)).as_json()
    data["evidence"][0]["witness"] |= change
    with pytest.raises(ValidationError):
        validate(data)
