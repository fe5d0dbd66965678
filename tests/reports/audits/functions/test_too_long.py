"""A problem that takes too long is named and has no verdict; what else was examined stands."""

import pytest

from draftproof.models.battery import drawn
from draftproof.models.problem import problem_from
from draftproof.proofs.interception.tracer import MAX_NUMBERS_PER_PATH
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.exact_laws import NOT_TRIED
from draftproof.tests.deceivers import odd
from draftproof.tests.reports.audited import audited
from draftproof.tests.subjects import faults

GENERIC, EQUAL = drawn(3, 1, "generic"), drawn(3, 2, "equal")
LATE = f"on problem {EQUAL.name}: measuring its distribution: not done within 0.6 s of processor time (--timeout 0.6)"


def of(name, problems, **settings):
    settings = {"timeout": 0.6, "explain": False, "samples": 100} | settings
    report = audited(f"{faults.__file__}:{name}", problems, **settings)
    return report, {e.problem: e for e in report.evidence if e.claim == "lossless" and e.method == "interception"}


@pytest.mark.usefixtures("replayed")
def test_where_one_problem_takes_too_long_the_others_keep_their_laws():
    report, laws = of("slow_when_rows_are_equal", [EQUAL, GENERIC])
    assert laws[GENERIC.name].holds and laws[EQUAL.name].detail.reason == LATE == report.findings["too-long"]
    assert (report.verdict, report.failure) == ("inconclusive", None)
    assert "1 distribution neither computed nor sampled" in report.not_examined


def test_where_every_problem_takes_too_long_or_a_call_does_not_end_it_is_an_error():
    problems = [EQUAL, drawn(3, 2, "generic"), drawn(3, 2, "zeros")]
    report, laws = of("slow", problems, levels=("exact",))
    assert [laws[p.name].detail.reason for p in problems[::2]] == [LATE, NOT_TRIED]
    assert (report.verdict, report.failure) == ("error", {"kind": "timeout", "message": LATE})
    report, _ = of("endless_when_rows_are_equal", [GENERIC, EQUAL])
    assert (report.verdict, report.failure["kind"]) == ("error", "timeout")
    assert "a call did not return within" in report.failure["message"]
    assert report.findings["never-returned"] in report.failure["message"]


@pytest.mark.long
def test_one_call_that_waits_for_a_rare_token_is_no_error_of_the_audit():
    """A loop that draws until a token survives: 3e7 rounds for the first draft block, on which the convention is
    tried."""
    data = {"name": "rare", "target": ["3/10000000000", "9999999997/10000000000"], "vocabulary": 2, "gamma": 1}
    rare = problem_from(data | {"draft": ["3/100000000", "99999997/100000000"]})
    report = audited(f"{odd.__file__}:rejection_loop", [rare, GENERIC], timeout=4, explain=False, levels=("exact",))
    laws = {e.problem: e for e in report.evidence if e.claim == "lossless"}
    assert (report.verdict, report.failure) == ("inconclusive", None) and laws["rare"].detail.reason


def test_numbers_drawn_without_end_and_without_a_decision_are_given_up():
    """As a loop does in which every number belongs to one group, or is not looked at."""
    with Sandbox(f"{faults.__file__}:draws_when_rows_are_equal") as box:
        box.start([GENERIC])
        found = measured(EQUAL, "float64", box.law(EQUAL))
    assert found.reason == f"draws without bound: more than {MAX_NUMBERS_PER_PATH:,} random numbers in one call"
