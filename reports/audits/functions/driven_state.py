"""Does a driven subject keep state? The same requests, in a fresh process and backwards, have to be answered alike."""

from typing import TYPE_CHECKING

from ....models.errors import RunFailed
from ....proofs.interception.outcomes import decoded
from ....proofs.sandbox import Sandbox

if TYPE_CHECKING:
    from .session import FunctionSession

REQUESTS = 500
"""Random requests that are repeated."""


def withdraw_for_driven_state(session: "FunctionSession") -> None:
    """Withdraw the measured laws if a fresh process answers otherwise than the one that was audited. Findings go to the report."""
    known = [m for m in session.measurements if m.known]
    if not known or session.sandbox.ended:
        return
    session.settings.progress("asking it again in a fresh process", 0, 1)
    problem = max(known, key=lambda m: (m.paths <= 1000, m.paths)).problem
    subject, settings = session.subject, session.settings
    try:
        here = session.sandbox.repeated(problem, REQUESTS, False)
        with Sandbox(
            subject.target, subject.array, session.dtype, timeout=settings.timeout, memory=settings.memory,
            torch=subject.torch, folders=subject.folders, program=subject.program,
        ) as fresh:  # fmt: skip
            fresh.start([problem])
            there = fresh.repeated(problem, REQUESTS, True)
    except RunFailed as failure:
        reason = session.failed(failure, f"on problem {problem.name}, repeated")
        for measurement in known if failure.kind == "timeout" else ():
            measurement.reason = reason
        return
    session.report.subject["calls"] = here["calls"]
    differing = [(a, b) for a, b in zip(here["outcomes"], there["outcomes"]) if a != b]
    if differing:
        one, other = map(decoded, differing[0])
        session.withheld = (
            f"after {here['calls']:,} calls the same requests are answered otherwise than in a fresh process: on {problem.name} "
            f"{one} and {other}, {len(differing)} of {REQUESTS} differ"
        )
        session.report.notice({"state": session.withheld})
        for measurement in known:
            measurement.reason = session.withheld
