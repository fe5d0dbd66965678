"""Does a driven subject keep state? The same requests have to get the same answers in a fresh process.

There are many requests on one problem, and some on a draft block or tree of every size with twins that share its
tokens: in turn in the process of the audit, one problem after the other in the fresh one, the smallest first.
"""

from collections.abc import Sequence
from typing import Any

from ....models.errors import RunFailed
from ....models.problem import Problem
from ....models.related import twins
from ....proofs.driven.laws import CONFIRMATIONS
from ....proofs.interception.outcomes import decoded
from ....proofs.laws.small_law import Measurement
from ..sandboxed import sandbox_of
from .session import FunctionSession, of_each_size

REQUESTS = 500
"""Random requests that are repeated on one problem."""

OF_A_SIZE = 32
"""Random requests that are repeated on one problem of each size, and on each of its twins."""

FEWEST = 4
"""The same of a subject that is slow."""


def withdraw_for_driven_state(session: FunctionSession, laws: list[Measurement]) -> list[Measurement]:
    """Withdraw the laws if a fresh process answers differently. Findings go to the report."""
    known = [m for m in laws if m.known]
    if not known or session.sandbox.ended:
        return laws
    session.settings.progress("asking it again in a fresh process", 0, 1)
    many = max(known, key=lambda m: (m.paths <= 1000, m.paths)).problem
    sizes = [m.problem for _, m in sorted(of_each_size(known).items())]
    of_sizes = [twin for p in sizes for twin in (p, *twins(p, "other-draft", "other-target"))]
    subject, settings, problem = session.subject, session.settings, many
    # fewer confirmations where there was no time for more
    slow = min((m.confirmations for m in known if m.confirmations), default=0) / CONFIRMATIONS
    groups = ([many], REQUESTS), (of_sizes, max(FEWEST, round(OF_A_SIZE * min(slow, 1))))
    try:
        here = [session.sandbox.repeated(problems, count, False) for problems, count in groups]
        limits = {"timeout": settings.timeout, "memory": settings.memory, "time": session.time}
        with sandbox_of(subject, session.dtype, **limits) as fresh:
            fresh.start([problem])
            there = [fresh.repeated(problems, count, True) for problems, count in reversed(groups)][::-1]
    except RunFailed as failure:
        reason = session.failed(failure, f"on problem {problem.name}, repeated")
        if failure.kind != "timeout":
            return laws
        session.withheld = reason
        return [m.withdrawn(reason) for m in laws]
    calls = here[-1]["calls"]
    session.report.subject["calls"] = calls
    reasons = (_differing(problems, one, other) for (problems, _), one, other in zip(groups, here, there))
    if reason := next(filter(None, reasons), None):
        session.withheld = (
            f"after {calls:,} calls the same requests get other answers than in a fresh process: on {reason}"
        )
        session.report.notice({"state": session.withheld})
        return [m.withdrawn(session.withheld) for m in laws]
    return laws


def _differing(problems: Sequence[Problem], here: dict[str, Any], there: dict[str, Any]) -> str | None:
    """Return the first problem on which requests are answered differently, with two answers."""
    for problem, one, other in zip(problems, here["outcomes"], there["outcomes"]):
        if differing := [(a, b) for a, b in zip(one, other) if a != b]:
            first, second = map(decoded, differing[0])
            return f"{problem.name} {first} and {second}, {len(differing)} of {len(one)} differ"
    return None
