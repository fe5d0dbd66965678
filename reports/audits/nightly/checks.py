"""What a night checks, and how it looks for a witness.

A check is the joint law of the completed tokens of one iteration on a small problem. After an alarm the search finds
the smallest problem and the shortest sequence on which fresh draws show the deviation again.
"""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....models.battery import drawn
from ....models.errors import InputError, RunFailed
from ....models.law import Prefix, prefix_key
from ....models.problem import Problem, as_json, problem_from
from ....proofs.shrink import shrink
from ....stattests.anytime import SequentialResult, sequential_test
from ....stattests.eprocess import log_evidence
from ....verifiers.details import Detail
from ....verifiers.evidence import REFUTED, Evidence, Method, Witness
from ..completed_law import CompletedLaw, Outcome, completed_law, outcome_text
from ..replay import with_replay
from ..settings import AuditSettings
from ..subject import SubjectSpec
from .sources import DrawSource

MOST_SEQUENCES = 1024
"""Most sequences of a check: with more, a night's draws are too few for each to detect anything."""

LEMMA_2, LEMMA_8 = "Lemma 2", "Lemma 8"
"""Names of the two completions of short outputs: by the target, and by the modified target."""

NIGHTLY_SIZES = (
    (3, 1, "generic"), (4, 1, "zeros"), (2, 3, "generic"), (3, 2, "generic"), (3, 2, "zeros"), (3, 2, "mixed"),
    (4, 2, "generic"),
)  # fmt: skip
"""Vocabulary, gamma and kind of the problems: small, because few sequences show a deviation sooner."""


class CheckCounts(NamedTuple):
    """The counts of a batch. counts: [V + 1], the last for everything that the law excludes. impossible: the most
    frequent such outcome and its count, or None."""

    counts: np.ndarray
    impossible: tuple[str, int] | None


class NightlyCheck(NamedTuple):
    """A law that draws are compared with.

    name, problem: see ``Problem``
    cells: the sequences of positive probability, and their places in the law
    law: [V + 1], their probabilities, and 0 for everything else
    completed: the same law, and what completes short outputs
    parameters: what identifies the check, as JSON
    """

    name: str
    problem: Problem
    cells: dict[Prefix, int]
    law: np.ndarray
    completed: CompletedLaw
    parameters: str

    def tally(self, outcomes: Mapping[Outcome, int], seed: int) -> CheckCounts:
        """Return counts of completed sequences from counts of outcomes.

        seed: of the continuations
        """
        sequences, impossible = self.completed.completed(outcomes, seed)
        counts = np.zeros(len(self.law), dtype=np.int64)
        for sequence, n in sequences.items():
            if sequence in self.cells:
                counts[self.cells[sequence]] += n
            else:
                impossible[outcome_text(sequence)] = impossible.get(outcome_text(sequence), 0) + n
        counts[-1] = sum(impossible.values())
        return CheckCounts(counts, max(impossible.items(), key=lambda item: item[1], default=None))


def check_of(problem: Problem, modifies_target: bool) -> NightlyCheck:
    """Return the check of a verifier on a problem.

    Outputs are completed by the target and compared with its law of gamma + 1 tokens (Lemma 2); those of greedy block
    verification are completed by the modified target and compared with the target's law of gamma tokens (Lemma 8).
    Raises: InputError for a problem of more than MOST_SEQUENCES sequences.
    """
    length = problem.gamma if modifies_target else problem.gamma + 1
    if problem.vocabulary**length > MOST_SEQUENCES:
        raise InputError(
            f"{problem.name}: {problem.vocabulary}^{length} sequences are too many for a nightly check; expected at "
            f"most {MOST_SEQUENCES:,}"
        )
    completed = completed_law(problem, modifies_target)
    cells = {sequence: k for k, sequence in enumerate(completed.probabilities)}
    row = np.array([*completed.probabilities.values(), 0.0])
    parameters = {"problem": as_json(problem), "completed": LEMMA_8 if modifies_target else LEMMA_2}
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return NightlyCheck(problem.name, problem, cells, row / row.sum(), completed, text)


@cache
def law_of(parameters: str) -> tuple[float, ...]:
    """Return the probabilities, all positive, of the sequences of the check with these parameters.

    Raises: ValueError, KeyError or TypeError if they are not those of a check.
    """
    entry = json.loads(parameters)
    return tuple(check_of(problem_from(entry["problem"]), entry["completed"] == LEMMA_8).law[:-1].tolist())


def nightly_problems() -> list[Problem]:
    """Return the problems of a night where none are given."""
    return [drawn(*size) for size in NIGHTLY_SIZES]


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
    """Return the sequence that deviates most, of the shortest length at which the counts alone refute the law."""
    n = result.draws
    if result.impossible:
        sequence, _ = draws.impossible or ("?", 0)
        return Witness(sequence=sequence, expected="0", observed=f"{result.impossible[1]}/{n}")
    for length in range(1, check.completed.length):
        law, counts = _of_length(check, result.counts, length)
        log_e = float(log_evidence(np.array(list(counts.values())), np.array(list(law.values()))))
        if log_e >= math.log(check.completed.length / CONFIRM_ALPHA):
            break
    else:
        law, counts = _of_length(check, result.counts, check.completed.length)
    worst = max(law, key=lambda prefix: abs(counts[prefix] - n * law[prefix]) / math.sqrt(n * law[prefix]))
    return Witness(sequence=prefix_key(worst), expected=f"{law[worst]:.6g}", observed=f"{counts[worst]}/{n}")


def _of_length(check: NightlyCheck, counts: np.ndarray, length: int) -> tuple[dict[Prefix, float], dict[Prefix, int]]:
    """Return the law and the counts of the sequences' prefixes of a length."""
    law: dict[Prefix, float] = {}
    total: dict[Prefix, int] = {}
    for sequence, k in check.cells.items():
        prefix = sequence[:length]
        law[prefix] = law.get(prefix, 0.0) + float(check.law[k])
        total[prefix] = total.get(prefix, 0) + int(counts[k])
    return law, total
