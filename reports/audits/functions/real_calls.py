"""Measured laws against real calls of the function: which withdraw all laws where they contradict one."""

from ....models.errors import RunFailed
from ....models.rationals import as_float
from ....proofs.measurement import Measurement
from ....stattests.design import min_detectable_goodness
from ....stattests.goodness import goodness_of_fit
from ..completed_law import Counts, outcome_text
from .session import FunctionSession

REAL_CALLS = 2000
"""Real calls that a measured law has to survive."""

CONTRADICTED_AT = 1e-12
"""p-value of the real calls below which a measured law is withdrawn: far below any that a right law meets."""


def why_withdrawn(session: FunctionSession) -> str | None:
    """Why the measured laws are not to be believed, if there is a reason.

    Code that does not repeat itself on one problem may have been followed wrongly on the others too; and real calls
    must follow the law that was measured, whatever the target's is: on the smallest, a middle and the largest problem.
    """
    if any("state" in measurement.findings for measurement in session.measurements):
        return "on another problem it does not repeat itself when its random numbers are repeated"
    known = sorted((m for m in session.measurements if m.known), key=lambda m: len(m.blocks))
    for measurement in [known[k] for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []:
        if session.sandbox.ended:
            return None
        session.settings.progress(f"sampling {measurement.problem.name} against its measured law", 0, 1)
        try:
            counts = session.sample(measurement.problem, REAL_CALLS)
        except RunFailed as failure:
            reason = session.failed(failure, f"real calls on problem {measurement.problem.name}")
            if failure.kind != "timeout":
                return None
            measurement.reason = reason
            continue
        if reason := contradiction(measurement, counts):
            session.report.notice({"state": reason})
            return reason
        measurement.real_calls = {"calls": REAL_CALLS, "limit": detection_limit(measurement)}
    return None


def detection_limit(measurement: Measurement) -> float:
    """The total variation between measured and real law that the real calls would have shown, missed once in 1,000."""
    outcomes = sum(p > 0 for p in measurement.outcomes().values())
    return min_detectable_goodness(REAL_CALLS, max(outcomes, 2), CONTRADICTED_AT)


def contradiction(measurement: Measurement, counts: Counts) -> str | None:
    """Why the measured law is not the subject's, if real calls say so."""
    law = {o: as_float(p) for o, p in measurement.outcomes().items()}
    fit = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law)
    elsewhere = "it keeps state between calls, or draws randomness from elsewhere"
    if fit.impossible is not None:
        return f"real calls give {outcome_text(fit.impossible[0])}, which the measured law excludes: {elsewhere}"
    if fit.p_value < CONTRADICTED_AT:
        return f"real calls do not follow the measured law (p = {fit.p_value:.1g}): {elsewhere}"
    return None
