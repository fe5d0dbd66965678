"""Why a function fails: the smallest problem on which it does, by the first claim that is refuted."""

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.audit_claims import judge
from draftproof.reports.audits.functions.explanation import Explanation
from draftproof.reports.audits.functions.session import FunctionSession
from draftproof.tests.reports.audits.functions.sessions import KnownLaws, block, from_the_draft, session_of

pytestmark = pytest.mark.exact

PROBLEMS = [drawn(3, 2, "generic"), drawn(3, 1, "zeros")]


@pytest.fixture(autouse=True)
def no_mutants(monkeypatch):
    """Naming a mutant needs a child process, and has tests of its own."""
    monkeypatch.setattr(FunctionSession, "mutants", [])


def explained(law, **settings):
    session = session_of(KnownLaws(law), PROBLEMS, **settings)
    session.laws = [session.measure(problem) for problem in PROBLEMS]
    session.report.add([e for one in session.laws for e in judge(one)])
    part = Explanation(session)
    part.run()
    return part.evidence(True)


def test_the_smallest_witness_is_on_a_problem_smaller_than_any_examined_and_can_be_replayed():
    (smallest,) = explained(from_the_draft)
    problem = smallest.witness.problem
    assert smallest.refuted and smallest.witness.smallest
    assert (problem["vocabulary"], problem["gamma"]) == (2, 1)
    assert smallest.replay.startswith("draftproof audit known.py:law --problem")


def test_a_function_that_is_right_has_none_and_none_is_looked_for_where_nobody_asked():
    assert explained(block) == []
    assert explained(from_the_draft, explain=False) == []


def test_no_smaller_problem_is_looked_for_where_the_function_keeps_state():
    session = session_of(KnownLaws(from_the_draft), PROBLEMS)
    session.laws = [session.measure(PROBLEMS[0])]
    session.report.add(judge(session.laws[0]))
    session.report.notice({"state": "a counter"})
    part = Explanation(session)
    part.run()
    assert part.evidence(True) == []
