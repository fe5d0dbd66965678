"""Sessions of an audit without a child process: its place is taken by laws that are known."""

from draftproof.models.errors import RunFailed
from draftproof.models.rationals import as_float
from draftproof.proofs.field import in_field
from draftproof.proofs.interception.outcomes import encoded
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.reports.audits.functions.session import FunctionSession
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.verifiers.registry import reference


def answer(law):
    """What a child says of a law that was followed to its end."""
    entries = [[encoded(outcome), str(p)] for outcome, p in law.items()]
    return {"block": (), "law": entries, "paths": len(law), "exactness": "exact", "resolution": 0.0, "coarsest": 0}


class KnownLaws:
    """In the place of a child process: its laws, and the counts of its calls, which follow another where one is given.

    law, called: problem -> law. late: names of problems on which measuring takes too long. crashes: on which it ends.
    """

    calls, ended, subject = 0, False, ""

    def __init__(self, law, called=None, late=(), crashes=(), late_calls=()):
        self.of, self.called, self.late, self.crashes, self.late_calls = law, called or law, late, crashes, late_calls

    def start(self, probe):
        origin = {"folders": [], "not_compared": []}
        return {"digest": "0", "convention": {"random": "generator"}, "origin": origin, "versions": {}, "findings": {}}

    def law(self, problem, **how):
        if problem.name in self.late:
            raise RunFailed("timeout", "not done in time")
        if problem.name in self.crashes:
            raise RunFailed("crash", "it crashed")
        yield answer(self.of(problem))

    def sample(self, problem, count, seed):
        if problem.name in self.late_calls:
            raise RunFailed("timeout", "not done in time")
        yield {"counts": [[encoded(o), round(count * as_float(p))] for o, p in self.called(problem).items()]}

    def surroundings(self):
        return {"reads": [], "calls": 0}


def block(problem):
    """Block verification's law."""
    return output_law(in_field(problem), reference("block"))


def from_the_draft(problem):
    """The law of a function that emits a token of the draft's row."""
    return {(token,): p for token, p in enumerate(problem.draft.row(())) if p}


def session_of(child, problems, **settings):
    """A session whose child process is that one."""
    subject = subject_from("known.py:law")
    report = Report.begin(subject.name, subject.source, subject.dtypes, 0)
    return FunctionSession(subject, "float64", list(problems), AuditSettings(**settings), report, child)
