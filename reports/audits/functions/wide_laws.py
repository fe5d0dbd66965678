"""The wide problems of an audit: laws with rows of a whole vocabulary; samples of two problems where there is none."""

import math
from collections.abc import Sequence

import numpy as np

from ....models.errors import RunFailed
from ....models.wide import WideProblem, backwards
from ....proofs.rounding_rule import MOST_HALF, look_up_at_most, wide_rounding_allowed
from ....proofs.wide_claims import judge_wide
from ....proofs.wide_measurement import WideMeasurement, measured_wide
from ....stattests.goodness import goodness_of_fit
from ....stattests.rounding import deviation
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Witness
from ..error_rates import ALPHA, BETA
from .exact_laws import NOT_ASKED
from .real_calls import CONTRADICTED_AT
from .session import FunctionSession, sampled
from .state import why_reads_withdraw
from .wide_cells import WideCells

REAL_CALLS = 1000
"""Real calls that the law of a wide problem has to survive; made on the problem of WIDEST or fewer tokens next to it."""

WIDEST = 40_000
"""Vocabulary up to which wide problems are sampled: calls on larger ones take too long."""

TYPICAL = 1000
"""Vocabulary of the problem that is sampled where no law is known of any: wide, and thousands of calls take seconds."""

MOST_SAMPLED = 2
MODIFIES = "the law that a modified target continues (Lemma 8) is not computed on wide problems"
DRIVEN = "random numbers that are inputs are sent one by one: rows of small vocabularies alone"
TREES = "wide problems draft blocks: trees are drawn over small vocabularies alone"
GAVE_UP = 3
"""Problems without a law after which the others, wider still, are not tried."""


class WideLaws:
    """The laws on wide problems, smallest first, of a verifier that the small problems do not refute."""

    def __init__(self, session: FunctionSession, problems: Sequence[WideProblem]):
        self.session, self.problems = session, problems
        self.measurements: list[WideMeasurement] = []
        self.samples: list[Evidence] = []

    def run(self) -> None:
        session, dtype = self.session, self.session.dtype
        if not self.problems or self._refuted_before():
            return
        if session.subject.modifies_target or session.driven or session.trees:
            session.report.notice({"not-wide": TREES if session.trees else DRIVEN if session.driven else MODIFIES})
            return
        reasons = [m.reason for m in session.measurements]
        reason = (
            NOT_ASKED if "exact" not in session.settings.levels else reasons[0] if reasons and all(reasons) else None
        )
        reason = session.withheld or reason
        if reason:
            typical = min(self.problems, key=lambda p: abs(math.log(p.vocabulary / TYPICAL)))
            self.measurements = [WideMeasurement(typical, dtype, unknown=1.0, reason=reason)]
        else:
            self._measure()
        self._compare_backwards()
        self._confirm()
        self._sample()

    def evidence(self, complete: bool) -> list[Evidence]:
        judged = [e for measurement in self.measurements for e in judge_wide(measurement)]
        return [self.session.with_replay(e) for e in [*judged, *self.samples]]

    def _refuted_before(self) -> bool:
        session = self.session
        return any(
            e.refuted and e.claim in session.settings.claims and e.dtype == session.dtype
            for e in session.report.evidence
        )

    def _measure(self) -> None:
        session = self.session
        if session.sandbox.ended:
            session.start()
        for k, problem in enumerate(self.problems):
            session.settings.progress(problem.name, k, len(self.problems))
            try:
                measurement = measured_wide(problem, session.dtype, session.sandbox.law(problem))
            except RunFailed as failure:
                if failure.kind not in ("timeout", "memory"):
                    raise RunFailed(failure.kind, f"on problem {problem.name}: {failure}") from None
                measurement = WideMeasurement(problem, session.dtype, unknown=1.0, reason=str(failure))
                session.start()
            session.report.notice(measurement.findings)
            self.measurements.append(measurement)
            refuted = measurement.total_variation > measurement.explained
            if refuted or sum(not m.known for m in self.measurements) >= GAVE_UP:
                break
        if any("state" in m.findings for m in self.measurements):
            self._withdraw("on a wide problem it does not repeat itself when its random numbers are repeated")
        if reads := why_reads_withdraw(session):
            self._withdraw(reads)

    def _compare_backwards(self) -> None:
        """Hold the law of a problem with its ids in the opposite order against the law of the problem itself."""
        known = {m.problem.name: m for m in self.measurements if m.known}
        for here in (m for m in known.values() if m.problem.backwards):
            there = known.get(backwards(here.problem).name)
            if there and (gap := _apart(there, here)) > there.explained + here.explained:
                how = "ids in the opposite order has another law of what is emitted"
                self.session.report.notice({"relation": f"{there.problem.name} with {how}, by TV {gap:.2g}"})

    def _confirm(self) -> None:
        """Hold a measured law against real calls."""
        session = self.session
        known = [m for m in self.measurements if m.known and m.problem.vocabulary <= WIDEST]
        if not known:
            return
        measurement = max(known, key=lambda m: (m.problem.gamma == 2, m.problem.vocabulary))
        cells = WideCells(measurement)
        try:
            counts, findings = sampled(session.sandbox, measurement.problem, REAL_CALLS, session.settings.seed)
        except RunFailed as failure:
            measurement.reason = session.failed(failure, f"real calls on problem {measurement.problem.name}")
            measurement.withdraw()
            return
        session.report.notice(findings)
        law, seen = cells.law(), cells.counted(counts)
        fit = goodness_of_fit(seen, dict.fromkeys(seen, 0.0) | law)
        if fit.impossible is not None or fit.p_value < CONTRADICTED_AT:
            reason = f"real calls on {measurement.problem.name} do not follow its measured law"
            session.report.notice({"state": f"{reason}: it draws randomness from elsewhere"})
            self._withdraw(reason)

    def _withdraw(self, reason: str) -> None:
        for measurement in self.measurements:
            measurement.reason = measurement.reason or reason
            measurement.withdraw()

    def _sample(self) -> None:
        """Two problems without a law, on a partition of the tokens."""
        session = self.session
        lawless = [m for m in self.measurements if not m.known and m.problem.vocabulary <= WIDEST]
        if "statistical" not in session.settings.levels or self._refuted_wide():
            return
        chosen = lawless[:: max(1, len(lawless) - 1)][:MOST_SAMPLED]
        alpha = ALPHA / (len(chosen) * len(session.subject.dtypes)) if chosen else ALPHA
        for measurement in chosen:
            problem, count = (
                measurement.problem,
                min(session.settings.samples, int(2e7 / measurement.problem.vocabulary)),
            )
            session.settings.progress(f"sampling {problem.name}", 0, len(chosen))
            try:
                counts, findings = sampled(session.sandbox, problem, count, session.settings.seed)
            except RunFailed as failure:
                session.failed(failure, f"on problem {problem.name}")
                continue
            session.report.notice(findings)
            self.samples.append(self._goodness(measurement, counts, alpha))

    def _refuted_wide(self) -> bool:
        return any(m.total_variation > m.explained for m in self.measurements if m.known or m.emitted)

    def _goodness(self, measurement: WideMeasurement, counts: dict, alpha: float) -> Evidence:
        problem, cells = measurement.problem, WideCells(measurement)
        dtype, vocabulary = measurement.dtype, problem.vocabulary
        allowed = max(wide_rounding_allowed(problem.gamma, dtype, vocabulary), measurement.rounding.get("theorem", 0.0))
        allowed += look_up_at_most(dtype, vocabulary)
        slack = 0.0 if dtype == "float64" else min(allowed, MOST_HALF)
        completed = cells.completed(counts, self.session.settings.seed)
        target, strange = cells.target(), {o for o in completed if isinstance(o, str)}
        law = dict.fromkeys(completed, 0.0) | target
        found = deviation(completed, law, slack, alpha, BETA, strange)
        witness = None
        if found.refuted:
            n = sum(completed.values())
            worst = max(law, key=lambda o: abs(completed.get(o, 0) - n * law[o]) / max(n * law[o], 1.0) ** 0.5)
            witness = Witness(
                sequence=cells.text(worst), expected=f"{law[worst]:.6g}", observed=f"{completed.get(worst, 0)}/{n}",
                problem=problem.as_json(),
            )  # fmt: skip
        detail = {
            "samples": sum(counts.values()), "cells": len(target), "p_value": found.p_value, "dtype": measurement.dtype,
            "false_alarm_rate": alpha, "miss_rate": BETA, "why_not_exact": measurement.reason, "rounding_allowed": slack,
            "vocabulary": problem.vocabulary, "gamma": problem.gamma,
            "limit_speaks_of": "deviations between cells of tokens; those inside a cell remain unseen",
        }  # fmt: skip
        return Evidence(
            claim="lossless", method="chi-square", verdict=REFUTED if found.refuted else NO_EVIDENCE,
            problem=problem.name, bound=found.limit, witness=witness, detail=detail,
        )  # fmt: skip


def _apart(one: WideMeasurement, other: WideMeasurement) -> float:
    """The total variation between what is emitted on a problem and on the same with its ids in the opposite order."""
    v = one.problem.vocabulary
    renamed = {tuple(v - 1 - t for t in prefix): row[::-1] for prefix, row in other.emitted.items()}
    nothing = np.zeros(v)
    prefixes = one.emitted.keys() | renamed.keys()
    return sum(float(np.abs(one.emitted.get(x, nothing) - renamed.get(x, nothing)).sum()) for x in prefixes) / 2
