"""The functions that the package offers to Python: audit and law."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...models.errors import InputError
from ...models.problem import AnyProblem, Made, Problem, any_problem_from, load_problem, tree_problem_from
from ...models.wide import WideProblem
from ...proofs.child_process import IN_CHILD
from ...proofs.sandbox import MEMORY
from .functions.audit import run_audit
from .functions.handed_over import handed_over, name_of
from .law_report import law_report
from .report import Report
from .settings import AuditSettings, Progress, silent
from .subject import subject_from


def audit(
    subject: str | Callable,
    problems: Sequence[AnyProblem | dict | str] = (),
    *,
    array: str | None = None,
    dtypes: Sequence[str] = (),
    conventions: Sequence[str] = (),
    wide: Sequence[WideProblem] | None = None,
    quick: bool = False,
    levels: tuple[str, ...] = ("exact", "statistical"),
    claims: tuple[str, ...] = ("lossless",),
    drafting: tuple[str, ...] = (),
    uniform_bits: int | None = None,
    seed: int = 0,
    processor_time: float | None = None,
    timeout: float = 60.0,
    memory: float = MEMORY,
    samples: int = 20_000,
    jobs: int | None = None,
    stop_at_first: bool = False,
    explain: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Audit a verifier and return the report.

    subject: a function or a callable object that a module has under a name, or a name as on the command line. An object
      is audited as it is now, with the values of its module; other modules are imported anew.
    problems: each a Problem or a WideProblem, its JSON form, or a file; the audit battery and the wide problems if none
      are given.
    array: what the rows arrive as, as on the command line.
    dtypes: of the rows.
    conventions: how the function is called, if not plainly, as ``--convention`` has them.
    wide, quick, levels, claims, drafting, uniform_bits, seed, processor_time, timeout, memory, samples, jobs,
      stop_at_first, explain, progress: as in ``AuditSettings``.
    Raises: InputError for bad problems and names, and for an object that has no name in a module; everything the
    subject does wrong is in the report.
    """
    if os.environ.get(IN_CHILD):
        raise InputError(
            "audit() is called while its subject is imported; expected it under if __name__ == '__main__':"
        )
    name, given = (subject, None) if isinstance(subject, str) else (name_of(subject), handed_over(subject))
    spec = subject_from(name, array, tuple(dtypes), tuple(conventions))._replace(
        folders=tuple(sys.path), handed_over=given
    )
    settings = AuditSettings(
        problems=[_problem(p, any_problem_from) for p in problems], wide=wide, quick=quick, levels=levels,
        claims=claims, drafting=drafting, uniform_bits=uniform_bits, seed=seed, processor_time=processor_time,
        timeout=timeout, memory=memory, samples=samples, jobs=jobs, stop_at_first=stop_at_first, explain=explain,
        progress=progress or silent,
    )  # fmt: skip
    report = run_audit(spec, settings)
    if report.interrupted:
        raise KeyboardInterrupt
    return report


def law(verifier: str, problem: Problem | dict | str, iterations: int = 1) -> dict[str, Any]:
    """Return the exact law of a reference verifier on one problem (see ``reports.audits.law_report.law_report``)."""
    return law_report(verifier, _problem(problem, tree_problem_from), iterations)


def _problem(given: Made | dict | str, make: Callable[[Any, str], Made]) -> Made:
    if isinstance(given, str):
        return load_problem(given, make)
    return make(given, "problem") if isinstance(given, dict) else given
