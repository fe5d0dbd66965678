"""Bets on the tokens of a loop against the law that they should have, and what the bets could have detected."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....stattests.betting import Bets, Fortune, SetBetting
from ....stattests.sequence_design import detectable_shift
from ....verifiers.details import BettingDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Method, Witness
from ..error_rates import BETA
from .drift import DriftMeasurement

MakeWitness = Callable[[str, str, str], Witness]
"""From a family, and how many tokens were expected in its sets and observed, as text."""


class TokenBets:
    """Bets of several families of sets, which pay for the drift of the rows.

    fortune: what they have come to.
    expected, observed: for each family, how many tokens should have been in the sets, and how many were.
    """

    def __init__(self, families: Sequence[str], alpha: float, drift: DriftMeasurement):
        self.betting, self.drift = SetBetting(families, alpha, drift.slack), drift
        self.expected, self.observed = dict.fromkeys(families, 0.0), dict.fromkeys(families, 0)
        self.probabilities: dict[str, list[np.ndarray]] = {name: [] for name in families}
        self.fortune = Fortune(0.0, 0.0, None, None, 0)

    def observe(self, bets: Mapping[str, Bets]) -> None:
        """Settle the bets of further tokens."""
        for name, bet in bets.items():
            self.expected[name] += float(bet.probability.sum())
            self.observed[name] += int(bet.hit.sum())
            self.probabilities[name].append(bet.probability)
        self.fortune = self.betting.observe(bets)

    def evidence(
        self, claim: str, problem: str, limited_by: Sequence[str], witness: MakeWitness, **detail: Any
    ) -> Evidence:
        """Refuted if the bets have won, unless drift is too wide.

        limited_by: the families whose largest detection limit is the bound. detail: fields of ``BettingDetail``.
        """
        fortune, too_wide, families = self.fortune, self.drift.too_wide, self.betting.families
        limits = {
            name: detectable_shift(np.concatenate(parts), self.betting.alpha, BETA, self.drift.slack, len(families))
            for name, parts in self.probabilities.items()
        }
        refuted, shown = fortune.refuted_at is not None and not too_wide, None
        if refuted and fortune.family:
            expected, observed = self.expected[fortune.family], self.observed[fortune.family]
            shown = witness(fortune.family, f"{expected:.1f}", str(observed))
        bound = None if refuted else 1.0 if too_wide else max(limits[name] for name in limited_by)
        known = BettingDetail(
            **detail, p_value=fortune.p_value, limits=limits, slack=self.drift.slack,
            false_alarm_rate=self.betting.alpha, miss_rate=BETA, too_wide=too_wide,
        )  # fmt: skip
        verdict = REFUTED if refuted else NO_EVIDENCE
        return self.drift.session.finding(claim, Method.BETTING, verdict, problem, known, shown, bound=bound)
