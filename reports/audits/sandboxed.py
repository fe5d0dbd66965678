"""A subject in its child process: what every run that calls one of its functions begins with."""

from typing import Any

from ...models.battery import drawn, toy
from ...models.problem import AnyProblem, Problem
from ...proofs.interception.outcomes import decoded
from ...proofs.sandbox import Sandbox
from .completed_law import Counts
from .subject import SubjectSpec


def sandbox_of(subject: SubjectSpec, dtype: str, **more: Any) -> Sandbox:
    """Return the sandbox in which a subject is called with rows of a dtype. more: options of ``Sandbox``."""
    given: dict[str, Any] = {"array": subject.array} | more
    return Sandbox(
        subject.target, dtype=dtype, torch=subject.torch, folders=subject.folders, program=subject.program, **given
    )


def probe_problems(problems: list[Problem]) -> list[Problem]:
    """Return problems to find the calling convention with: the given ones first, then plain ones."""
    return [*problems[:2], toy(1), drawn(3, 2, "generic")]


def with_stated_numbers(subject: SubjectSpec, **limits: Any) -> SubjectSpec:
    """Return a program with the dtype that its first line states. limits: options of ``Sandbox``. Raises: RunFailed."""
    with Sandbox(subject.target, program=True, **limits) as sandbox:
        return subject._replace(dtypes=(sandbox.start(probe_problems([]))["convention"]["dtype"],))


def sampled(sandbox: Sandbox, problem: AnyProblem, count: int, seed: int) -> tuple[Counts, dict[str, str]]:
    """Count outcomes with real random numbers, in a fresh child if there is none; return what was noticed, too.

    Raises: RunFailed.
    """
    if sandbox.ended:
        sandbox.start(probe_problems([problem] if isinstance(problem, Problem) else []))
    counts: Counts = {}
    findings: dict[str, str] = {}
    for answer in sandbox.sample(problem, count, seed):
        for outcome, n in answer.get("counts", ()):
            counts[decoded(outcome)] = counts.get(decoded(outcome), 0) + n
        findings |= answer.get("findings") or {}
    return counts, findings
