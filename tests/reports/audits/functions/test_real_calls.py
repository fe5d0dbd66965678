"""Real calls confirm a law or withdraw all of them: how many are off decides, and what they could miss is stated."""

from dataclasses import replace

import pytest

from draftproof.models.battery import drawn
from draftproof.models.rationals import as_float
from draftproof.reports.audits.functions.exact_laws import confirmed
from draftproof.reports.audits.functions.session import REAL_CALLS
from draftproof.reports.audits.functions.withdrawal import NOT_REPEATED, contradiction, detection_limit
from draftproof.tests.proofs.enumerated import PROBLEM, law_of
from draftproof.tests.reports.audits.functions.sessions import KnownLaws, block, from_the_draft, session_of

pytestmark = pytest.mark.exact

PROBLEMS = [drawn(3, 1, "generic"), drawn(3, 1, "zeros")]


def counts(law, moved=0):
    """The calls that a law expects, so many of the commonest outcome on the next."""
    given = {o: round(REAL_CALLS * as_float(p)) for o, p in law.outcomes().items()}
    next_best, best = sorted(given, key=given.__getitem__)[-2:]
    return given | {best: given[best] - moved, next_best: given[next_best] + moved}


def test_calls_that_follow_the_law_do_not_contradict_it_and_calls_beyond_the_limit_do():
    law = law_of()
    assert contradiction(law, counts(law)) is None
    assert contradiction(law, counts(law, moved=40)) is None
    beyond = int(1.2 * detection_limit(law, REAL_CALLS) * REAL_CALLS)
    assert "do not follow the measured law" in contradiction(law, counts(law, moved=beyond))


def test_one_call_that_the_law_excludes_contradicts_it():
    law = law_of()
    assert "which the measured law excludes" in contradiction(law, counts(law) | {"ValueError: once": 1})


def laws_after(child, laws=None, **settings):
    session = session_of(child, PROBLEMS, **settings)
    return session, confirmed(session, laws or [session.measure(problem) for problem in PROBLEMS])


def test_confirmed_laws_say_by_how_many_calls_and_the_others_are_as_they_were():
    _, laws = laws_after(KnownLaws(block))
    assert all(law.known and law.real_calls["calls"] == REAL_CALLS for law in laws)
    assert all(law.real_calls["limit"] == detection_limit(law, REAL_CALLS) for law in laws)


def test_one_contradiction_withdraws_every_law():
    session, laws = laws_after(KnownLaws(block, called=lambda p: (from_the_draft if p is PROBLEMS[1] else block)(p)))
    assert {law.reason for law in laws} == {session.report.findings["state"]} and "real calls" in laws[0].reason


def test_code_that_does_not_repeat_itself_on_one_problem_has_no_law_on_any():
    stateful = replace(law_of(), findings={"state": "a counter"}, reason="a counter")
    _, laws = laws_after(KnownLaws(block), [law_of(), stateful])
    assert [law.reason for law in laws] == [NOT_REPEATED, "a counter"]


@pytest.mark.parametrize(("law", "known"), [(block, [False, True]), (from_the_draft, [True, True])])
def test_where_calls_take_too_long_a_law_is_withdrawn_unless_it_refutes(law, known):
    _, laws = laws_after(KnownLaws(law, late_calls=[PROBLEMS[0].name]))
    assert [one.known for one in laws] == known
    assert not laws[0].real_calls and laws[1].real_calls


def test_laws_that_are_not_known_are_not_called():
    unknown = law_of(PROBLEM, reason="raced")
    _, laws = laws_after(KnownLaws(block), [unknown])
    assert laws == [unknown]
