"""Measured laws against real calls of the function: which withdraw all laws where they contradict one."""

from collections.abc import Sequence
from dataclasses import replace

from ....models.errors import RunFailed
from ....models.rationals import as_float
from ....proofs.small_law import Measurement
from ....stattests.design import min_detectable_goodness
from ....stattests.goodness import goodness_of_fit
from ..completed_law import Counts, outcome_text
from .session import FunctionSession

REAL_CALLS = 2000
"""Real calls that a measured law has to survive."""

CONTRADICTED_AT = 1e-12
"""p-value of the real calls below which a measured law is withdrawn: far below any that a right law meets."""

NOT_REPEATED = "on another problem it does not repeat itself when its random numbers are repeated"


def confirmed_by_real_calls(session: FunctionSession, laws: Sequence[Measurement]) -> list[Measurement]:
    """The laws, withdrawn if they are not to be believed; those that real calls followed say so.

    Code that does not repeat itself on one problem may have been followed wrongly on the others too; and real calls
    must follow the law that was measured, whatever the target's is: on the smallest, a middle and the largest problem.
    """
    laws = list(laws)
    if any("state" in law.findings for law in laws):
        return [law.withdrawn(NOT_REPEATED) for law in laws]
    if session.driven and session.settings.quick:
        return laws  # the requests that confirmed each law were as random, and each had to be foretold
    known = sorted((law for law in laws if law.known), key=lambda law: len(law.blocks))
    for law in [known[k] for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []:
        if session.sandbox.ended:
            break
        session.settings.progress(f"sampling {law.problem.name} against its measured law", 0, 1)
        try:
            counts = session.sample(law.problem, REAL_CALLS)
        except RunFailed as failure:
            reason = session.failed(failure, f"real calls on problem {law.problem.name}")
            if failure.kind != "timeout":
                break
            confirmed = law if session.decided(law) else law.withdrawn(reason)
        else:
            if reason := contradiction(law, counts):
                session.report.notice({"state": reason})
                return [one.withdrawn(reason) for one in laws]
            confirmed = replace(law, real_calls={"calls": REAL_CALLS, "limit": detection_limit(law)})
        laws[laws.index(law)] = confirmed
    return laws


def detection_limit(law: Measurement) -> float:
    """The total variation between measured and real law that the real calls would have shown, missed once in 1,000."""
    outcomes = sum(p > 0 for p in law.outcomes().values())
    return min_detectable_goodness(REAL_CALLS, max(outcomes, 2), CONTRADICTED_AT)


def contradiction(law: Measurement, counts: Counts) -> str | None:
    """Why the measured law is not the subject's, if real calls say so."""
    expected = {o: as_float(p) for o, p in law.outcomes().items()}
    fit = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | expected)
    elsewhere = "it keeps state between calls, or draws randomness from elsewhere"
    if fit.impossible is not None:
        return f"real calls give {outcome_text(fit.impossible[0])}, which the measured law excludes: {elsewhere}"
    if fit.p_value < CONTRADICTED_AT:
        return f"real calls do not follow the measured law (p = {fit.p_value:.1g}): {elsewhere}"
    return None
