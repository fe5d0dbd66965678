"""Counts of emitted tokens, completed to a fixed length and compared with the target's law."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...models.law import Model, Prefix, prefix_key
from ...models.problem import Problem, as_json
from ...models.rationals import as_float
from ...proofs.field import in_field
from ...proofs.laws import verdict_rule
from ...proofs.laws.reference_laws import completion, is_output, joint_law
from ...stattests.arguments import ALPHA, BETA
from ...stattests.design import largest_token_deviation
from ...stattests.goodness import Goodness
from ...stattests.rounding import Deviation, deviation
from ...verifiers.evidence import EvidenceVerdict, Witness

Outcome = Prefix | str
"""Result of a call of a verifier: the emitted tokens, or the text of what was raised instead."""

Counts = dict[Outcome, int]


class CompletedLaw(NamedTuple):
    """A target's law of the first tokens, and what completes shorter outputs so that they follow it if lossless.

    problem: as given.
    model: continues the outputs: the target (Lemma 2), or the modified target (Lemma 8).
    length: of a completed sequence, in tokens: gamma + 1, or gamma.
    probabilities: of the sequences that the target allows.
    """

    problem: Problem
    model: Model
    length: int
    probabilities: dict[Prefix, float]

    def completed(self, outcomes: Mapping[Outcome, int], seed: int) -> tuple[Counts, dict[str, int]]:
        """Return counts of completed sequences, drawn from the seed, and of outcomes that are no output."""
        outputs = {o: n for o, n in outcomes.items() if isinstance(o, tuple) and is_output(o, self.problem)}
        malformed = {outcome_text(o): n for o, n in outcomes.items() if o not in outputs}
        drawn = completed_counts(outputs, self.model, self.length, np.random.default_rng([seed, 1]))
        return {**drawn}, malformed

    def deviation(
        self, sequences: Counts, malformed: Mapping[str, int], slack: float = 0.0, alpha: float = ALPHA
    ) -> Deviation:
        """Return ``stattests.rounding.deviation`` of the counts from the law; malformed outcomes have probability 0."""
        counts = {**sequences, **malformed}
        return deviation(counts, self.with_impossible(counts), slack, alpha, BETA, malformed)

    def with_impossible(self, counts: Iterable[Hashable]) -> dict[Hashable, float]:
        """Return the probability of every outcome: 0 where the target does not allow it."""
        return {**dict.fromkeys(counts, 0.0), **self.probabilities}

    def witness(self, sequences: Counts, malformed: Mapping[str, int], fit: Goodness) -> Witness:
        """Return the outcome that is furthest off, and where the counts as a whole are."""
        counts: dict[Hashable, int] = {**sequences, **malformed}
        law, n = self.with_impossible(counts), sum(counts.values())
        if fit.impossible is None:
            worst = max(law, key=lambda o: (counts.get(o, 0) - n * law[o]) ** 2 / max(law[o], 1e-300))
            why = str(largest_token_deviation(sequences, {o: law[o] for o in law if o not in malformed}))
        else:
            worst, why = fit.impossible[0], "it has probability 0"
        expected, observed = f"{law[worst]:.6g}", f"{counts.get(worst, 0)}/{n}"
        sequence, problem = outcome_text(worst), as_json(self.problem)
        return Witness(problem=problem, sequence=sequence, expected=expected, observed=observed, why=why)


def completed_law(problem: Problem, modifies_target: bool = False, in_use: Problem | None = None) -> CompletedLaw:
    """Return the law that the completed tokens of a lossless verifier follow.

    X^tau, Y, Z ~ M_b^(gamma + 1), Z from the target (Lemma 2); M_b^gamma, Z from the modified target (Lemma 8).
    problem: with rational rows.
    modifies_target: True of greedy block verification.
    in_use: the problem with the rows that the verifier works with, if they are not those of the problem.
    """
    exact = in_field(in_use or problem)
    model, length = completion(exact, modifies_target)
    law = {sequence: as_float(p) for sequence, p in joint_law(exact.asked, length).items()}
    return CompletedLaw(problem, model, length, law)


def verdict_of_counts(found: Deviation, slack: float) -> EvidenceVerdict:
    """Return the verdict on counts: refuted if they show more than the slack explains. Counts never show that a law
    holds.

    found: of the counts. slack: the total variation that rounding can account for.
    """
    shown = max(found.distance.lower, math.nextafter(slack, 2.0)) if found.refuted else min(found.distance.lower, slack)
    return verdict_rule.decide(shown, verdict_rule.NEVER, slack)


def outcome_text(outcome: Any) -> str:
    """Return tokens joined by commas, or the text of what was raised."""
    return outcome if isinstance(outcome, str) else prefix_key(outcome)


def completed_counts(
    counts: Mapping[Prefix, int], target: Model, length: int, generator: np.random.Generator
) -> Counter:
    """Continue each emitted sequence with tokens drawn from the target until it has ``length`` tokens.

    If the verifier is lossless the result is a sample of the target's joint law. Equal prefixes are continued
    together, so the time depends on their number and not on the number of samples.
    """
    done: Counter = Counter()
    open_: Counter = Counter()
    for output, n in counts.items():
        (done if len(output) >= length else open_)[output[:length]] += n
    while open_:
        prefix, n = open_.popitem()
        row = np.array([as_float(p) for p in target.row(prefix)])
        for token, m in enumerate(generator.multinomial(n, row / row.sum())):
            if m:
                longer = (*prefix, token)
                (done if len(longer) == length else open_)[longer] += int(m)
    return done
