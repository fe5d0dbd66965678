"""The witness of an alarm: the smallest problem on which fresh draws show the deviation, and the sequence most off."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ....models.errors import InputError, RunFailed
from ....models.law import prefix_key
from ....models.problem import Problem, as_json
from ....proofs.shrink import shrink
from ....stattests.anytime import SequentialResult, sequential_test
from ....verifiers.details import Detail
from ....verifiers.evidence import REFUTED, Evidence, Method, Witness
from ..replay import with_replay
from ..settings import AuditSettings
from ..subject import SubjectSpec
from .checks import NightlyCheck, check_of
from .sources import DrawSource

SEARCH_SECONDS = 60.0
"""Most seconds of the search for a smaller witness."""

SEARCH_ALPHA, CONFIRM_ALPHA = 1e-3, 1e-6
"""Error rates of accepting a simpler problem in the search, and of the witness in the end, on draws of its own."""

CONFIRMATION_NIGHTS = 20
"""Most draws of the confirmation, in nights."""


class _OutOfTime(Exception):
    """A signal that the time limit of the search is reached."""


class FreshDraws:
    """A source of fresh draws of a check, each batch with its own seed; it remembers an outcome that the law
    excludes."""

    def __init__(self, source: DrawSource, check: NightlyCheck, seeds: np.random.SeedSequence, until: float):
        self.source, self.check, self.seeds, self.until = source, check, seeds, until
        self.impossible: tuple[str, int] | None = None

    def __call__(self, n: int) -> np.ndarray:
        if time.monotonic() > self.until:
            raise _OutOfTime
        seed = int(self.seeds.spawn(1)[0].generate_state(1, np.uint64)[0] >> np.uint64(1))
        counts = self.check.tally(self.source.draw(self.check.problem, n, seed), seed)
        self.impossible = self.impossible or counts.impossible
        return counts.counts


def smallest_witness(
    subject: SubjectSpec, source: DrawSource, check: NightlyCheck, samples: int, seed: int, dtype: str
) -> dict[str, Any] | None:
    """Return the smallest deviation that shows again on fresh draws, or None if none does.

    Guarantee: a verifier that is right on the problem shown gets a witness with probability CONFIRM_ALPHA at most: the
    draws that confirm it are not those that chose it.
    """
    seeds = np.random.SeedSequence([seed, 2])
    until = time.monotonic() + SEARCH_SECONDS

    def audited(
        problem: Problem, alpha: float, most: int, until: float
    ) -> tuple[NightlyCheck, SequentialResult, FreshDraws] | None:
        try:
            this = check_of(problem, source.modifies_target)
            draws = FreshDraws(source, this, seeds, until)
            result = sequential_test(draws, this.law, alpha=alpha, max_draws=most)
        except (RunFailed, InputError, _OutOfTime):
            return None
        return (this, result, draws) if result.refuted else None

    shrunk = shrink(check.problem, lambda problem: audited(problem, SEARCH_ALPHA, samples, until) is not None)
    for problem in (shrunk, check.problem):
        until = time.monotonic() + SEARCH_SECONDS
        confirmed = audited(problem, CONFIRM_ALPHA / 2, CONFIRMATION_NIGHTS * samples, until)
        if confirmed:
            this, result, draws = confirmed
            witness = replace(_worst(this, result, draws), problem=as_json(problem), smallest=True)
            evidence = Evidence(
                claim="lossless", method=Method.E_PROCESS, verdict=REFUTED, witness=witness, detail=Detail(dtype=dtype)
            )
            shown = with_replay(evidence, subject.words, AuditSettings(), (dtype,), subject.given_array)
            return {**witness.as_json(), "draws": result.draws, "seed": seed, "replay": shown.replay}
    return None


def _worst(check: NightlyCheck, result: SequentialResult, draws: FreshDraws) -> Witness:
    """Return the sequence that deviates most."""
    n = result.draws
    if result.impossible:
        sequence, _ = draws.impossible or ("?", 0)
        return Witness(sequence=sequence, expected="0", observed=f"{result.impossible[1]}/{n}")
    expected = n * check.law[:-1]
    worst = int(np.argmax(np.abs(result.counts[:-1] - expected) / np.sqrt(expected)))
    sequence = prefix_key([*check.cells][worst])
    return Witness(sequence=sequence, expected=f"{check.law[worst]:.6g}", observed=f"{result.counts[worst]}/{n}")
