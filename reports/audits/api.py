"""What the package offers to Python: audit and law."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...models.errors import InputError
from ...models.problem import Problem, load_problem, problem_from
from .functions.audit import run_audit
from .functions.settings import AuditSettings
from .functions.subject import subject_from
from .law_report import law_report
from .report import Report


def subject_name(subject: str | Callable) -> str:
    """The name under which the sandbox finds a function: its file and its name in it.

    Raises: InputError for a function that is local to another one, or has no file.
    """
    if isinstance(subject, str):
        return subject
    name = getattr(subject, "__qualname__", "")
    try:
        file = inspect.getsourcefile(subject)
    except TypeError:
        file = None
    if not name or "<" in name or file is None:
        raise InputError(f"{name or subject!r} cannot be found by name in a file; expected a function of a module")
    return f"{Path(file)}:{name}"


def audit(
    subject: str | Callable,
    problems: Sequence[Problem | dict | str] = (),
    *,
    array: str | None = None,
    dtypes: Sequence[str] = (),
    **settings: Any,
) -> Report:
    """Audit a verifier and return the report.

    subject: a function of a module, or a name as on the command line.
    problems: each a Problem, its JSON form, or a file; the audit battery if none are given.
    array: what the rows arrive as, as on the command line.
    dtypes: of the rows.
    settings: as in ``AuditSettings``.
    Raises: InputError for bad problems and names; everything the subject does wrong is in the report.
    """
    spec = subject_from(subject_name(subject), array, tuple(dtypes))
    report = run_audit(spec, AuditSettings(problems=[_problem(p) for p in problems], **settings))
    if report.interrupted:
        raise KeyboardInterrupt
    return report


def law(verifier: str, problem: Problem | dict | str, iterations: int = 1) -> dict[str, Any]:
    """The exact law of a reference verifier on one problem (see ``reports.audits.law_report.law_report``)."""
    return law_report(verifier, _problem(problem), iterations)


def _problem(given: Problem | dict | str) -> Problem:
    if isinstance(given, Problem):
        return given
    return load_problem(given) if isinstance(given, str) else problem_from(given)
