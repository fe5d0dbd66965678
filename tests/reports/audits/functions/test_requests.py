"""Of requests to a subject whose random numbers are inputs, a quick audit makes fewer, and says what they can miss."""

import pytest

from draftproof.models.battery import drawn
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions import session
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.subjects import driven

PROBLEMS = [drawn(2, 1, "generic"), drawn(2, 2, "generic")]


@pytest.mark.parametrize(("name", "verdict"), [("token", "holds"), ("no_residual", "refuted")])
def test_a_quick_audit_confirms_laws_by_fewer_requests(name, verdict, monkeypatch):
    monkeypatch.setattr(session, "QUICK_REQUESTS", 4000)
    calls, missed = {}, {}
    for quick in (False, True):
        report = audit(f"{driven.__file__}:{name}", PROBLEMS, quick=quick, explain=False, levels=("exact",))
        assert report.verdict == verdict
        calls[quick] = report.subject["calls"]
        missed[quick] = max(e.detail.missed for e in report.evidence if e.claim == "lossless")
    assert calls[True] < calls[False] / 2
    assert 0 < missed[False] < missed[True] < 0.03


@pytest.mark.parametrize("quick", [False, True])
def test_how_many_requests_there_are_is_said_before_laws_are_looked_for(quick):
    said, problems = [], [drawn(2, 1, "generic")]
    settings = AuditSettings(problems=problems, quick=quick, explain=False, announce=said.append)
    report = run_audit(subject_from(f"{driven.__file__}:token"), settings)
    (line,) = said
    assert report.verdict == "holds" and "9,192 requests, about " in line and line.endswith("s of processor time")
