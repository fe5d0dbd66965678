"""Laws on all problems: those that cannot be had, those that checks withdraw, and that judging comes last."""

from collections import Counter

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs import audit_claims
from draftproof.reports.audits.functions import exact_laws
from draftproof.reports.audits.functions.exact_laws import NOT_ASKED, NOT_CONFIRMED, NOT_TRIED, ExactLaws
from draftproof.tests.reports.audits.functions.sessions import KnownLaws, block, from_the_draft, session_of
from draftproof.verifiers.claims import FUNCTION, claims_of

pytestmark = pytest.mark.exact

PROBLEMS = [drawn(3, 1, "generic"), drawn(2, 2, "generic"), drawn(3, 1, "zeros"), drawn(3, 2, "equal")]
NAMES = [problem.name for problem in PROBLEMS]
MADE = [name for name in claims_of(FUNCTION) if name != "lossless-over-keys"]
"""Claims of every function; others are of functions with keys."""


def examined(child, problems=PROBLEMS, **settings):
    session = session_of(child, problems, **settings)
    part = ExactLaws(session)
    part.run()
    return session, part.evidence(True)


def test_every_claim_of_every_problem_is_judged_once_after_the_checks(monkeypatch):
    judged = Counter()
    judge = audit_claims.judge
    monkeypatch.setattr(exact_laws, "judge", lambda law: judged.update([law.problem.name]) or judge(law))
    session, evidence = examined(KnownLaws(block))
    expected = [(name, claim) for name in NAMES for claim in MADE]
    assert [(e.problem, e.claim) for e in evidence] == expected
    assert all(e.holds for e in evidence) and judged == Counter(NAMES)
    assert [bool(law.real_calls) for law in session.laws].count(True) == 3


def test_a_wrong_law_is_refuted_on_every_problem_and_the_first_can_end_the_run():
    _, evidence = examined(KnownLaws(from_the_draft))
    refuted = {e.problem for e in evidence if e.claim == "lossless" and e.refuted}
    assert refuted == set(NAMES) - {NAMES[-1]}  # where both models are equal it is lossless
    session, _ = examined(KnownLaws(from_the_draft), stop_at_first=True)
    assert len(session.laws) == 1


def test_a_refutation_of_a_claim_that_nobody_asked_for_does_not_end_the_run():
    session, evidence = examined(KnownLaws(from_the_draft), PROBLEMS[:2], claims=("support",), stop_at_first=True)
    assert len(session.laws) == 2 and any(e.refuted and e.claim == "lossless" for e in evidence)


def test_calls_that_contradict_a_law_leave_none_that_is_judged():
    session, evidence = examined(KnownLaws(block, called=from_the_draft))
    assert {e.verdict for e in evidence} == {"no-evidence"}
    assert {e.detail.reason for e in evidence} == {session.report.findings["state"]}


def test_problems_that_take_too_long_are_named_and_after_two_the_others_are_not_tried():
    session, _ = examined(KnownLaws(block, late=NAMES[:2]))
    assert [law.reason for law in session.laws] == [
        *(f"on problem {name}: not done in time" for name in NAMES[:2]), NOT_TRIED, NOT_TRIED,
    ]  # fmt: skip
    assert session.report.failure is None


def test_one_crash_is_left_out_and_a_second_ends_the_run():
    session, _ = examined(KnownLaws(block, crashes=NAMES[1:2]))
    assert [law.problem.name for law in session.laws] == [NAMES[0], *NAMES[2:]]
    session, _ = examined(KnownLaws(block, crashes=NAMES[1:3]))
    assert [law.problem.name for law in session.laws] == NAMES[:1]


def test_where_the_exact_route_was_not_asked_for_there_is_no_law_and_the_reason():
    session, evidence = examined(KnownLaws(block), levels=("statistical",))
    assert {law.reason for law in session.laws} == {NOT_ASKED} == {e.detail.reason for e in evidence}


def test_laws_of_a_run_that_ended_before_the_checks_are_withdrawn():
    session = session_of(KnownLaws(block), PROBLEMS)
    part = ExactLaws(session)
    session.laws = [session.measure(PROBLEMS[0])]
    assert [e.detail.reason for e in part.evidence(False)] == [NOT_CONFIRMED] * len(MADE)


def test_a_law_is_changed_by_nobody():
    law = session_of(KnownLaws(block), PROBLEMS).measure(PROBLEMS[0])
    with pytest.raises(AttributeError):
        law.reason = "planted"
    withdrawn = law.withdrawn("first").withdrawn("second")
    assert (law.reason, withdrawn.reason) == (None, "first")
