"""The audit of a verifier given as a function: a report from a subject and settings; samples where no law is exact."""

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

from ....models.battery import audit_battery, own_problems
from ....models.companions import SINGLE, companions
from ....models.errors import InputError, RunFailed
from ....models.problem import AnyProblem, Problem, as_json, size_of
from ....models.regions import covered
from ....models.wide import WideProblem, backwards, exchanged, own_wide_problem, wide_battery
from ....proofs.driven.declared import SIGNIFICAND
from ....proofs.laws.small_law import Measurement
from ....proofs.rounding.rule import sampling_slack
from ....proofs.time_limits import ProcessorTime
from ....stattests.arguments import ALPHA, BETA
from ....verifiers.details import SamplesDetail
from ....verifiers.evidence import REFUTED, Evidence, Method
from ..completed_law import Counts, completed_law, verdict_of_counts
from ..report import Report
from ..runner import examine
from ..sandboxed import sandbox_of, with_stated_numbers
from ..settings import AuditSettings
from ..subject import SubjectSpec
from .exact_laws import ExactLaws, ReferenceLaws, WithoutGenerator
from .explanation import Explanation
from .hints import precision_hint
from .relations import BatchInfluence, Relations, restated_problems
from .session import TOO_LONG, FunctionSession, ways_asked_for
from .wide_laws import WideLaws

MOST_BLOCKS = 5_000
"""Draft blocks of a problem that an audit runs a verifier on, each for every way its chance can fall."""


def run_audit(subject: SubjectSpec, settings: AuditSettings | None = None) -> Report:
    """Audit a verifier. Whatever goes wrong with the subject is in the report, not raised.

    Raises: InputError for a problem that is too large.
    """
    settings = settings or AuditSettings()
    report = Report.begin(subject.name, subject.source, subject.dtypes, settings.seed, settings.claims)
    given = _distinctly_named(settings.problems)
    problems = [p for p in given if isinstance(p, Problem)] or (
        [] if given else [*audit_battery(), *own_problems(settings.seed)]
    )
    if subject.modifies_target and (asking := next((p for p in problems if p.law), None)):
        raise InputError(
            f"{asking.name}: it declares a law, and {subject.name} modifies the target; expected none here"
        )
    related = not given and not settings.quick and subject.reference is None
    if related:
        problems += [p for p in restated_problems() if p.name not in {known.name for known in problems}]
    wide = [p for p in given if isinstance(p, WideProblem)] or ([] if given or settings.quick else _wide(settings))
    long_blocks = not given and not settings.quick and settings.wide is None
    if subject.reference is not None and given and not problems:
        raise InputError(f"{given[0].name}: laws of reference verifiers are exact; wide problems have rows of floats")
    if ways_asked_for(settings) and subject.reference is not None:
        raise InputError(f"{subject.name} verifies blocks, and no trees are drawn for it; expected no drafting")
    if subject.reference is not None and (tree := next((p for p in problems if not p.tree.chain), None)):
        raise InputError(f"{tree.name}: it draws a tree of several drafts; expected a problem of a single path")
    if subject.reference is not None:
        problems = _with_companions(problems, SINGLE)
        reference = ReferenceLaws(subject.reference, problems, settings, report)
        examine(report, [reference])
        report.regions["exact"] = covered((m.problem, m.tolerance) for m in reference.laws)
        return report
    if settings.quick and not given:
        report.subject["quick"] = True
    if settings.uniform_bits:
        report.subject["uniform_bits"] = settings.uniform_bits
    if subject.handed_over and (by_name := subject.handed_over["by_name"]):
        report.subject["not_compared"] = by_name
    if given:  # of one name there can be others
        report.subject["problems"] = {problem.name: _digest(problem) for problem in given}
    limits = {"timeout": settings.timeout, "memory": settings.memory}
    if subject.program:
        try:
            subject = with_stated_numbers(subject, **limits)
        except RunFailed as failure:
            report.fail(failure.kind, str(failure))
            return report
        report.subject["dtypes"] = list(subject.dtypes)
    problems = _with_companions(problems, min(SINGLE, *(SIGNIFICAND[dtype] for dtype in subject.dtypes)))
    for dtype in subject.dtypes:
        left = ProcessorTime()
        with sandbox_of(subject, dtype, **limits, handed_over=subject.handed_over, time=left) as sandbox:
            session = FunctionSession(subject, dtype, problems, settings, report, sandbox, time=left)
            parts = [
                BatchInfluence(session),
                Samples(session),
                Relations(session, related),
                WithoutGenerator(session),
                WideLaws(session, wide, long_blocks),
                Explanation(session),
            ]
            if examine(report, [ExactLaws(session), *parts]):
                settings.progress("done", len(problems), len(problems))
            report.subject["calls"] = max(report.subject.get("calls", 0), sandbox.calls)
            report.notice(sandbox.side_effects())
        if not session.trees:  # regions are those of blocks
            report.regions[dtype] = covered((m.problem, m.tolerance) for m in session.laws if m.known)
        report.notice(precision_hint(report.evidence))
        late, examined = report.findings.get(TOO_LONG), any(e.holds or e.method.sampled for e in report.evidence)
        untrusted = session.withheld and not left.left()  # there are laws, and was no time to see whether they hold
        if late and not examined and not untrusted:
            report.fail("timeout", late)  # nothing was examined to its end
        if report.interrupted or (report.failure and not any(e.holds for e in report.evidence)):
            break
    return report


def _with_companions(problems: Sequence[Problem], bits: int) -> list[Problem]:
    """The problems, and the companions of those that declare a law."""
    return [*problems, *(companion for problem in problems for companion in companions(problem, bits))]


def _digest(problem: AnyProblem) -> str:
    return hashlib.sha256(json.dumps(as_json(problem), sort_keys=True).encode()).hexdigest()


def _wide(settings: AuditSettings) -> Sequence[WideProblem]:
    """The wide problems of an audit to which no problem was given."""
    own = own_wide_problem(settings.seed)
    return settings.wide if settings.wide is not None else [*wide_battery(), own, backwards(own), exchanged(own)]


def _distinctly_named(problems: Sequence[AnyProblem]) -> list[AnyProblem]:
    """The problems, each with a name of its own: evidence refers to them by name.

    Raises: InputError for one that is too large.
    """
    named: list[AnyProblem] = []
    for problem in problems:
        if isinstance(problem, Problem) and problem.drafts > MOST_BLOCKS:
            what = f"{problem.vocabulary}^{problem.gamma} draft blocks"
            what = what if problem.tree.chain else f"{problem.drafts:,} draft trees"
            raise InputError(f"{problem.name}: {what} are too many for an audit; expected at most {MOST_BLOCKS:,}")
        taken = {p.name for p in named}
        names = (problem.name if k == 1 else f"{problem.name}-{k}" for k in itertools.count(1))
        named.append(replace(problem, name=next(name for name in names if name not in taken)))
    return named


MOST_PROBLEMS = 6
"""Problems without a law that are sampled, from the smallest to the largest."""


class Samples:
    """Samples of the completed tokens against the target's law (Lemma 2).

    Guarantee: a lossless subject is refuted with probability at most ALPHA, all problems and dtypes together: every
    route to a refutation of one problem has its share of that problem's rate, at any number of samples.
    """

    def __init__(self, session: FunctionSession):
        self.session = session
        self.judged: list[Evidence] = []

    def run(self) -> None:
        session = self.session
        lawless = [m for m in session.laws if not m.known and not m.out_of_scope]
        if not lawless or "statistical" not in session.settings.levels:
            return
        ranked = sorted(lawless, key=lambda m: (m.problem.drafts, m.problem.name))
        last, steps = len(ranked) - 1, MOST_PROBLEMS - 1
        chosen = [ranked[k] for k in sorted({round(i * last / steps) for i in range(MOST_PROBLEMS)})]
        alpha = ALPHA / (len(chosen) * len(session.subject.dtypes))
        for k, measurement in enumerate(chosen):
            problem = measurement.problem
            session.settings.progress(f"sampling {problem.name}", k, len(chosen))
            try:
                counts = session.sample(problem, session.settings.samples)
            except RunFailed as failure:
                session.failed(failure, f"on problem {problem.name}")
                continue
            self.judged.append(goodness(measurement, counts, alpha, session.settings.seed))
            if session.settings.stop_at_first and self.judged[-1].refuted:
                break

    def evidence(self, complete: bool) -> list[Evidence]:
        return [self.session.with_replay(e) for e in self.judged]


def goodness(measurement: Measurement, counts: Counts, alpha: float, seed: int) -> Evidence:
    """One problem's counts compared with the target's law, and what they could have shown.

    alpha: the rate of false alarms of this problem.
    seed: of the completion.
    """
    problem, dtype = measurement.problem, measurement.dtype
    law = completed_law(problem, measurement.modifies_target, measurement.in_use)
    sequences, malformed = law.completed(counts, seed)
    slack = sampling_slack(measurement.in_use, dtype, measurement.modifies_target)
    deviation = law.deviation(sequences, malformed, slack, alpha)
    fit = deviation.fit
    detail = SamplesDetail(
        samples=sum(counts.values()), statistic=fit.statistic if fit.impossible is None else None,
        degrees_of_freedom=fit.freedom, p_value=deviation.p_value, p_value_by=fit.method,
        total_variation_at_least=deviation.distance.lower, total_variation_at_most=deviation.distance.upper,
        rounding_allowed=slack, false_alarm_rate=alpha, miss_rate=BETA, dtype=dtype, why_not_exact=measurement.reason,
        **size_of(problem),
    )  # fmt: skip
    verdict = verdict_of_counts(deviation, slack)
    witness = law.witness(sequences, malformed, fit) if verdict == REFUTED else None
    return Evidence(
        claim="lossless", method=Method.CHI_SQUARE, verdict=verdict, problem=problem.name, bound=deviation.limit,
        witness=witness, detail=detail,
    )  # fmt: skip
