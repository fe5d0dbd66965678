"""What the laws that an audit measures, or a whole audit, say of a drawn deceiver."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from draftproof.models.battery import audit_battery, own_problems, toy
from draftproof.models.battery import drawn as drawn_problem
from draftproof.models.errors import RunFailed
from draftproof.models.problem import Problem
from draftproof.models.wide import WideProblem, own_wide_problem, wide_battery
from draftproof.models.wide_positions import SMALL
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.law import Law
from draftproof.proofs.measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.wide_law import WideMeasurement
from draftproof.proofs.wide_measurement import measured_wide
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions.long_blocks import EVERY_LENGTH, laws_of_long_blocks
from draftproof.reports.audits.functions.relations import restated_problems
from draftproof.tests.deceivers.drawn import Drawn, drawn, written
from draftproof.verifiers.evidence import Evidence

REFUTED, WITHHELD, OUTSIDE, ROUNDING, CLEARED = "refuted", "withheld", "outside", "rounding", "false clear"
OUTCOMES = (REFUTED, WITHHELD, OUTSIDE, ROUNDING, CLEARED)
"""Refuted; without a law; the mistake is made where nothing was decided; below what the report calls rounding; none."""

ARRAYS = {"float64": None, "float32": None, "bfloat16": "torch"}
"""Precision of the rows -> what they arrive as."""

TIMEOUT = 15.0
"""Seconds of processor time for a problem."""

GAVE_UP = 2
"""Problems without a law after which the others, wider still, are not tried."""

SOME = (drawn_problem(3, 2, "generic"), drawn_problem(2, 3, "generic"))
"""Problems on which those that count are audited."""


@cache
def sandbox(dtype: str) -> Sandbox:
    """The child process in which all of one precision are measured."""
    return Sandbox("", array=ARRAYS[dtype], dtype=dtype, timeout=TIMEOUT)


@cache
def every_problem() -> tuple[Problem | WideProblem, ...]:
    """Those of a default audit, but for its long blocks."""
    return (*audit_battery(), *own_problems(0), *restated_problems(), *wide_battery(), own_wide_problem(0))


def wrong_on(one: Drawn, problems: Iterable[Problem | WideProblem]) -> list[Problem | WideProblem]:
    """The problems at whose size the mistake is made, cheap ones first; elsewhere it is the right verifier."""

    def work(problem: Problem | WideProblem) -> float:
        return problem.vocabulary if isinstance(problem, WideProblem) else abs(problem.drafts - 9.5)

    return sorted((p for p in problems if one.made_at(p.vocabulary, p.gamma)), key=work)


def speaking_of(one: Drawn, held: Iterable[Evidence]) -> list[Evidence]:
    """Evidence that holds and, by its size and the positions that it says were decided, includes the mistake.

    A region of the rows is taken to be included wherever the sizes are.
    """
    return [
        e
        for e in held
        if one.made_at(e.detail.vocabulary or 0, e.detail.gamma or 0, getattr(e.detail, "decided", None))
    ]


def outcome_of_laws(
    one: Drawn, subject: str, dtype: str, problems: Iterable[Problem | WideProblem], long_blocks: bool = False
) -> tuple[str, str]:
    """The outcome by the laws on these problems, and the problem that refutes, or why; no law is withdrawn here.

    long_blocks: whether on those of an audit too, before the wide ones.
    """
    box, held, lawless = sandbox(dtype), [], list[str]()
    box.load(subject, [toy(1)])

    def law(problem: Problem | WideProblem, paths: int | None = None) -> Law:
        make = measured_wide if isinstance(problem, WideProblem) else measured
        try:
            return make(problem, dtype, box.law(problem, paths=paths))
        except RunFailed as failure:
            box.load(subject, [toy(1)])
            nothing = (
                WideMeasurement(problem, unknown=1.0) if isinstance(problem, WideProblem) else make(problem, dtype, ())
            )
            return nothing.withdrawn(str(failure))

    def laws() -> Iterator[Law]:
        chosen = wrong_on(one, problems)
        yield from map(law, (p for p in chosen if isinstance(p, Problem)))
        if long_blocks:
            yield from laws_of_long_blocks(
                law, 0, [g for g in EVERY_LENGTH if one.made_at(2, g) or one.made_at(SMALL, g)]
            )
        yield from map(law, (p for p in chosen if isinstance(p, WideProblem)))

    for measurement in laws():
        evidence = judge(measurement)[0]
        if evidence.refuted:
            return REFUTED, str(evidence.problem)
        if evidence.holds:
            held.append(evidence)
        elif isinstance(measurement.problem, WideProblem):
            lawless.append(str(evidence.why_undecided))
        else:
            return WITHHELD, str(evidence.why_undecided)
        if len(lawless) >= GAVE_UP:
            break
    return unrefuted(one, held, next(iter(lawless), ""))


def unrefuted(one: Drawn, held: Sequence[Evidence], lawless: str = "") -> tuple[str, str]:
    """The outcome where no law refutes. held: evidence that holds; lawless: why there is none elsewhere."""
    if not (speaking := speaking_of(one, held)):
        return (WITHHELD, lawless) if lawless else (OUTSIDE, f"no problem decides a place with {one.condition.here}")
    allowed = max(float(e.bound or 0) for e in speaking)
    if one.variation <= allowed:
        return ROUNDING, f"TV {one.variation:.2g} on ordinary rows, {allowed:.2g} stated"
    return CLEARED, ", ".join(str(e.problem) for e in speaking[:4])


def outcome_of_audit(
    one: Drawn, subject: str, dtype: str, problems: Sequence[Problem | WideProblem] = ()
) -> tuple[str, str]:
    """The outcome of a whole audit."""
    how = {"array": ARRAYS[dtype], "dtypes": (dtype,), "timeout": TIMEOUT, "samples": 2000}
    report = audit(subject, problems, explain=False, stop_at_first=True, **how)
    if report.verdict == "refuted":
        return REFUTED, next(e.problem or "" for e in report.evidence if e.refuted)
    laws = [e for e in report.evidence if e.claim == "lossless"]
    if report.verdict != "holds":
        reasons = [str(e.why_undecided) for e in laws if not e.holds]
        return WITHHELD, str(report.failure["message"] if report.failure else next(iter(reasons), report.reading))
    calls = int(report.subject.get("calls", 0))
    if one.counted and one.most >= calls:
        return OUTSIDE, f"wrong after {one.most:,} calls, {calls:,} were made"
    return unrefuted(one, [e for e in laws if e.holds])


def examined(dtype: str, number: int, whole: bool = False) -> tuple[str, str]:
    """The outcome of one of them, and why: by its laws, or (whole, and where it counts) by an audit."""
    one = drawn(number, dtype)
    with tempfile.TemporaryDirectory() as folder:
        subject = written(number, dtype, Path(folder))
        if one.counted or whole:
            return outcome_of_audit(one, subject, dtype, SOME if one.counted else ())
        return outcome_of_laws(one, subject, dtype, every_problem(), long_blocks=True)
