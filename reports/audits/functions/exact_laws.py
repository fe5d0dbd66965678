"""The exact route for third-party functions: laws by interception, withdrawn where real calls contradict them."""

from ....models.errors import RunFailed
from ....models.problem import Problem
from ....models.rationals import as_float
from ....proofs.audit_claims import judge
from ....proofs.measurement import Measurement, measured
from ....stattests.goodness import goodness_of_fit
from ....verifiers.evidence import Evidence
from ..completed_law import Counts, outcome_text
from .session import FunctionSession

NOT_ASKED = "the exact route was not asked for"
"""The reason for which there is no law where the level excludes it."""

REAL_CALLS = 2000
"""Real calls that a measured law has to survive."""

CONTRADICTED_AT = 1e-12
"""p-value of the real calls below which a measured law is withdrawn: far below any that a right law meets."""

MOST_FAILURES = 1
"""Problems on which the subject may fail before the audit ends: a single one is started anew after it."""


class ExactLaws:
    """The laws on all problems, held against real calls on three of them."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.confirmed = False

    def run(self) -> None:
        session, problems = self.session, self.session.problems
        session.settings.progress("loading the subject", 0, len(problems))
        about = session.start()
        session.report.subject |= {"digest": about["digest"], "convention": about["convention"]}
        session.report.environment |= about["versions"]
        session.report.notice(about["findings"])
        failures = 0
        for k, problem in enumerate(problems):
            session.settings.progress(problem.name, k, len(problems))
            try:
                measurement = self._measure(problem)
            except RunFailed as failure:
                session.report.fail(failure.kind, f"on problem {problem.name}: {failure}")
                failures += 1
                if failures > MOST_FAILURES or not self._restarted():
                    break
                continue
            session.measurements.append(measurement)
            session.report.notice(measurement.findings)
            if session.settings.stop_at_first and any(
                e.refuted and e.claim in session.settings.claims for e in judge(measurement)
            ):
                break
        self._withdraw(self._contradiction())
        self.confirmed = True
        for measurement in session.measurements:
            session.report.add_curve(measurement)

    def evidence(self, complete: bool) -> list[Evidence]:
        if not self.confirmed:
            self._withdraw("the audit ended before real calls were held against the measured laws")
        return [self.session.with_replay(e) for m in self.session.measurements for e in judge(m)]

    def _measure(self, problem: Problem) -> Measurement:
        session = self.session
        if "exact" not in session.settings.levels:
            measurement = measured(problem, session.dtype, (), session.subject.modifies_target)
            measurement.reason = NOT_ASKED
            return measurement
        measurement = session.measure(problem)
        if "never-returned" in measurement.findings:
            session.report.fail("timeout", f"on problem {problem.name}: {measurement.reason}")
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

    def _contradiction(self) -> str | None:
        """Why the measured laws are not to be believed, if there is a reason.

        Code that does not repeat itself on one problem may have been followed wrongly on the others too; and real calls
        must follow the law that was measured, whatever the target's is.
        """
        session = self.session
        if any("state" in measurement.findings for measurement in session.measurements):
            return "on another problem it does not repeat itself when its random numbers are repeated"
        known = sorted((m for m in session.measurements if m.known), key=lambda m: len(m.blocks))
        for measurement in [known[k] for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []:
            if session.sandbox.ended:
                return None
            session.settings.progress(f"sampling {measurement.problem.name} against its measured law", 0, 1)
            try:
                counts = session.sample(measurement.problem, REAL_CALLS)
            except RunFailed as failure:
                session.report.fail(failure.kind, f"on problem {measurement.problem.name}: {failure}")
                return None
            if reason := contradiction(measurement, counts):
                session.report.notice({"state": reason})
                return reason
        return None


def contradiction(measurement: Measurement, counts: Counts) -> str | None:
    """Why the measured law is not the subject's, if real calls say so."""
    law = {o: as_float(p) for o, p in measurement.outcomes().items()}
    fit = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law)
    elsewhere = "it draws randomness from elsewhere"
    if fit.impossible is not None:
        return f"real calls give {outcome_text(fit.impossible[0])}, which the measured law excludes: {elsewhere}"
    if fit.p_value < CONTRADICTED_AT:
        return f"real calls do not follow the measured law (p = {fit.p_value:.1g}): {elsewhere}"
    return None
