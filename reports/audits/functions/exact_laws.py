"""The exact route for third-party functions: laws by interception, withdrawn where real calls contradict them."""

from dataclasses import replace
from itertools import zip_longest

from ....models.errors import RunFailed
from ....models.problem import Problem
from ....proofs.audit_claims import judge
from ....proofs.measurement import Measurement, measured
from ....verifiers.evidence import Evidence
from .hints import drafting_hint, padding_hint
from .real_calls import why_withdrawn
from .session import FunctionSession
from .state import withdraw_for_state

NOT_ASKED = "the exact route was not asked for"
"""The reason for which there is no law where the level excludes it."""

NOT_TRIED = "not tried: other problems took too long"
"""The reason for which there is none after those."""

MOST_FAILURES = 1
"""Problems on which the subject may fail before the audit ends: a single one is started anew after it."""

MOST_LATE = 2
"""Problems that may take too long before the others are left out: these have no law, and the audit goes on."""


class ExactLaws:
    """The laws on all problems, held against real calls on three of them."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.confirmed = False
        self.judged: list[list[Evidence]] = []

    def run(self) -> None:
        session = self.session
        session.settings.progress("loading the subject", 0, len(session.problems))
        about = session.start()
        problems = session.problems
        session.report.subject |= {"digest": about["digest"], "convention": about["convention"]}
        if program := about["convention"].get("program"):
            session.report.subject["source"] = program
        if not_compared := about["origin"]["not_compared"]:
            session.report.subject["not_compared"] = not_compared
        session.report.environment |= about["versions"]
        session.report.notice(about["findings"])
        failures = late = 0
        for k, problem in enumerate(problems):
            session.settings.progress(problem.name, k, len(problems))
            try:
                measurement = self._measure(problem) if late < MOST_LATE else self._lawless(problem, NOT_TRIED)
            except RunFailed as failure:
                reason = session.failed(failure, f"on problem {problem.name}")
                timeout = failure.kind == "timeout"
                late, failures = late + timeout, failures + (not timeout)
                if failures > MOST_FAILURES or not self._restarted():
                    break
                if not timeout:
                    continue
                measurement = self._lawless(problem, reason)
            session.measurements.append(measurement)
            session.report.notice(measurement.findings)
            self.judged.append(judge(measurement))
            decided = any(e.refuted and e.claim in session.settings.claims for e in self.judged[-1])
            if session.settings.stop_at_first and decided:
                break
        self._withdraw(why_withdrawn(session))
        session.report.notice(padding_hint(session.measurements, self.judged))
        decided = any(e.refuted and e.claim in session.settings.claims for judged in self.judged for e in judged)
        if not decided:
            withdraw_for_state(session)
            judged = zip_longest(session.measurements, self.judged)  # twins of a problem are new, and not judged yet
            self.judged = [items if items and m.known else judge(m) for m, items in judged]
        session.report.notice(drafting_hint(session.measurements, self.judged, compared=not decided))
        self.judged = [
            [replace(e, detail=e.detail | {"real_calls": m.real_calls}) if m.real_calls else e for e in judged]
            for m, judged in zip(session.measurements, self.judged)
        ]
        self.confirmed = True
        for measurement in session.measurements:
            session.report.add_curve(measurement)

    def evidence(self, complete: bool) -> list[Evidence]:
        if not self.confirmed:
            self._withdraw("the audit ended before real calls were held against the measured laws")
        return [self.session.with_replay(e) for judged in self.judged for e in judged]

    def _measure(self, problem: Problem) -> Measurement:
        session = self.session
        if "exact" not in session.settings.levels:
            return self._lawless(problem, NOT_ASKED)
        measurement = session.measure(problem)
        if "never-returned" in measurement.findings:
            session.report.fail("timeout", f"on problem {problem.name}: {measurement.reason}")
        return measurement

    def _lawless(self, problem: Problem, reason: str) -> Measurement:
        measurement = measured(problem, self.session.dtype, (), self.session.subject.modifies_target)
        measurement.reason = reason
        return measurement

    def _restarted(self) -> bool:
        """Whether a fresh child could be started after a crash, so that the remaining problems are examined."""
        try:
            self.session.start()
        except RunFailed as failure:
            self.session.report.fail(failure.kind, str(failure))
            return False
        return True

    def _withdraw(self, reason: str | None) -> None:
        if reason:
            for measurement in self.session.measurements:
                measurement.reason = measurement.reason or reason
            self.judged = [judge(measurement) for measurement in self.session.measurements]
