"""The checks of a night: the joint law of the completed tokens of one iteration, on a handful of small problems."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....models.battery import drawn
from ....models.errors import InputError
from ....models.law import Prefix
from ....models.problem import Problem, as_json, problem_from
from ....stattests.eprocess import EProcess
from ..completed_law import CompletedLaw, Outcome, completed_law, outcome_text
from .tables import State

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
    """A batch's counts. counts: [V + 1], the last for everything that the law excludes. impossible: the most
    frequent such outcome and its count, or None."""

    counts: np.ndarray
    impossible: tuple[str, int] | None

    @property
    def draws(self) -> int:
        return int(self.counts.sum())

    def add_to(self, process: EProcess) -> None:
        """Add the draws to an e-process."""
        process.add(self.counts)


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

    state_type = State

    def process(self, state: Mapping[str, Any] | None = None) -> EProcess:
        """Return the e-process of a kept state; a new one without."""
        return EProcess(self.law) if state is None else EProcess.from_json(self.law, state)

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
    """Return the probabilities, all positive, of the sequences of the check with these parameters; none for recorded
    steps.

    Raises: ValueError, KeyError or TypeError if they are not those of a check.
    """
    entry = json.loads(parameters)
    if "recorded" in entry:
        return ()
    return tuple(check_of(problem_from(entry["problem"]), entry["completed"] == LEMMA_8).law[:-1].tolist())


def nightly_problems() -> list[Problem]:
    """Return the problems of a night where none are given."""
    return [drawn(*size) for size in NIGHTLY_SIZES]
