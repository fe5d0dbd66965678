"""Withdrawal of measured laws: by what they did not repeat, and by real calls that contradict them.

Small and wide problems have the same rule. ``state`` withdraws laws of functions that depend on more than their
arguments.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ....models.errors import RunFailed
from ....models.rationals import as_float
from ....proofs.laws.small_law import Measurement
from ....proofs.laws.wide_law import WideMeasurement
from ....stattests.design import min_detectable_goodness
from ....stattests.goodness import goodness_of_fit
from ..completed_law import Counts, outcome_text
from .session import FunctionSession
from .wide_cells import WideCells

CONTRADICTED_AT = 1e-12
"""p-value of the real calls below which a measured law is withdrawn: far below any that a right law meets."""

NOT_REPEATED = "on another problem it gave different results with the same random numbers"

AnyLaw = TypeVar("AnyLaw", Measurement, WideMeasurement)


def withdrawn(laws: Sequence[AnyLaw], reason: str | None) -> list[AnyLaw]:
    """Return the laws without what was measured, for this reason; as they are if there is none."""
    return [law.withdrawn(reason) for law in laws] if reason else [*laws]


def withdrawn_if_not_repeated(laws: Sequence[AnyLaw]) -> list[AnyLaw]:
    """Withdraw all laws if one was not repeated: code that was followed wrongly once may have been elsewhere."""
    return withdrawn(laws, NOT_REPEATED if any("state" in law.findings for law in laws) else None)


def confirmed_by_real_calls(
    session: FunctionSession, laws: Sequence[AnyLaw], chosen: Sequence[AnyLaw], calls: int
) -> list[AnyLaw]:
    """Withdraw all laws if real calls on one of the chosen problems contradict its law, whatever the target's is.

    calls: how many are made on each. A law that they follow says so.
    """
    laws = [*laws]
    for law in chosen:
        if session.sandbox.ended:
            break
        name = law.problem.name
        session.settings.progress(f"sampling {name} against its measured distribution", 0, 1)
        try:
            counts = session.sample(law.problem, calls)
        except RunFailed as failure:
            reason = session.failed(failure, f"real calls on problem {name}")
            if failure.kind != "timeout":
                break
            laws[laws.index(law)] = law if session.decided(law) else law.withdrawn(reason)
            continue
        if reason := contradiction(law, counts):
            session.report.notice({"state": reason})
            return withdrawn(laws, reason)
        if isinstance(law, Measurement):
            limit = detection_limit(law, calls)
            laws[laws.index(law)] = replace(law, real_calls={"calls": calls, "limit": limit})
    return laws


def detection_limit(law: Measurement, calls: int) -> float:
    """Return the total variation between measured and real law that so many real calls miss once in 1,000."""
    outcomes = sum(p > 0 for p in law.outcomes().values())
    return min_detectable_goodness(calls, max(outcomes, 2), CONTRADICTED_AT)


def contradiction(law: Measurement | WideMeasurement, counts: Counts) -> str | None:
    """Return why the measured law is not the subject's, if real calls say so. Wide laws are compared in cells."""
    expected: dict[Any, float]
    seen: dict[Any, int]
    text: Callable[[Any], str] = outcome_text
    if isinstance(law, WideMeasurement):
        cells = WideCells(law)
        expected, seen, text = cells.law(), cells.counted(counts), cells.text
    else:
        expected, seen = {o: as_float(p) for o, p in law.outcomes().items()}, counts
    fit = goodness_of_fit(seen, dict.fromkeys(seen, 0.0) | expected)
    elsewhere = "it keeps state between calls, or draws randomness from elsewhere"
    if fit.impossible is not None:
        excluded = text(fit.impossible[0])
        return f"real calls on {law.problem.name} give {excluded}, excluded by the measured distribution: {elsewhere}"
    if fit.p_value < CONTRADICTED_AT:
        p = f"p = {fit.p_value:.1g}"
        return f"real calls on {law.problem.name} do not follow the measured distribution ({p}): {elsewhere}"
    return None
