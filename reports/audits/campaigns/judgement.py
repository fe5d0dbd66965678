"""What the counts of a campaign say about losslessness: evidence in the words of the audit."""

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ....models.errors import InputError
from ....models.law import prefix_key
from ....models.modification import modified
from ....models.problem import Problem, as_json
from ....models.rationals import as_float
from ....proofs.claims import coupling_bound
from ....proofs.field import in_field
from ....proofs.laws import expected_accepted, joint_law, output_law
from ....proofs.measurement import rounding_allowed
from ....stattests.bounds import tokens_per_call, total_variation_bound
from ....stattests.campaign.tally import Tally
from ....stattests.completion import completed_counts
from ....stattests.explanation import most_off
from ....stattests.rounding import deviation
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence
from ....verifiers.registry import reference
from ..functions.sampling import ALPHA, BETA

MOST_SEQUENCES = 2**17
"""Sequences of gamma + 1 tokens beyond which a campaign is not attempted: their law is held against the counts."""


class Judge:
    """Holds counts against the target's law: emitted tokens are completed by the target (Lemma 2).

    modifies_target: of greedy block verification, whose tokens are completed by the modified target (Lemma 8).
    dtype: of the rows that the subject got; what its rounding can account for is no refutation.
    Raises: InputError if the problem is too large.
    """

    def __init__(self, problem: Problem, *, modifies_target: bool = False, dtype: str = "float64", seed: int = 0):
        if problem.vocabulary ** (problem.gamma + 1) > MOST_SEQUENCES:
            raise InputError(
                f"{problem.name}: {problem.vocabulary}^{problem.gamma + 1} sequences of {problem.gamma + 1} tokens are "
                f"too many for a campaign; expected at most {MOST_SEQUENCES:,}"
            )
        self.problem, self.seed = problem, seed
        self.length = problem.gamma if modifies_target else problem.gamma + 1
        self.continued = modified(problem.target, problem.draft, (0,) if modifies_target else (), problem.gamma)
        self.law = {o: as_float(p) for o, p in joint_law(in_field(problem).target, self.length).items()}
        self.slack = 0.0 if dtype == "float64" else rounding_allowed(problem.gamma, dtype)

    def completed(self, tally: Tally) -> dict[Any, int]:
        """The first gamma + 1 tokens of every sample; what was no tokens stands under its kind."""
        generator = np.random.default_rng([self.seed, 1])
        counts = dict(completed_counts(dict(tally.items()), self.continued, self.length, generator))
        return counts | {kind: seen.times for kind, seen in tally.strange.items()}

    def bound(self, tally: Tally) -> float:
        """The total variation that the deviation from lossless is below, at 1 - ALPHA (for one look)."""
        counts = self.completed(tally)
        return total_variation_bound(counts, dict.fromkeys(counts, 0.0) | self.law, ALPHA).upper

    def evidence(self, tally: Tally) -> Evidence:
        """Refuted or not, how far off at most, and what would have been seen."""
        counts, n = self.completed(tally), tally.n
        law = dict.fromkeys(counts, 0.0) | self.law
        found = deviation(counts, law, self.slack, ALPHA, BETA, tally.strange)
        accepted = (
            tokens_per_call(self._accepted(tally), self.problem.gamma, *self.theory, ALPHA)
            if tally.counts.any()
            else None
        )
        detail = {
            "samples": n,
            "p_value": found.p_value,
            "p_value_by": found.fit.method,
            "cells": found.fit.cells,
            "total_variation_at_least": found.distance.lower,
            "false_alarm_rate": ALPHA,
            "miss_rate": BETA,
            "detection_limit": found.limit,
            "rounding_allowed": self.slack,
            "accepted": accepted and {
                "mean": accepted.accepted.mean,
                "interval": [accepted.accepted.lower, accepted.accepted.upper],
                "optimum": accepted.optimum,
                "cap": accepted.cap,
            },
            "strange": {kind: list(seen) for kind, seen in tally.strange.items()},
        }  # fmt: skip
        return Evidence(
            "lossless",
            "sampling campaign",
            REFUTED if found.refuted else NO_EVIDENCE,
            self.problem.name,
            total_variation=found.distance.empirical,
            bound=found.distance.upper,
            witness=self._witness(counts, law, found.fit, tally) if found.refuted else None,
            detail=detail,
        )

    def _witness(self, counts: dict, law: dict, fit, tally: Tally) -> dict[str, Any]:
        if fit.impossible is None:
            worst = max(law, key=lambda o: (counts.get(o, 0) - tally.n * law[o]) ** 2 / max(law[o], 1e-300))
            why = str(most_off(counts, law))
        else:
            worst, why = fit.impossible[0], "it has probability 0"
            if worst in tally.strange:
                why = f"for example {tally.strange[worst].example}"
        return {
            "problem": as_json(self.problem),
            "sequence": worst if isinstance(worst, str) else prefix_key(worst),
            "expected": f"{law[worst]:.6g}",
            "observed": f"{counts.get(worst, 0)}/{tally.n}",
            "why": why,
        }

    def _accepted(self, tally: Tally) -> dict[int, int]:
        """tau -> how often."""
        first = [tally.outcomes.first(length) for length in range(1, tally.outcomes.longest + 2)]
        return {tau: int(tally.counts[a:b].sum()) for tau, (a, b) in enumerate(pairwise(first))}

    @cached_property
    def theory(self) -> tuple[float, float]:
        """E[tau] of block verification, and the cap that no lossless rule exceeds."""
        exact = in_field(self.problem)
        optimum = expected_accepted(output_law(exact, reference("block")))
        return as_float(optimum), as_float(sum(coupling_bound(exact).values()))
