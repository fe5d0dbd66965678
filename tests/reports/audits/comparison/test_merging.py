"""Reports merged: nothing refuted is lost, and reports on other code are refused."""

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.comparison.changes import got_worse
from draftproof.reports.audits.comparison.merging import merged
from draftproof.tests.reports.audits.comparison.comparison_parts import (
    GOOD,
    GOOD_SUBJECT,
    WITNESS,
    about,
    compared,
    item,
    report,
)
from draftproof.tests.reports.typed_details import LOOP
from draftproof.verifiers.evidence import REFUTED

pytestmark = pytest.mark.exact


def test_merged_reports_have_all_evidence_and_a_refutation_of_one_refutes_the_whole():
    other = report(item(REFUTED, problem="r", witness=WITNESS), item(), findings={"state": "counts"})
    whole = merged({"a": GOOD, "b": other})
    assert ([e.problem for e in whole.evidence], whole.verdict) == (["p", "q", "r"], "refuted")
    assert not got_worse([c for c in compared(GOOD, whole) if c.problem in ("p", "q")])
    failed = report(item(), failure={"kind": "crash", "message": "boom"})
    assert merged({"a": GOOD, "b": failed}).verdict == "error"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (report(item(), digest="sha256:2"), "its digest is sha256:2"),
        (report(item(), digest="unknown"), "digest of its subject is unknown"),
        (report(item(), claims=("support",)), "deciding claims"),
        (report(item(), environment={"numpy": "3"}), "its numpy is 3"),
        (report(item(), end_to_end=LOOP), "a run of a loop"),
        (report(), "nothing was examined"),
        (about(problems={"p": "2"}), "its problem p is 2"),
    ],
)
def test_reports_on_other_code_are_not_merged(other, why):
    with pytest.raises(InputError, match=why):
        merged({"a": report(*GOOD.evidence, subject=GOOD_SUBJECT | {"problems": {"p": "1"}}), "b": other})


def test_what_one_report_says_besides_evidence_is_in_the_whole():
    first, second = about(problems={"p": "1"}), about(problems={"q": "2"}, not_compared=["a"])
    first.findings, second.findings = {"state": "one"}, {"state": "two"}
    whole = merged({"a": first, "b": second})
    assert (whole.subject["not_compared"], whole.subject["problems"]) == (["a"], {"p": "1", "q": "2"})
    assert whole.findings == {"state": "one; two"}
