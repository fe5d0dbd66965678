"""The law on one problem where an optional generator is left out."""

from dataclasses import replace

from ....proofs.audit_claims import judge
from ....proofs.laws.small_law import Measurement
from ....verifiers.evidence import Evidence
from .session import FunctionSession

SUFFIX = "-no-generator"
"""Suffix of the name of the problem on which it is called so."""

MOST_PATHS_COMPARED = 50
"""Ways the random numbers can fall on that problem, at most, if there is a choice: the more, the more is compared."""


class WithoutGenerator:
    """A part of an audit: the law on one problem where the argument for randomness is left out."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.law: Measurement | None = None

    def run(self) -> None:
        session = self.session
        known = [m for m in session.laws if m.known]
        if not session.report.subject.get("convention", {}).get("optional") or not known or session.sandbox.ended:
            return
        few = [m for m in known if m.paths <= MOST_PATHS_COMPARED] or [min(known, key=lambda m: m.paths)]
        problem = max(few, key=lambda m: m.paths).problem
        law = session.law_from(problem, session.sandbox.law(problem, hand_in=False))
        raised = all(isinstance(outcome, str) for outcome in law.outcomes()) if law.known else False
        if law.known and not raised:
            self.law = replace(law, problem=replace(problem, name=problem.name + SUFFIX))
            session.replays[self.law.problem.name] = session.replay_of([problem])
        else:
            why = f"raises: {next(iter(law.outcomes()))}" if raised else f"has no known distribution: {law.reason}"
            session.report.notice({"optional-generator": f"called without a generator it {why}"})

    def evidence(self, complete: bool) -> list[Evidence]:
        return [self.session.with_replay(e) for e in judge(self.law)] if self.law else []
