"""What the laws that an audit measures, or a whole audit, say of a drawn deceiver."""

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from draftproof.benchmarks.drawn_deceivers.drawn import Drawn, drawn, written
from draftproof.models.battery import audit_battery, own_problems, toy
from draftproof.models.battery import drawn as drawn_problem
from draftproof.models.errors import RunFailed
from draftproof.models.long_blocks import LENGTHS, SMALL, apart, regions, together
from draftproof.models.path_rows import path_battery
from draftproof.models.problem import Problem
from draftproof.models.wide import WideProblem, own_wide_problem, wide_battery
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.law import Law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_law import WideMeasurement
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions.problems import restated_problems
from draftproof.reports.audits.functions.wide_laws import EVERY_LENGTH, LIKELIEST, laws_of_long_blocks
from draftproof.verifiers.evidence import Evidence

REFUTED, WITHHELD, OUTSIDE, ROUNDING, CLEARED = "refuted", "withheld", "outside", "rounding", "false clear"
OUTCOMES = (REFUTED, WITHHELD, OUTSIDE, ROUNDING, CLEARED)
"""Refuted; without a law; the mistake is made where nothing was decided; below what the report calls rounding; none."""

ARRAYS = {"float64": None, "float32": None, "bfloat16": "torch"}
"""Precision of the rows -> what they arrive as."""

TIMEOUT, AT_FIRST = 15.0, 4.0
"""Seconds of processor time for a problem; what has no law within the second is tried again only where another law
would clear it."""

ENOUGH = 6
"""Laws that include a mistake and state more rounding than it moves ordinary rows by, after which no other is tried."""

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
    small = (*audit_battery(), *own_problems(0), *path_battery(), *restated_problems())
    return (*small, *wide_battery(), own_wide_problem(0))


def wrong_on(one: Drawn, problems: Iterable[Problem | WideProblem]) -> list[Problem | WideProblem]:
    """The problems at whose size the mistake is made, cheap ones first; elsewhere it is the right verifier."""

    def work(problem: Problem | WideProblem) -> float:
        if isinstance(problem, Problem):
            return abs(problem.drafts - 9.5)
        return problem.count(problem.gamma) * (problem.vocabulary + 2000)

    return sorted((p for p in problems if one.made_at(p.vocabulary, p.gamma)), key=work)


def speaking_of(one: Drawn, held: Iterable[Evidence], emitted: Mapping[str, AbstractSet[int]]) -> list[Evidence]:
    """Evidence that holds and, by its size, the positions that it says were decided, and the ids of wide vocabularies
    that were drafted there, or that calls emitted, includes the mistake: reports name what ids they say nothing of, and
    that what needs two things together is not examined where no problem has both.

    A region of the rows is taken to be included wherever the sizes are.
    """
    return [
        e
        for e in held
        if one.made_at(e.detail.vocabulary or 0, e.detail.gamma or 0, getattr(e.detail, "decided", None))
        and meets_an_id(one, e, emitted)
    ]


@cache
def wide_problems() -> dict[str, WideProblem]:
    """Those of an audit by name, long blocks included."""
    lengths = [*map(together, LENGTHS), *(apart(g, pairs=pairs) for g in LENGTHS for pairs in (False, True))]
    every = (*every_problem(), *lengths, *(p for g in EVERY_LENGTH for p in regions(g)))
    return {p.name: p for p in every if isinstance(p, WideProblem)}


def meets_an_id(one: Drawn, e: Evidence, emitted: Mapping[str, AbstractSet[int]]) -> bool:
    """Whether an id at which the mistake is made, where it needs one, was met where it is made."""
    where, problem = one.condition.here, wide_problems().get(str(e.problem))
    if problem is None or not re.search(r"\bx\b", where):
        return True
    met = [*problem.live]
    if one.wrong.place == "y":
        met = [tuple(emitted.get(problem.name, range(problem.vocabulary)))] * (problem.gamma + 1)
    sizes = {"V": problem.vocabulary, "gamma": problem.gamma}
    return any(bool(np.any(eval(where, {}, {**sizes, "x": np.array(ids), "i": i}))) for i, ids in enumerate(met))


def probing(small: Sequence[Problem], lengths: Sequence[int]) -> list[Problem | WideProblem]:
    """A few problems of an audit that are cheap and refute most of what any does."""
    return [*small[:3], *(p for gamma in lengths[:2] for p in regions(gamma)), *small[3:6]]


class Laws:
    """Evidence from the laws of one of them, up to one that refutes. late: problems without one for their time."""

    def __init__(self, one: Drawn, subject: str, dtype: str, seconds: float = AT_FIRST):
        self.one, self.subject, self.dtype, self.seconds = one, subject, dtype, seconds
        self.held: list[Evidence] = []
        self.emitted: dict[str, AbstractSet[int]] = {}
        self.late: list[Problem | WideProblem] = []
        self.undecided = self.refuting = ""
        self.rounding = 0
        sandbox(dtype).load(subject, [toy(1)])

    def law(self, problem: Problem | WideProblem, paths: int | None = None) -> Law:
        """A law, or none."""
        box, wide = sandbox(self.dtype), isinstance(problem, WideProblem)
        try:
            law = (measured_wide if wide else measured)(
                problem, self.dtype, box.law(problem, paths=paths, seconds=self.seconds)
            )
        except RunFailed as failure:
            box.load(self.subject, [toy(1)])
            nothing = WideMeasurement(problem, unknown=1.0) if wide else measured(problem, self.dtype, ())
            law = replace(nothing.withdrawn(str(failure)), out_of_scope=failure.kind == "timeout")
        if not law.tells and law.out_of_scope and paths is None:  # of all positions together a few ways may be enough
            self.late.append(problem)
        return law

    def refuted(self, laws: Iterable[Law]) -> bool:
        """Whether one of these refutes; what the others say is kept."""
        for law in laws:
            evidence = judge(law)[0]
            if evidence.refuted:
                self.refuting = str(evidence.problem)
                return True
            if evidence.holds:
                self.held.append(evidence)
                if isinstance(law, WideMeasurement):
                    self.emitted[str(evidence.problem)] = law.ids
                below = self.one.variation <= float(evidence.bound or 0)
                rounding = below and speaking_of(self.one, [evidence], self.emitted)
                self.rounding += bool(rounding)
                if self.rounding >= ENOUGH:
                    break
            elif law.tells or not law.out_of_scope:
                self.undecided = self.undecided or str(evidence.why_undecided)
            elif len(self.late) >= GAVE_UP:
                break
        return False


def outcome_of_laws(
    one: Drawn,
    subject: str,
    dtype: str,
    problems: Iterable[Problem | WideProblem],
    long_blocks: bool = False,
    at_first: float = AT_FIRST,
) -> tuple[str, str]:
    """The outcome by the laws on these problems, and the problem that refutes, or why; no law is withdrawn here.

    long_blocks: whether on those of an audit too, before the wide ones. at_first: seconds for a problem.
    """
    chosen, laws = wrong_on(one, problems), Laws(one, subject, dtype, at_first)
    lengths = [g for g in EVERY_LENGTH if long_blocks and (one.made_at(2, g) or one.made_at(SMALL, g))]
    doubles = "vectorised" in one.style  # the laws of shorter blocks would show it
    small = [p for p in chosen if isinstance(p, Problem)]
    wide = [p for p in chosen if isinstance(p, WideProblem)]
    probe = Laws(one, subject, dtype, at_first)
    if probe.refuted(map(probe.law, probing(small, lengths))) or probe.refuted(
        probe.law(together(g), LIKELIEST) for g in lengths if g in LENGTHS
    ):
        return REFUTED, probe.refuting
    every = (map(laws.law, small), laws_of_long_blocks(laws.law, 0, lengths, doubles))
    if any(laws.refuted(some) for some in every):
        return REFUTED, laws.refuting
    tried: list[Problem | WideProblem] = []
    if laws.refuted(laws.law(p) for p in wide if not tried.append(p)):
        return REFUTED, laws.refuting
    late, laws.late = laws.late, []
    laws.seconds = TIMEOUT
    # nothing is cleared before everything else was tried with more time
    again = late and laws.rounding < ENOUGH and speaking_of(one, laws.held, laws.emitted)
    if again and laws.refuted(map(laws.law, [*late, *wide[len(tried) :]])):
        return REFUTED, laws.refuting
    if laws.undecided:
        return WITHHELD, laws.undecided
    return unrefuted(one, laws.held, laws.emitted, f"no law within {at_first:g} s on {late[0].name}" if late else "")


def unrefuted(
    one: Drawn, held: Sequence[Evidence], emitted: Mapping[str, AbstractSet[int]], lawless: str = ""
) -> tuple[str, str]:
    """The outcome where no law refutes. held: evidence that holds; lawless: why there is none elsewhere."""
    if not (speaking := speaking_of(one, held, emitted)):
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
    laws = [e for e in report.evidence if e.claim == "lossless"]
    if report.verdict == "refuted":
        return REFUTED, next(e.problem or "" for e in laws if e.refuted)
    if report.verdict != "holds":
        reasons = [str(e.why_undecided) for e in laws if not e.holds]
        return WITHHELD, str(report.failure["message"] if report.failure else next(iter(reasons), report.reading))
    calls = int(report.subject.get("calls", 0))
    if one.counted and one.most >= calls:
        return OUTSIDE, f"wrong after {one.most:,} calls, {calls:,} were made"
    return unrefuted(one, [e for e in laws if e.holds], {})


def examined(dtype: str, number: int, whole: bool = False, at_first: float = AT_FIRST) -> tuple[str, str]:
    """The outcome of one of them, and why: by its laws, or (whole, and where it counts) by an audit."""
    one = drawn(number, dtype)
    with tempfile.TemporaryDirectory() as folder:
        subject = written(number, dtype, Path(folder))
        if one.counted or whole:
            return outcome_of_audit(one, subject, dtype, SOME if one.counted else ())
        return outcome_of_laws(one, subject, dtype, every_problem(), long_blocks=True, at_first=at_first)
