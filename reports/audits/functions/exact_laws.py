"""The exact laws of a function on all small problems: measured, withdrawn where a check contradicts them, judged."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from ....models.errors import RunFailed
from ....models.problem import Problem
from ....proofs.audit_claims import judge
from ....proofs.laws.small_law import Measurement
from ....proofs.time_limits import NOT_REACHED
from ....verifiers.evidence import Evidence
from .fresh_process import Elsewhere
from .hints import drafting_hint, padding_hint
from .session import FEW_REAL_CALLS, NOT_ASKED, FunctionSession
from .state import begun_elsewhere, withdraw_for_state
from .wide_laws import WideLaws
from .withdrawal import confirmed_by_real_calls, contradiction, withdrawn_if_not_repeated

NOT_TRIED = "not tried: other problems took too long"
"""The reason for which there is none after those."""

NOT_CONFIRMED = "the audit ended before real calls were compared with the measured distributions"
"""The reason for which there is none where the checks were not made."""

MOST_FAILURES = 1
"""Problems on which the subject may fail before the audit ends: a single one is started anew after it."""

SHARE = 0.55
"""Share of the audit's processor time, if it is limited, for all laws on small problems."""

OF_WHAT_IS_LEFT = 1 / 3
"""Share of the remainder for one law."""

MOST_LATE = 2
"""Problems that may take too long before the others are left out: these have no law, and the audit goes on."""


class ExactLaws:
    """A part of an audit: laws on all problems, compared with real calls and with calls in other surroundings.

    wide: the part that begins beside this one once a law does not refute, and pauses once one does.
    """

    def __init__(self, session: FunctionSession, wide: WideLaws):
        self.session, self.wide = session, wide
        self.checked = self.tried = self.shown = False
        self.ahead: Elsewhere | None = None

    def run(self) -> None:
        try:
            self._run()
        finally:
            if self.ahead:
                self.ahead.end()

    def _run(self) -> None:
        session = self.session
        self._start()
        self._measure_all()
        session.laws = confirmed(session, session.laws)
        session.report.notice(padding_hint(session.laws))
        decided = session.decided(*session.laws)
        self._show_refutation(session.laws)
        if not decided:
            session.laws = withdraw_for_state(session, session.laws, self.ahead)
        session.report.notice(drafting_hint(session.laws, compared=not decided))
        self.checked = True
        for law in session.laws:
            session.report.add_curve(law)

    def evidence(self, complete: bool) -> list[Evidence]:
        session = self.session
        if not self.checked:
            session.laws = [law.withdrawn(NOT_CONFIRMED) for law in session.laws]
        return [session.with_replay(e) for law in session.laws for e in judge(law)]

    def _start(self) -> None:
        """Load the subject; what is known of it then is in the report. Raises: RunFailed."""
        session, report = self.session, self.session.report
        session.settings.progress("loading the subject", 0, len(session.problems))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(import_module, "scipy.special")  # the first comparison with real calls takes it
            about = session.start()
        report.subject |= {"digest": about["digest"], "convention": about["convention"]}
        if program := about["convention"].get("program"):
            report.subject["source"] = program
        report.environment |= about["versions"]
        report.notice(about["findings"])

    def _measure_all(self) -> None:
        session, problems = self.session, self.session.problems
        failures = late = 0
        for k, problem in enumerate(problems):
            session.settings.progress(problem.name, k, len(problems))
            try:
                law = self._measure(problem) if late < MOST_LATE else self._lawless(problem, NOT_TRIED)
            except RunFailed as failure:
                reason = session.failed(failure, f"on problem {problem.name}")
                timeout = failure.kind == "timeout"
                late, failures = late + timeout, failures + (not timeout)
                if failures > MOST_FAILURES or not self._restarted():
                    break
                if not timeout:
                    continue
                law = self._lawless(problem, reason)
            session.laws.append(law)
            session.report.notice(law.findings)
            if law.known and not self.ahead and not session.decided(*session.laws):
                self.ahead = begun_elsewhere(session, law)
                self.wide.begin()
            if session.decided(law) and not self.tried:
                self.tried = True
                self.wide.pause()
                if session.settings.stop_at_first:
                    break
                if self._follows_its_law(law):
                    self._show_refutation([law])

    def _follows_its_law(self, law: Measurement) -> bool:
        """Return whether a few real calls agree with a law. A quick audit of a driven subject has no calls left."""
        session = self.session
        if session.driven and session.settings.quick:
            return False
        try:
            return not contradiction(law, session.sample(law.problem, FEW_REAL_CALLS))
        except RunFailed as failure:
            session.failed(failure, f"real calls on problem {law.problem.name}")
            if session.sandbox.ended:
                self._restarted()
            return False

    def _show_refutation(self, laws: Sequence[Measurement]) -> None:
        """Show the first refutation of these laws, unless one was shown."""
        session = self.session
        law = None if self.shown else next(filter(session.decided, laws), None)
        if law:
            self.shown = True
            first = next(e for e in judge(law) if e.refuted and e.claim in session.settings.claims)
            session.settings.refuted(session.with_replay(first))

    def _measure(self, problem: Problem) -> Measurement:
        session = self.session
        if "exact" not in session.settings.levels:
            return self._lawless(problem, NOT_ASKED)
        left = session.time.left(SHARE)
        law = session.measure(problem, left * OF_WHAT_IS_LEFT) if left else self._lawless(problem, NOT_REACHED)
        if "never-returned" in law.findings:
            session.report.fail("timeout", f"on problem {problem.name}: {law.reason}")
        return law

    def _lawless(self, problem: Problem, reason: str) -> Measurement:
        return self.session.law_from(problem, ()).withdrawn(reason)

    def _restarted(self) -> bool:
        """Start a fresh child after a crash, so that the remaining problems are examined; False if that fails."""
        try:
            self.session.start()
        except RunFailed as failure:
            self.session.report.fail(failure.kind, str(failure))
            return False
        return True


def confirmed(session: FunctionSession, laws: Sequence[Measurement]) -> list[Measurement]:
    """Withdraw laws that real calls deny, on the smallest, a middle and the largest problem."""
    laws = withdrawn_if_not_repeated(laws)
    if session.driven and session.settings.quick:
        return laws  # the requests that confirmed each law were as random, and each had to be foretold
    known = sorted((law for law in laws if law.known), key=lambda law: len(law.blocks))
    chosen = [known[k] for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []
    return confirmed_by_real_calls(session, laws, chosen, session.real_calls)
