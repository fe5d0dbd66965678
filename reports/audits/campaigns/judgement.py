"""What the counts of a campaign say about losslessness: evidence in the words of the audit."""

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from ....models.errors import InputError
from ....models.problem import Problem, size_of
from ....models.rationals import as_float
from ....proofs.claims import coupling_bound
from ....proofs.field import in_field
from ....proofs.laws import expected_accepted, output_law
from ....proofs.rounding.rule import sampling_slack
from ....stattests.bounds import tokens_per_call, total_variation_bound
from ....stattests.campaign.tally import Tally
from ....verifiers.details import CampaignDetail
from ....verifiers.evidence import REFUTED, Evidence, Method
from ....verifiers.registry import reference
from ..completed_law import Counts, completed_law, verdict_of_counts
from ..error_rates import ALPHA, BETA

MOST_SEQUENCES = 2**17
"""Sequences of gamma + 1 tokens beyond which a campaign is not attempted: their law is compared with the counts."""


class Judge:
    """Compares the counts of a campaign with the target's law of the completed tokens.

    problem: what is sampled.
    modifies_target: True of greedy block verification, whose tokens are completed by the modified target (Lemma 8).
    dtype: of the rows that the subject gets; what its rounding can account for is no refutation.
    seed: of the completion.
    Raises: InputError if the problem is too large.
    """

    def __init__(self, problem: Problem, *, modifies_target: bool = False, dtype: str = "float64", seed: int = 0):
        if problem.vocabulary ** (problem.gamma + 1) > MOST_SEQUENCES:
            raise InputError(
                f"{problem.name}: {problem.vocabulary}^{problem.gamma + 1} sequences of {problem.gamma + 1} tokens are "
                f"too many for a campaign; expected at most {MOST_SEQUENCES:,}"
            )
        self.problem, self.seed, self.dtype = problem, seed, dtype
        self.law = completed_law(problem, modifies_target)
        self.slack = sampling_slack(in_field(problem), dtype, modifies_target)

    def bound(self, tally: Tally) -> float:
        """The total variation that the deviation from lossless is below, at 1 - ALPHA (for one look)."""
        counts = self._sequences(tally) | _malformed(tally)
        return total_variation_bound(counts, self.law.with_impossible(counts), ALPHA).upper

    def evidence(self, tally: Tally) -> Evidence:
        """Refuted or not, how far off at most, and what would have been seen."""
        sequences, malformed = self._sequences(tally), _malformed(tally)
        deviation = self.law.deviation(sequences, malformed, self.slack)
        detail = CampaignDetail(
            dtype=self.dtype, samples=tally.n, p_value=deviation.p_value, p_value_by=deviation.fit.method,
            cells=deviation.fit.cells, total_variation_at_least=deviation.distance.lower, false_alarm_rate=ALPHA,
            miss_rate=BETA, detection_limit=deviation.limit, rounding_allowed=self.slack,
            accepted=self._accepted(tally), strange={kind: list(seen) for kind, seen in tally.strange.items()},
            **size_of(self.problem),
        )  # fmt: skip
        witness = None
        verdict = verdict_of_counts(deviation, self.slack)
        if verdict == REFUTED:
            witness = self.law.witness(sequences, malformed, deviation.fit)
            if witness.sequence in tally.strange:
                witness = replace(witness, why=f"for example {tally.strange[witness.sequence].example}")
        return Evidence(
            claim="lossless", method=Method.CAMPAIGN, verdict=verdict,
            problem=self.problem.name, total_variation=deviation.distance.empirical, bound=deviation.distance.upper,
            witness=witness, detail=detail,
        )  # fmt: skip

    def _sequences(self, tally: Tally) -> Counts:
        return self.law.completed(dict(tally.items()), self.seed)[0]

    def _accepted(self, tally: Tally) -> dict[str, Any] | None:
        """E[tau] between the optimum and the cap; None if no block got tokens."""
        if not tally.counts.any():
            return None
        first = [tally.outcomes.first(length) for length in range(1, tally.outcomes.longest + 2)]
        times = {tau: int(tally.counts[a:b].sum()) for tau, (a, b) in enumerate(pairwise(first))}
        measured = tokens_per_call(times, self.problem.gamma, *self.theory, ALPHA)
        interval = [measured.accepted.lower, measured.accepted.upper]
        return {"mean": measured.accepted.mean, "interval": interval, "optimum": measured.optimum, "cap": measured.cap}

    @cached_property
    def theory(self) -> tuple[float, float]:
        """E[tau] of block verification, and the cap that no lossless rule exceeds."""
        exact = in_field(self.problem)
        optimum = expected_accepted(output_law(exact, reference("block")))
        return as_float(optimum), as_float(sum(coupling_bound(exact).values()))


def _malformed(tally: Tally) -> dict[str, int]:
    """What was no tokens, under its kind."""
    return {kind: seen.times for kind, seen in tally.strange.items()}
