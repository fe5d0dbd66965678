"""The exact routes: laws of third-party functions are measured, withdrawn where a check contradicts them, and judged;
where a generator is optional the law without one, too; reference verifiers are enumerated over rationals.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .... import __version__
from ....models.errors import RunFailed
from ....models.law import Table
from ....models.problem import Problem, size_of
from ....models.rationals import as_float
from ....proofs.audit_claims import judge, optimal, support
from ....proofs.claims import lemma_8
from ....proofs.driven.laws import CONFIRMATIONS, OF_A_LAW
from ....proofs.field import in_field
from ....proofs.laws.reference_laws import enumerated_law
from ....proofs.laws.small_law import NOT_BOUNDED, Measurement
from ....proofs.laws.small_measurement import measured
from ....proofs.time_limits import NOT_REACHED, ProcessorTime
from ....stattests.design import min_detectable_goodness
from ....stattests.goodness import goodness_of_fit
from ....verifiers.details import LawDetail
from ....verifiers.evidence import Evidence, Strength
from ....verifiers.registry import Reference
from ..completed_law import Counts, outcome_text
from ..replay import with_replay
from ..report import Report
from ..settings import QUICK_REQUESTS, AuditSettings
from .hints import drafting_hint, padding_hint
from .session import REAL_CALLS, FunctionSession
from .state import withdraw_for_state

NOT_ASKED = "the exact route was not asked for"
"""The reason for which there is no law where the level excludes it."""

NOT_TRIED = "not tried: other problems took too long"
"""The reason for which there is none after those."""

NOT_CONFIRMED = "the audit ended before real calls were compared with the measured laws"
"""The reason for which there is none where the checks were not made."""

TRIED = 256
"""Requests by which it is found how long one takes."""

MOST_FAILURES = 1
"""Problems on which the subject may fail before the audit ends: a single one is started anew after it."""

SHARE, OF_WHAT_IS_LEFT = 0.55, 1 / 3
"""Of the audit's processor time, if it is limited: for all laws on small problems; of what is left of that, for one."""

MOST_LATE = 2
"""Problems that may take too long before the others are left out: these have no law, and the audit goes on."""


class ExactLaws:
    """The laws on all problems, compared with real calls on three of them, and with calls in other surroundings."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.checked = False

    def run(self) -> None:
        session = self.session
        self._start()
        self._measure_all()
        session.laws = confirmed_by_real_calls(session, session.laws)
        session.report.notice(padding_hint(session.laws))
        decided = session.decided(*session.laws)
        if not decided:
            session.laws = withdraw_for_state(session, session.laws)
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
        about = session.start()
        report.subject |= {"digest": about["digest"], "convention": about["convention"]}
        if program := about["convention"].get("program"):
            report.subject["source"] = program
        report.environment |= about["versions"]
        report.notice(about["findings"])

    def _announce(self) -> None:
        """Say how many requests a subject whose random numbers are inputs is asked, and how long that takes."""
        session, problems = self.session, self.session.problems
        taken = ProcessorTime(session.settings.timeout)
        try:
            session.sample(problems[len(problems) // 2], TRIED)
        except RunFailed:
            session.start()
            return
        every = len(problems) * (CONFIRMATIONS + OF_A_LAW)
        count = min(every, QUICK_REQUESTS // len(session.subject.dtypes)) if session.settings.quick else every
        seconds = min(count * taken.spent() / TRIED, len(problems) * session.settings.timeout, session.time.seconds)
        how_long = f"some {count:,} requests, about {max(seconds, 1):,.0f} s of processor time"
        session.settings.announce(f"asking      {session.subject.name}: {how_long}")

    def _measure_all(self) -> None:
        session, problems = self.session, self.session.problems
        if session.driven:
            self._announce()
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
            if session.settings.stop_at_first and session.decided(law):
                break

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
        lawless = measured(problem, self.session.dtype, (), self.session.subject.modifies_target).withdrawn(reason)
        return replace(lawless, out_of_scope=reason == NOT_REACHED)

    def _restarted(self) -> bool:
        """Whether a fresh child could be started after a crash, so that the remaining problems are examined."""
        try:
            self.session.start()
        except RunFailed as failure:
            self.session.report.fail(failure.kind, str(failure))
            return False
        return True


SUFFIX = "-no-generator"
"""Of the name of the problem on which it is called so."""

MOST_PATHS_COMPARED = 50
"""Ways the random numbers can fall on that problem, at most, if there is a choice: the more, the more is compared."""


class WithoutGenerator:
    """The law on one problem where the argument for randomness is left out."""

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
        answers = session.sandbox.law(problem, hand_in=False)
        law = measured(problem, session.dtype, answers, session.subject.modifies_target, session.subject.own_rule)
        law = law.on_lattice(session.settings.uniform_bits)
        raised = all(isinstance(outcome, str) for outcome in law.outcomes()) if law.known else False
        if law.known and not raised:
            self.law = replace(law, problem=replace(problem, name=problem.name + SUFFIX))
            session.replays[self.law.problem.name] = session.replay_of([problem])
        else:
            why = f"raises: {next(iter(law.outcomes()))}" if raised else f"has no law: {law.reason}"
            session.report.notice({"optional-generator": f"called without a generator it {why}"})

    def evidence(self, complete: bool) -> list[Evidence]:
        return [self.session.with_replay(e) for e in judge(self.law)] if self.law else []


class ReferenceLaws:
    """The exact laws of one of our own verifiers on the problems."""

    def __init__(self, verifier: Reference, problems: list[Problem], settings: AuditSettings, report: Report):
        self.verifier, self.problems, self.settings, self.report = verifier, problems, settings, report
        self.laws: list[Measurement] = []

    def run(self) -> None:
        self.report.subject["digest"] = f"draftproof {__version__}"
        for k, problem in enumerate(self.problems):
            self.settings.progress(problem.name, k, len(self.problems))
            exact = in_field(problem)
            self.laws.append(Measurement(problem, exact, {(): enumerated_law(exact, self.verifier)}))
            self.report.add_curve(self.laws[-1])
        self.settings.progress("done", len(self.problems), len(self.problems))

    def evidence(self, complete: bool) -> list[Evidence]:
        judged = partial(_judge_modifying, verifier=self.verifier) if self.verifier.modifies_target else judge
        evidence = [e for law in self.laws for e in judged(law)]
        return [with_replay(e, [self.report.subject["name"]], self.settings) for e in evidence]


def _judge_modifying(law: Measurement, verifier: Reference) -> list[Evidence]:
    """Of Algorithm 6: lossless as Lemma 8 states it, over two iterations where the models go on that far."""
    iterations = 1 if isinstance(law.problem.target, Table) else 2
    nested = lemma_8(law.in_use, verifier, iterations)
    lossless = replace(
        nested,
        claim="lossless",
        total_variation=as_float(nested.total_variation),
        detail=LawDetail(
            exactness=Strength.EXACT,
            dtype="exact",
            loop="Algorithm 6, completed as Lemma 8 prescribes",
            **size_of(law.problem),
        ),
    )
    not_bounded = optimal(law).not_claimed(NOT_BOUNDED)
    return [lossless, support(law), not_bounded]


CONTRADICTED_AT = 1e-12
"""p-value of the real calls below which a measured law is withdrawn: far below any that a right law meets."""

NOT_REPEATED = "on another problem it does not repeat itself when its random numbers are repeated"


def confirmed_by_real_calls(session: FunctionSession, laws: Sequence[Measurement]) -> list[Measurement]:
    """The laws, withdrawn if they are not to be believed; those that real calls followed say so.

    Code that does not repeat itself on one problem may have been followed wrongly on the others too; and real calls
    must follow the law that was measured, whatever the target's is: on the smallest, a middle and the largest problem.
    """
    laws = list(laws)
    if any("state" in law.findings for law in laws):
        return [law.withdrawn(NOT_REPEATED) for law in laws]
    if session.driven and session.settings.quick:
        return laws  # the requests that confirmed each law were as random, and each had to be foretold
    known = sorted((law for law in laws if law.known), key=lambda law: len(law.blocks))
    for law in [known[k] for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []:
        if session.sandbox.ended:
            break
        session.settings.progress(f"sampling {law.problem.name} against its measured law", 0, 1)
        try:
            counts = session.sample(law.problem, session.real_calls)
        except RunFailed as failure:
            reason = session.failed(failure, f"real calls on problem {law.problem.name}")
            if failure.kind != "timeout":
                break
            confirmed = law if session.decided(law) else law.withdrawn(reason)
        else:
            if reason := contradiction(law, counts):
                session.report.notice({"state": reason})
                return [one.withdrawn(reason) for one in laws]
            limit = detection_limit(law, session.real_calls)
            confirmed = replace(law, real_calls={"calls": session.real_calls, "limit": limit})
        laws[laws.index(law)] = confirmed
    return laws


def detection_limit(law: Measurement, calls: int = REAL_CALLS) -> float:
    """The total variation between measured and real law that so many real calls show, missed once in 1,000."""
    outcomes = sum(p > 0 for p in law.outcomes().values())
    return min_detectable_goodness(calls, max(outcomes, 2), CONTRADICTED_AT)


def contradiction(law: Measurement, counts: Counts) -> str | None:
    """Why the measured law is not the subject's, if real calls say so."""
    expected = {o: as_float(p) for o, p in law.outcomes().items()}
    fit = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | expected)
    elsewhere = "it keeps state between calls, or draws randomness from elsewhere"
    if fit.impossible is not None:
        return f"real calls give {outcome_text(fit.impossible[0])}, which the measured law excludes: {elsewhere}"
    if fit.p_value < CONTRADICTED_AT:
        return f"real calls do not follow the measured law (p = {fit.p_value:.1g}): {elsewhere}"
    return None
