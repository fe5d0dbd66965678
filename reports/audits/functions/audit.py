"""Running an audit: measure the subject on problems, judge the claims, look for the smallest witness, diagnose."""

import itertools
import json
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from .... import __version__
from ....models.battery import audit_battery, drawn, toy
from ....models.environment import environment
from ....models.errors import InputError, RunFailed
from ....models.law import Table
from ....models.problem import Problem, as_json
from ....models.rationals import as_float
from ....proofs.audit_claims import judge, lossless, optimal, support
from ....proofs.claims import lemma_8
from ....proofs.diagnosis import diagnose
from ....proofs.field import in_field
from ....proofs.laws import enumerated_law
from ....proofs.measurement import Measurement, measured
from ....proofs.sandbox import MEMORY, Sandbox
from ....proofs.shrink import shrink
from ....verifiers.evidence import HOLDS, NOT_CLAIMED, REFUTED, Evidence
from ....verifiers.registry import Reference
from ....verifiers.zoo.catalogue import MUTANTS
from ...pages.summary import NOT_ASKED
from ..report import Report
from .sampling import OWN_SAMPLES, contradiction, sampled, statistical
from .subject import SubjectSpec

LONGEST_SHRINKING = 30.0
"""Seconds for the search of a smaller witness."""

MOST_BLOCKS = 5_000
"""Draft blocks of a problem that an audit runs a verifier on, each for every way its chance can fall."""

MOST_BLOCKS_COMPARED = 9
"""Draft blocks of a problem beyond which it is not used to tell known defects apart."""

Progress = Callable[[str, int, int], None]


@dataclass
class Settings:
    """What an audit examines and how long it may take.

    problems: the audit battery if none are given. levels: "exact", "statistical" (taken where the exact route is
    not open; on its own it is taken for all). claims: those that decide the verdict.
    """

    problems: Sequence[Problem] = ()
    levels: tuple[str, ...] = ("exact", "statistical")
    claims: tuple[str, ...] = ("lossless",)
    seed: int = 0
    timeout: float = 60.0
    memory: float = MEMORY
    samples: int = 20_000
    stop_at_first: bool = False
    explain: bool = True
    progress: Progress = field(default=lambda what, done, of: None)


def run_audit(subject: SubjectSpec, settings: Settings | None = None) -> Report:
    """The report of an audit. Whatever goes wrong with the subject is told in the report, not raised."""
    settings = settings or Settings()
    report = Report(
        subject={"name": subject.name, "source": subject.source, "digest": "unknown", "dtypes": list(subject.dtypes)},
        claims=settings.claims,
        seed=settings.seed,
        environment=environment(),
    )
    for problem in settings.problems:
        if problem.vocabulary**problem.gamma > MOST_BLOCKS:
            raise InputError(
                f"{problem.name}: {problem.vocabulary}^{problem.gamma} draft blocks are too many for an audit; "
                f"expected at most {MOST_BLOCKS:,}"
            )
    if subject.reference is not None:
        _audit_reference(subject, settings, report)
    else:
        for dtype in subject.dtypes:
            _audit_foreign(subject, dtype, settings, report)
            if report.failure and not any(e.verdict == HOLDS for e in report.evidence):
                break
    return report


def _named(problems: Sequence[Problem]) -> list[Problem]:
    """The problems, each with a name of its own: evidence refers to them by name."""
    named: list[Problem] = []
    for problem in problems:
        taken = {p.name for p in named}
        name = next(
            n for k in itertools.count(1) if (n := problem.name if k == 1 else f"{problem.name}-{k}") not in taken
        )
        named.append(replace(problem, name=name))
    return named


# ---------------------------------------------------------------- reference verifiers


def _audit_reference(subject: SubjectSpec, settings: Settings, report: Report) -> None:
    """A reference verifier is enumerated over exact rationals: no rounding, no interception."""
    verifier = subject.reference
    report.subject["digest"] = f"draftproof {__version__}"
    problems = _named(settings.problems) or audit_battery()
    for k, problem in enumerate(problems):
        settings.progress(problem.name, k, len(problems))
        exact = in_field(problem)
        found = Measurement(problem, exact, {(): enumerated_law(exact, verifier)})
        evidence = _judge_modifying(found, verifier) if verifier.modifies_target else judge(found)
        _with_replay(evidence, subject, settings)
        report.add(found, evidence)
    settings.progress("done", len(problems), len(problems))


def _judge_modifying(found: Measurement, verifier: Reference) -> list[Evidence]:
    """Of Algorithm 6: lossless as Lemma 8 states it, over two iterations where the models go on that far."""
    endless = not isinstance(found.problem.target, Table)
    nested = lemma_8(found.in_use, verifier, iterations=2 if endless else 1)
    nested.claim, nested.total_variation = "lossless", as_float(nested.total_variation)
    nested.detail = {"exactness": "exact", "dtype": "exact", "loop": "Algorithm 6, completed as Lemma 8 prescribes"}
    if nested.witness:
        nested.witness["problem"] = as_json(found.problem)
    accepts = optimal(found)
    accepts.verdict, accepts.witness = NOT_CLAIMED, None
    accepts.detail["why"] = "not valid in the plain loop, so Theorem 2 does not bound it"
    return [nested, support(found), accepts]


# ---------------------------------------------------------------- foreign code


def _audit_foreign(subject: SubjectSpec, dtype: str, settings: Settings, report: Report) -> None:
    problems = _named(settings.problems) or audit_battery()
    failed: list[Problem] = []

    def measure(problem: Problem) -> Measurement:
        return measured(problem, dtype, sandbox.law(problem), subject.modifies_target)

    with Sandbox(
        subject.target, subject.array, dtype, timeout=settings.timeout, memory=settings.memory, torch=subject.torch
    ) as sandbox:
        try:
            settings.progress("loading the subject", 0, len(problems))
            about = sandbox.start(_probe(problems))
        except RunFailed as failure:
            report.fail(failure.kind, str(failure))
            return
        report.subject |= {"digest": about["digest"], "convention": about["convention"]}
        report.environment |= about["versions"]
        report.notice(about["findings"])
        measurements: list[tuple[Measurement, list[Evidence]]] = []
        lawless: list[Measurement] = []
        kept: list[tuple[Measurement, list[Evidence]]] = []
        for k, problem in enumerate(problems):
            settings.progress(problem.name, k, len(problems))
            try:
                found = measure(problem) if "exact" in settings.levels else None
            except RunFailed as failure:
                report.fail(failure.kind, f"on problem {problem.name}: {failure}")
                failed.append(problem)
                if len(failed) > 1 or not _again(sandbox, problems, report):
                    break
                continue
            if found is None:
                found = measured(problem, dtype, (), subject.modifies_target)
                found.reason = NOT_ASKED
            if "never-returned" in found.findings:
                report.fail("timeout", f"on problem {problem.name}: {found.reason}")
            judged = judge(found)
            measurements.append((found, judged))
            if settings.stop_at_first and any(e.verdict == REFUTED and e.claim in settings.claims for e in judged):
                break
        doubt = _doubt(sandbox, [found for found, _ in measurements], settings, report)
        if doubt:
            for found, _ in measurements:
                found.reason = found.reason or doubt
            measurements = [(found, judge(found)) for found, _ in measurements]
        for found, judged in measurements:
            if found.known:
                kept.append((found, judged))
            else:
                lawless.append(found)
            _with_replay(judged, subject, settings, dtype)
            report.add(found, judged)
        if lawless and "statistical" in settings.levels:
            sampled = statistical(subject, sandbox, lawless, settings, report, dtype)
            _with_replay(sampled, subject, settings, dtype)
            report.add(None, sampled)
        if settings.explain and not sandbox.ended:
            _explain(subject, sandbox, measure, kept, settings, report, dtype)
    settings.progress("done", len(problems), len(problems))


def _doubt(sandbox: Sandbox, measurements: list[Measurement], settings: Settings, report: Report) -> str | None:
    """Why the measured laws are not to be believed, if there is a reason.

    Code that does not repeat itself on one problem may have been followed wrongly on the others too; and real samples
    must follow the law that was measured, whatever the target's is.
    """
    if any("state" in found.findings for found in measurements):
        return "on another problem it does not repeat itself when its random numbers are repeated"
    known = sorted((m for m in measurements if m.known), key=lambda m: len(m.blocks))
    for found in [known[k] for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []:
        settings.progress(f"sampling {found.problem.name} against its measured law", 0, 1)
        try:
            if sandbox.ended:
                return None
            counts = sampled(sandbox, found.problem, OWN_SAMPLES, settings.seed, report)
        except RunFailed as failure:
            report.fail(failure.kind, f"on problem {found.problem.name}: {failure}")
            return None
        reason = contradiction(found, counts)
        if reason:
            report.notice({"state": reason})
            return reason
    return None


def _probe(problems: Sequence[Problem]) -> list[Problem]:
    """Problems to find the calling convention with: the given ones first, then plain ones."""
    return [*problems[:2], toy(1), drawn(3, 2, "generic")]


def _again(sandbox: Sandbox, problems, report) -> bool:
    """A fresh child after a crash, so that the remaining problems are still examined."""
    try:
        sandbox.start(_probe(problems))
    except RunFailed as failure:
        report.fail(failure.kind, str(failure))
        return False
    return True


def _with_replay(evidence: Iterable[Evidence], subject: SubjectSpec, settings: Settings, dtype: str = "exact") -> None:
    for item in evidence:
        if item.verdict == REFUTED and item.witness:
            item.replay = replay(subject, item, settings, dtype)


def replay(subject: SubjectSpec, item: Evidence, settings: Settings, dtype: str) -> str:
    """The command that shows one refutation again."""
    problem = json.dumps(item.witness["problem"], separators=(",", ":"))
    words = ["draftproof", "audit", subject.name, "--problem", problem]
    if item.claim != "lossless":
        words += ["--claims", item.claim]
    if dtype != "exact" and (dtype != "float64" or len(subject.dtypes) > 1):
        words += ["--dtype", dtype]
    if subject.given_array:
        words += ["--array", subject.given_array]
    if item.method == "chi-square":
        words += ["--level", "statistical", "--seed", str(settings.seed), "--samples", str(settings.samples)]
    return shlex.join(words)


# ---------------------------------------------------------------- why, and the smallest case


def _explain(subject, sandbox, measure, kept: list, settings: Settings, report: Report, dtype: str) -> None:
    """kept: the measurements with a known law, each with what was judged of it."""
    refuted = [any(e.claim == "lossless" and e.verdict == REFUTED for e in judged) for _, judged in kept]
    failing = [found for (found, _), failed in zip(kept, refuted) if failed]
    passing = [found for (found, _), failed in zip(kept, refuted) if not failed]
    if not failing:
        return
    smallest = min(failing, key=lambda m: m.problem.vocabulary**m.problem.gamma)

    def law_on(problem: Problem) -> Measurement | None:
        try:
            found = measure(problem)
        except RunFailed:
            return None
        return found if found.known else None

    def fails(problem: Problem) -> bool:
        found = None if sandbox.ended else law_on(problem)
        return found is not None and lossless(found).verdict == REFUTED

    settings.progress("looking for the smallest witness", 0, 1)
    until = time.monotonic() + LONGEST_SHRINKING
    shrunk = shrink(smallest.problem, lambda problem: time.monotonic() < until and fails(problem))
    found = law_on(shrunk) if not sandbox.ended else None
    if found is not None and lossless(found).verdict == REFUTED:
        evidence = [lossless(found)]
        _with_replay(evidence, subject, settings, dtype)
        report.add(found, evidence, smallest=True)
    settings.progress("comparing with known defects", 0, 1)
    # Small problems first: most mutants are told apart there. The largest are left out, they only cost time.
    ranked = sorted(failing, key=lambda m: (m.problem.vocabulary**m.problem.gamma, m.problem.name))
    telling = [m for m in ranked if len(m.blocks) <= MOST_BLOCKS_COMPARED][-3:] or ranked[:1]
    passed = [m for m in passing if len(m.blocks) <= MOST_BLOCKS_COMPARED][-1:]
    if len(telling) + len(passed) < 3 and not sandbox.ended:
        # One problem cannot tell defects apart: two that can, measured for this alone.
        passed += filter(None, map(law_on, (drawn(3, 2, "generic"), drawn(3, 2, "zeros"))))
    report.diagnosis += _diagnosis([*telling, *passed], settings)


def _diagnosis(measurements: list[Measurement], settings: Settings) -> list[dict]:
    with Sandbox("", timeout=settings.timeout, memory=settings.memory) as sandbox:

        def measure(entry, measurement):
            try:
                if sandbox.subject != entry.name:
                    sandbox.load(entry.target, _probe([]))
                    sandbox.subject = entry.name
                return measured(measurement.problem, "float64", sandbox.law(measurement.problem))
            except RunFailed:
                return None

        return diagnose(measurements, list(MUTANTS.values()), measure)
