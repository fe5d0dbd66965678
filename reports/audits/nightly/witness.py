"""After an alarm: the smallest problem and the shortest sequence on which fresh draws show the deviation again."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ....models.errors import InputError, RunFailed
from ....models.law import prefix_key
from ....models.problem import Problem, as_json
from ....proofs.shrink import shrink
from ....stattests.anytime import SequentialResult, sequential_test
from ....stattests.eprocess import log_evidence
from ....verifiers.evidence import REFUTED, Evidence, Witness
from ..functions.replay import replay
from ..functions.settings import AuditSettings
from ..functions.subject import SubjectSpec
from .checks import Check, check_of
from .sources import DrawSource

SEARCH_SECONDS = 60.0
"""Seconds for the search of a smaller witness."""

SEARCH_ALPHA, CONFIRM_ALPHA = 1e-3, 1e-6
"""Error rates: of taking a simpler problem along while searching, and of what is shown in the end, on draws of its own."""

CONFIRMATION_NIGHTS = 20
"""How many nights' worth of draws may go into the confirmation."""


class _OutOfTime(Exception):
    """The search has taken long enough."""


class FreshDraws:
    """Fresh draws of a check, each batch from a seed of its own; outcomes that the law excludes are remembered."""

    def __init__(self, source: DrawSource, check: Check, seeds: np.random.SeedSequence, until: float):
        self.source, self.check, self.seeds, self.until = source, check, seeds, until
        self.impossible: tuple[str, int] | None = None

    def __call__(self, n: int) -> np.ndarray:
        if time.monotonic() > self.until:
            raise _OutOfTime
        seed = int(self.seeds.spawn(1)[0].generate_state(1, np.uint64)[0] >> np.uint64(1))
        counted = self.check.tally(self.source.draw(self.check.problem, n, seed), seed)
        self.impossible = self.impossible or counted.impossible
        return counted.counts


def smallest_witness(
    subject: SubjectSpec, source: DrawSource, check: Check, samples: int, seed: int, dtype: str
) -> dict[str, Any] | None:
    """The smallest deviation found that repeats itself on fresh draws, or None if none does.

    Guarantee: a verifier that is right on the problem shown gets a witness with probability CONFIRM_ALPHA at most: the
    draws that confirm it are not those that chose it.
    """
    seeds = np.random.SeedSequence([seed, 2])
    until = time.monotonic() + SEARCH_SECONDS

    def audited(
        problem: Problem, alpha: float, most: int, until: float
    ) -> tuple[Check, SequentialResult, FreshDraws] | None:
        try:
            this = check_of(problem, source.modifies_target)
            draws = FreshDraws(source, this, seeds, until)
            found = sequential_test(draws, this.law, alpha=alpha, max_draws=most)
        except (RunFailed, InputError, _OutOfTime):
            return None
        return (this, found, draws) if found.refuted else None

    shrunk = shrink(check.problem, lambda problem: audited(problem, SEARCH_ALPHA, samples, until) is not None)
    for problem in (shrunk, check.problem):
        confirmed = audited(
            problem, CONFIRM_ALPHA / 2, CONFIRMATION_NIGHTS * samples, time.monotonic() + SEARCH_SECONDS
        )
        if confirmed:
            this, found, draws = confirmed
            witness = replace(_worst(this, found, draws), problem=as_json(problem), smallest=True)
            evidence = Evidence(claim="lossless", method="e-process", verdict=REFUTED, detail={"dtype": dtype})
            command = replay(evidence, witness, subject.name, AuditSettings(), (dtype,), subject.given_array)
            return {**witness.as_json(), "draws": found.draws, "seed": seed, "replay": command}
    return None


def _worst(check: Check, found: SequentialResult, draws: FreshDraws) -> Witness:
    """The sequence that deviates most, of the shortest length at which the counts refute the law by themselves."""
    if found.impossible:
        sequence, _ = draws.impossible or ("?", 0)
        return Witness(sequence=sequence, expected="0", observed=f"{found.impossible[1]}/{found.draws}")
    for length in range(1, check.length + 1):
        law: dict[tuple[int, ...], float] = {}
        seen: dict[tuple[int, ...], int] = {}
        for sequence, k in check.cells.items():
            prefix = sequence[:length]
            law[prefix] = law.get(prefix, 0.0) + float(check.law[k])
            seen[prefix] = seen.get(prefix, 0) + int(found.counts[k])
        log_e = float(log_evidence(np.array(list(seen.values())), np.array(list(law.values()))))
        if log_e >= math.log(check.length / CONFIRM_ALPHA) or length == check.length:
            break
    n = found.draws
    worst = max(law, key=lambda prefix: abs(seen[prefix] - n * law[prefix]) / math.sqrt(n * law[prefix]))
    return Witness(sequence=prefix_key(worst), expected=f"{law[worst]:.6g}", observed=f"{seen[worst]}/{n}")
