"""Laws on all problems, without a child process: missing ones, withdrawn ones, real calls, the smallest witness."""

from collections import Counter
from dataclasses import replace

import pytest

from draftproof.models.battery import drawn
from draftproof.models.rationals import as_float
from draftproof.proofs import audit_claims
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.field import rational
from draftproof.reports.audits.functions import exact_laws
from draftproof.reports.audits.functions.exact_laws import NOT_CONFIRMED, NOT_TRIED, ExactLaws, confirmed
from draftproof.reports.audits.functions.explanation import Explanation
from draftproof.reports.audits.functions.session import NOT_ASKED, REAL_CALLS, FunctionSession
from draftproof.reports.audits.functions.wide_laws import WideLaws
from draftproof.reports.audits.functions.withdrawal import NOT_REPEATED, contradiction, detection_limit
from draftproof.tests.proofs.enumerated import PROBLEM, law_of
from draftproof.tests.reports.audits.functions.sessions import KnownLaws, block, from_the_draft, session_of
from draftproof.verifiers.claims import FUNCTION, claims_of

pytestmark = pytest.mark.exact

PROBLEMS = [drawn(3, 1, "generic"), drawn(2, 2, "generic"), drawn(3, 1, "zeros"), drawn(3, 2, "equal")]
NAMES = [problem.name for problem in PROBLEMS]
MADE = [name for name in claims_of(FUNCTION) if name != "lossless-over-keys"]
"""Claims of every function; others are of functions with keys."""


def examined(child, problems=PROBLEMS, **settings):
    session = session_of(child, problems, **settings)
    part = ExactLaws(session, WideLaws(session, ()))
    part.run()
    return session, part.evidence(True)


def test_every_claim_of_every_problem_is_judged_once_after_the_checks(monkeypatch):
    judged = Counter()
    judge_one = audit_claims.judge
    monkeypatch.setattr(exact_laws, "judge", lambda law: judged.update([law.problem.name]) or judge_one(law))
    session, evidence = examined(KnownLaws(block))
    assert [(e.problem, e.claim) for e in evidence] == [(name, claim) for name in NAMES for claim in MADE]
    assert all(e.holds for e in evidence) and judged == Counter(NAMES)
    assert [bool(law.real_calls) for law in session.laws].count(True) == 3


def test_a_wrong_law_is_refuted_on_every_problem_and_a_claim_that_decides_can_end_the_run():
    _, evidence = examined(KnownLaws(from_the_draft))
    refuted = {e.problem for e in evidence if e.claim == "lossless" and e.refuted}
    assert refuted == set(NAMES) - {NAMES[-1]}  # where both models are equal it is lossless
    session, _ = examined(KnownLaws(from_the_draft), stop_at_first=True)
    assert len(session.laws) == 1
    session, evidence = examined(KnownLaws(from_the_draft), PROBLEMS[:2], claims=("support",), stop_at_first=True)
    assert len(session.laws) == 2 and any(e.refuted and e.claim == "lossless" for e in evidence)


@pytest.mark.parametrize("stop_at_first", [False, True])
def test_the_first_refutation_is_shown_once_real_calls_agree_with_it_and_before_the_other_problems(stop_at_first):
    said = []

    def progress(stage, done, total):
        said.append(stage)

    settings = {"stop_at_first": stop_at_first, "progress": progress, "refuted": said.append}
    examined(KnownLaws(from_the_draft), **settings)
    shown = [one for one in said if not isinstance(one, str)]
    assert [(one.problem, one.claim, bool(one.witness)) for one in shown] == [(NAMES[0], "lossless", True)]
    assert (said.index(shown[0]) < said.index(NAMES[1])) if not stop_at_first else NAMES[1] not in said
    said.clear()
    examined(KnownLaws(from_the_draft, called=block), **settings)
    assert said and all(isinstance(one, str) for one in said)


def test_a_witness_shows_the_shortest_prefixes_that_differ_about_as_much_as_any():
    """Rounding at the first token does not stand for a bug at the second."""
    problem = drawn(2, 1, "generic")
    right = law_of(problem)
    moved = dict(right.blocks[()])
    for outcome, change in (((0, 0), "-1/10"), ((0, 1), "1/10"), ((1,), "-1/1000000"), ((0,), "1/1000000")):
        moved[outcome] = moved.get(outcome, 0) + rational(change)
    [shown] = [e for e in judge(replace(right, blocks={(): moved})) if e.claim == "lossless"]
    assert {entry.sequence for entry in shown.witness.laws} == {"0,0", "0,1", "1,0", "1,1"}


def test_accepting_more_than_the_optimum_proves_bias_without_a_look_at_the_law():
    everything = KnownLaws(lambda problem: {(0,) * (problem.gamma + 1): 1})
    _, evidence = examined(everything, PROBLEMS[:1])
    (item,) = (e for e in evidence if e.claim == "optimal")
    assert item.verdict == "refuted" and "alone proves bias" in item.detail.above and "Lemma 10" in item.detail.above


def test_problems_that_take_too_long_are_named_and_a_second_crash_ends_the_run():
    session, _ = examined(KnownLaws(block, late=NAMES[:2]))
    assert [law.reason for law in session.laws] == [
        *(f"on problem {name}: not done in time" for name in NAMES[:2]), NOT_TRIED, NOT_TRIED,
    ]  # fmt: skip
    assert session.report.failure is None
    session, _ = examined(KnownLaws(block, crashes=NAMES[1:2]))
    assert [law.problem.name for law in session.laws] == [NAMES[0], *NAMES[2:]]
    session, _ = examined(KnownLaws(block, crashes=NAMES[1:3]))
    assert [law.problem.name for law in session.laws] == NAMES[:1]


def test_laws_that_were_not_asked_for_or_not_checked_have_that_reason():
    session, evidence = examined(KnownLaws(block), levels=("statistical",))
    assert {law.reason for law in session.laws} == {NOT_ASKED} == {e.detail.reason for e in evidence}
    session = session_of(KnownLaws(block), PROBLEMS)
    session.laws = [session.measure(PROBLEMS[0])]
    assert session.laws[0].withdrawn("first").withdrawn("second").reason == "first"
    part = ExactLaws(session, WideLaws(session, ()))
    assert [e.detail.reason for e in part.evidence(False)] == [NOT_CONFIRMED] * len(MADE)


# ---------------------------------------------------------------- real calls


def counts(law, moved=0):
    """The calls that a law expects, so many of the commonest outcome on the next."""
    given = {o: round(REAL_CALLS * as_float(p)) for o, p in law.outcomes().items()}
    next_best, best = sorted(given, key=given.__getitem__)[-2:]
    return given | {best: given[best] - moved, next_best: given[next_best] + moved}


def test_calls_that_follow_the_law_do_not_contradict_it_and_calls_beyond_the_limit_or_excluded_ones_do():
    law = law_of()
    assert contradiction(law, counts(law)) is contradiction(law, counts(law, moved=40)) is None
    beyond = int(1.2 * detection_limit(law, REAL_CALLS) * REAL_CALLS)
    assert "do not follow the measured distribution" in contradiction(law, counts(law, moved=beyond))
    assert "excluded by the measured distribution" in contradiction(law, counts(law) | {"ValueError: once": 1})


def laws_after(child, laws=None):
    session = session_of(child, PROBLEMS[:2])
    return session, confirmed(session, laws or [session.measure(problem) for problem in PROBLEMS[:2]])


def test_confirmed_laws_say_by_how_many_calls_and_unknown_ones_are_not_called():
    _, laws = laws_after(KnownLaws(block))
    assert all(law.known and law.real_calls["calls"] == REAL_CALLS for law in laws)
    assert all(law.real_calls["limit"] == detection_limit(law, REAL_CALLS) for law in laws)
    unknown = law_of(PROBLEM, reason="raced")
    assert laws_after(KnownLaws(block), [unknown])[1] == [unknown]


def test_one_contradiction_or_one_law_that_is_not_repeated_withdraws_every_law():
    session, laws = laws_after(KnownLaws(block, called=lambda p: (from_the_draft if p is PROBLEMS[1] else block)(p)))
    assert {law.reason for law in laws} == {session.report.findings["state"]} and "real calls" in laws[0].reason
    stateful = replace(law_of(), findings={"state": "a counter"}, reason="a counter")
    assert [law.reason for law in laws_after(KnownLaws(block), [law_of(), stateful])[1]] == [NOT_REPEATED, "a counter"]
    session, evidence = examined(KnownLaws(block, called=from_the_draft))
    assert {e.verdict for e in evidence} == {"no-evidence"}
    assert {e.detail.reason for e in evidence} == {session.report.findings["state"]}


@pytest.mark.parametrize(("law", "known"), [(block, [False, True]), (from_the_draft, [True, True])])
def test_where_calls_take_too_long_a_law_is_withdrawn_unless_it_refutes(law, known):
    _, laws = laws_after(KnownLaws(law, late_calls=[NAMES[0]]))
    assert [one.known for one in laws] == known
    assert not laws[0].real_calls and laws[1].real_calls


# ---------------------------------------------------------------- the smallest witness


def explained(law, finding=None, **settings):
    session = session_of(KnownLaws(law), PROBLEMS[:3], **settings)
    session.laws = [session.measure(problem) for problem in PROBLEMS[:3]]
    session.report.add([e for one in session.laws for e in judge(one)])
    session.report.notice(finding or {})
    part = Explanation(session)
    part.run()
    return part.evidence(True)


def test_the_smallest_witness_is_on_a_problem_smaller_than_any_examined_and_only_looked_for_where_it_helps(monkeypatch):
    monkeypatch.setattr(FunctionSession, "mutants", [])  # naming one needs a child process
    (smallest,) = explained(from_the_draft)
    problem = smallest.witness.problem
    assert smallest.refuted and smallest.witness.smallest
    assert (problem["vocabulary"], problem["gamma"]) == (2, 1)
    assert smallest.replay.startswith("draftproof audit known.py:law --problem")
    assert explained(block) == explained(from_the_draft, explain=False) == []
    assert explained(from_the_draft, {"state": "a counter"}) == []
