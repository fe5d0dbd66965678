"""Running an audit: measure the subject on problems, judge the claims, look for the smallest witness, diagnose."""

import json
import platform
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .. import __version__
from ..models.battery import audit_battery, drawn, toy
from ..models.law import Table
from ..models.problem import Problem, as_json
from ..proofs.audited import judge, lossless, optimal, support
from ..proofs.claims import lemma_8
from ..proofs.diagnosis import diagnose
from ..proofs.laws import as_float, enumerated_law, in_field, joint_law
from ..proofs.measurement import Measurement, measured
from ..proofs.sandbox import MEMORY, Sandbox, SubjectFailed
from ..proofs.shrink import shrink
from ..stattests.completion import completed_counts
from ..stattests.goodness import chi_square, detection_limit
from ..verifiers.evidence import HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence
from ..verifiers.registry import Reference
from ..verifiers.zoo.entries import MUTANTS
from .report import Report
from .subject import SubjectSpec

ALPHA, BETA = 1e-6, 1e-3
"""Error rates of the statistical route: a false alarm in a whole audit, a miss at the detection limit."""

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
    if subject.reference is not None:
        _audit_reference(subject, settings, report)
    else:
        for dtype in subject.dtypes:
            _audit_foreign(subject, dtype, settings, report)
            if report.failure and not any(e.verdict == HOLDS for e in report.evidence):
                break
    return report


def environment() -> dict[str, str]:
    """Versions that the result can depend on."""
    found = {"draftproof": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "sympy", "python-flint", "torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


# ---------------------------------------------------------------- reference verifiers


def _audit_reference(subject: SubjectSpec, settings: Settings, report: Report) -> None:
    """A reference verifier is enumerated over exact rationals: no rounding, no interception."""
    verifier = subject.reference
    report.subject["digest"] = f"draftproof {__version__}"
    problems = list(settings.problems) or audit_battery()
    for k, problem in enumerate(problems):
        settings.progress(problem.name, k, len(problems))
        exact = in_field(problem)
        found = Measurement(problem, exact, {(): enumerated_law(exact, verifier)})
        evidence = judge(found)
        if verifier.modifies_target:
            nested = lemma_8(exact, verifier)
            nested.claim = "lossless"
            nested.detail = {
                "exactness": "exact",
                "dtype": "exact",
                "loop": "Algorithm 6, completed as Lemma 8 prescribes",
            }
            nested.total_variation = float(nested.total_variation)
            evidence[0] = nested
            evidence[2].verdict, evidence[2].witness = NOT_CLAIMED, None
            evidence[2].detail["why"] = "not valid in the plain loop, so Theorem 2 does not bound it"
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
    problems = list(settings.problems) or audit_battery()
    failed: list[Problem] = []
    with Sandbox(
        subject.target, subject.array, dtype, timeout=settings.timeout, memory=settings.memory, torch=subject.torch
    ) as sandbox:
        try:
            settings.progress("loading the subject", 0, len(problems))
            about = sandbox.start(_probe(problems))
        except SubjectFailed as failure:
            report.fail(failure.kind, str(failure))
            return
        report.subject |= {"digest": about["digest"], "convention": about["convention"]}
        report.environment |= about["versions"]
        report.notice(about["findings"])
        measurements: list[tuple[Measurement, list[Evidence]]] = []
        lawless: list[Measurement] = []
        kept: list[Measurement] = []
        for k, problem in enumerate(problems):
            settings.progress(problem.name, k, len(problems))
            try:
                found = measured(problem, dtype, sandbox.law(problem)) if "exact" in settings.levels else None
            except SubjectFailed as failure:
                report.fail(failure.kind, f"on problem {problem.name}: {failure}")
                failed.append(problem)
                if len(failed) > 1 or not _again(sandbox, problems, report):
                    break
                continue
            if found is None:
                found = Measurement(problem, in_field(problem), dtype=dtype, reason="the exact route was not asked for")
            if "never-returned" in found.findings:
                report.fail("timeout", f"on problem {problem.name}: {found.reason}")
            judged = judge(found)
            measurements.append((found, judged))
            if settings.stop_at_first and any(e.verdict == REFUTED and e.claim in settings.claims for e in judged):
                break
        if any("state" in found.findings for found, _ in measurements):
            # Code that does not repeat itself on one problem may have been followed wrongly on the others too.
            for found, _ in measurements:
                found.reason = (
                    found.reason or "on another problem it does not repeat itself when its random numbers are repeated"
                )
            measurements = [(found, judge(found)) for found, _ in measurements]
        for found, judged in measurements:
            (kept if found.known else lawless).append(found)
            _with_replay(judged, subject, settings, dtype)
            report.add(found, judged)
        if lawless and "statistical" in settings.levels:
            _statistical(subject, sandbox, lawless, settings, report, dtype)
        if settings.explain and not sandbox.ended:
            _explain(subject, sandbox, kept, settings, report, dtype)
    settings.progress("done", len(problems), len(problems))


def _probe(problems: Sequence[Problem]) -> list[Problem]:
    """Problems to find the calling convention with: the given ones first, then plain ones."""
    return [*problems[:2], toy(1), drawn(3, 2, "generic")]


def _again(sandbox: Sandbox, problems, report) -> bool:
    """A fresh child after a crash, so that the remaining problems are still examined."""
    try:
        sandbox.start(_probe(problems))
    except SubjectFailed as failure:
        report.fail(failure.kind, str(failure))
        return False
    return True


def _with_replay(evidence: Iterable[Evidence], subject: SubjectSpec, settings: Settings, dtype: str = "exact") -> None:
    for item in evidence:
        if item.verdict == REFUTED and item.witness:
            item.replay = replay(subject, item.witness["problem"], item.claim, dtype)


def replay(subject: SubjectSpec, problem: dict, claim: str, dtype: str) -> str:
    """The command that shows one refutation again."""
    words = ["draftproof", "audit", subject.name, "--problem", json.dumps(problem, separators=(",", ":"))]
    if claim != "lossless":
        words += ["--claims", claim]
    if dtype not in ("exact", "float64"):
        words += ["--dtype", dtype]
    return shlex.join(words)


def _statistical(subject, sandbox, lawless: list[Measurement], settings: Settings, report: Report, dtype: str) -> None:
    """The route that is left where the law cannot be had: samples of the completed tokens against the target."""
    chosen = sorted(lawless, key=lambda m: (m.problem.vocabulary**m.problem.gamma, m.problem.name))
    chosen = [chosen[k] for k in sorted({round(i * (len(chosen) - 1) / 5) for i in range(6)})]
    alpha = ALPHA / len(chosen)
    for k, measurement in enumerate(chosen):
        problem = measurement.problem
        settings.progress(f"sampling {problem.name}", k, len(chosen))
        counts: dict[Any, int] = {}
        try:
            if sandbox.ended:
                sandbox.start(_probe([problem]))
            for answer in sandbox.sample(problem, settings.samples, settings.seed):
                for outcome, n in answer.get("counts", ()):
                    key = tuple(outcome) if isinstance(outcome, list) else f"{outcome['raised']}: {outcome['message']}"
                    counts[key] = counts.get(key, 0) + n
                report.notice(answer.get("findings") or {})
        except SubjectFailed as failure:
            report.fail(failure.kind, f"on problem {problem.name}: {failure}")
            if not counts:
                continue
        evidence = _goodness(measurement, counts, settings, alpha, dtype)
        _with_replay([evidence], subject, settings, dtype)
        report.add(None, [evidence])
        if settings.stop_at_first and evidence.verdict == REFUTED:
            return


def _goodness(measurement: Measurement, counts: dict, settings: Settings, alpha: float, dtype: str) -> Evidence:
    problem, length = measurement.problem, measurement.problem.gamma + 1
    outputs = {o: n for o, n in counts.items() if measurement.is_output(o)}
    strange = {o: n for o, n in counts.items() if o not in outputs}
    n = sum(counts.values())
    target = in_field(problem).target if not measurement.blocks else measurement.in_use.target
    law = {o: as_float(p) for o, p in joint_law(target, length).items()}
    generator = np.random.default_rng([settings.seed, 1])
    done = completed_counts(outputs, target, length, generator)
    result = chi_square({**done, **{str(o): m for o, m in strange.items()}}, law)
    limit = detection_limit(n, max(result.cells, 2), alpha, BETA)
    refuted = result.p_value < alpha
    detail = {
        "samples": n,
        "statistic": result.statistic if result.impossible is None else None,
        "degrees_of_freedom": result.freedom,
        "p_value": result.p_value,
        "false_alarm_rate": alpha,
        "miss_rate": BETA,
        "dtype": dtype,
        "why_not_exact": measurement.reason,
    }
    witness = None
    if refuted:
        worst = result.impossible[0] if result.impossible else max(
            law, key=lambda o: abs(done.get(o, 0) / n - law[o])
        )  # fmt: skip
        key = worst if isinstance(worst, str) else ",".join(map(str, worst))
        seen = done.get(worst, 0) if not isinstance(worst, str) else result.impossible[1]
        witness = {
            "problem": as_json(problem),
            "sequence": key,
            "expected": f"{law.get(worst, 0.0):.6g}",
            "observed": f"{seen}/{n}",
        }
    return Evidence(
        "lossless",
        "chi-square",
        REFUTED if refuted else NO_EVIDENCE,
        problem.name,
        bound=limit,
        witness=witness,
        detail=detail,
    )


# ---------------------------------------------------------------- why, and the smallest case


def _explain(subject, sandbox, kept: list[Measurement], settings: Settings, report: Report, dtype: str) -> None:
    refuted = [
        e for e in report.evidence if e.claim == "lossless" and e.verdict == REFUTED and e.detail["dtype"] == dtype
    ]
    failing = [m for m in kept if any(e.problem == m.problem.name for e in refuted)]
    if not failing:
        return
    smallest = min(failing, key=lambda m: m.problem.vocabulary**m.problem.gamma)

    def law_on(problem: Problem) -> Measurement | None:
        try:
            found = measured(problem, dtype, sandbox.law(problem))
        except SubjectFailed:
            return None
        return found if found.known else None

    def fails(problem: Problem) -> bool:
        found = None if sandbox.ended else law_on(problem)
        return found is not None and lossless(found).verdict == REFUTED

    settings.progress("looking for the smallest witness", 0, 1)
    shrunk = shrink(smallest.problem, fails)
    found = law_on(shrunk) if not sandbox.ended else None
    if found is not None and lossless(found).verdict == REFUTED:
        evidence = [lossless(found)]
        _with_replay(evidence, subject, settings, dtype)
        report.add(found, evidence, smallest=True)
    settings.progress("comparing with known defects", 0, 1)
    # Small problems first: most mutants are told apart there. The largest are left out, they only cost time.
    ranked = sorted(failing, key=lambda m: (m.problem.vocabulary**m.problem.gamma, m.problem.name))
    telling = [m for m in ranked if len(m.blocks) <= MOST_BLOCKS_COMPARED][-3:] or ranked[:1]
    passed = [m for m in kept if m not in failing and len(m.blocks) <= MOST_BLOCKS_COMPARED][-1:]
    if len(telling) + len(passed) < 3 and not sandbox.ended:
        # One problem cannot tell defects apart: two that can, measured for this alone.
        passed += filter(None, map(law_on, (drawn(3, 2, "generic"), drawn(3, 2, "zeros"))))
    report.diagnosis += _diagnosis([*telling, *passed], settings)


def _diagnosis(measurements: list[Measurement], settings: Settings) -> list[dict]:
    with Sandbox("", timeout=settings.timeout, memory=settings.memory) as sandbox:

        def measure(entry, measurement):
            try:
                if sandbox.subject != entry.name:
                    sandbox.load(f"{entry.function.__module__}:{entry.function.__qualname__}", _probe([]))
                    sandbox.subject = entry.name
                return measured(measurement.problem, "float64", sandbox.law(measurement.problem))
            except SubjectFailed:
                return None

        return diagnose(measurements, list(MUTANTS.values()), measure)
