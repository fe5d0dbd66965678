"""Laws of problems that are the same but for names, and rows that do not sum to 1. Findings, not refutations.

Each restated problem is audited as a problem of its own, so a wrong law there refutes. Here the laws are compared:
law(restated) = law(original) renamed, up to the rounding of both. And one problem is verified with rows that do not
sum to 1, which no claim speaks of: does the verifier normalise them?
"""

from collections.abc import Sequence

from ....models.errors import RunFailed
from ....models.rationals import as_float
from ....models.related import relatives
from ....proofs.laws import verdict_rule
from ....proofs.laws.reference_laws import total_variation
from ....proofs.laws.small_law import Measurement
from ....verifiers.evidence import HOLDS, REFUTED, Evidence
from .problems import ORIGINALS
from .session import FunctionSession

SCALES = ((0.9, 0.9), (1 + 1e-7, 1.0), (1.0, 1 - 1e-7))
"""Factors of the target's and the draft's rows."""


class Relations:
    """A comparison of the laws of restated problems.

    wanted: whether the restated problems are among those of the audit.
    """

    def __init__(self, session: FunctionSession, wanted: bool):
        self.session, self.wanted = session, wanted

    def run(self) -> None:
        """Compare the laws, and measure one on rows that do not sum to 1."""
        session = self.session
        known = {m.problem.name: m for m in session.laws if m.known}
        if not self.wanted or session.trees or session.sandbox.ended:
            return
        for original in (p for p in ORIGINALS if p.name in known):
            for relative in relatives(original):
                restated = known.get(relative.problem.name)
                if restated and (gap := other_law(known[original.name], restated, relative.ids)):
                    text = f"{original.name} with {relative.how} has another output distribution, by TV {gap:.2g}"
                    session.report.notice({"relation": text})
        if known and session.dtype == session.subject.dtypes[0]:
            try:
                restated = [self._scaled(target, draft) for target, draft in SCALES]
            except RunFailed as failure:
                session.failed(failure, "on rows that do not sum to 1")
                return
            session.report.notice({"scaling": f"rows that do not sum to 1: {'; '.join(restated)}"})

    def evidence(self, complete: bool) -> Sequence[Evidence]:
        """Return none: there are findings alone."""
        return []

    def _scaled(self, target: float, draft: float) -> str:
        problem, session = ORIGINALS[0], self.session
        law = session.law_from(problem, session.sandbox.law(problem, scales=(target, draft)))
        how = f"target x {target:.8g}, draft x {draft:.8g}"
        if not law.known:
            return f"{how}: no distribution ({law.reason})"
        raised = next((o for o in law.outcomes() if isinstance(o, str)), None)
        if raised:
            return f"{how}: {raised}"
        found = law.lossless
        return f"{how}: no matter" if found.verdict == HOLDS else f"{how}: TV {found.size:.2g}"


def other_law(original: Measurement, restated: Measurement, ids: Sequence[int] | None) -> float | None:
    """Return the total variation between the two laws, ids renamed; None if rounding explains it."""
    if not ids:
        return None
    back = {there: here for here, there in enumerate(ids)}
    renamed = {
        tuple(back.get(t, -1) for t in outcome) if isinstance(outcome, tuple) else outcome: p
        for outcome, p in restated.outcomes().items()
    }
    gap = as_float(total_variation(renamed, original.outcomes()))
    allowed = original.tolerance + restated.tolerance, original.explained + restated.explained
    return gap if verdict_rule.decide(gap, *allowed) == REFUTED else None
