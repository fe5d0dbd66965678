"""What a night checks: the joint law of the completed tokens of one iteration, on a handful of problems."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....models.battery import drawn
from ....models.errors import InputError
from ....models.law import Model, prefix_key
from ....models.modification import Modified
from ....models.problem import Problem, as_json, problem_from
from ....models.rationals import as_float
from ....proofs.field import in_field
from ....proofs.laws import joint_law
from ....stattests.completion import completed_counts

MOST_SEQUENCES = 1024
"""Sequences of a check: over more the draws of a night would be spread too thin to detect anything."""

LEMMA_2, LEMMA_8 = "Lemma 2", "Lemma 8"
"""How short outputs are completed: by the target, or by the modified target."""

NIGHTLY_SIZES = (
    (3, 1, "generic"), (4, 1, "zeros"), (2, 3, "generic"), (3, 2, "generic"), (3, 2, "zeros"), (3, 2, "mixed"),
    (4, 2, "generic"),
)  # fmt: skip
"""Vocabulary, gamma and kind of the problems: small, because few sequences show a deviation sooner."""


class CheckCounts(NamedTuple):
    """counts: [V + 1], the last for everything that the law excludes
    impossible: the most frequent such outcome and its count, or None
    """

    counts: np.ndarray
    impossible: tuple[str, int] | None


class Check(NamedTuple):
    """One law that draws are compared with.

    name, problem: see ``Problem``
    cells: the sequences of positive probability, and their places in the law
    law: [V + 1], their probabilities, and 0 for everything else
    model: continues short outputs
    length: of the completed sequences
    parameters: what identifies the check, as JSON
    """

    name: str
    problem: Problem
    cells: dict[tuple[int, ...], int]
    law: np.ndarray
    model: Model
    length: int
    parameters: str

    def tally(self, outcomes: Mapping[Any, int], seed: int) -> CheckCounts:
        """Counts of completed sequences from counts of outcomes.

        outcomes: emitted tokens as tuples, or the text of what was raised instead
        seed: of the continuations
        """
        longest = self.problem.gamma + 1
        outputs = {o: n for o, n in outcomes.items() if _is_output(o, self.problem.vocabulary, longest)}
        impossible = {_text(o): n for o, n in outcomes.items() if o not in outputs}
        counts = np.zeros(len(self.law), dtype=np.int64)
        completed = completed_counts(outputs, self.model, self.length, np.random.default_rng([seed, 1]))
        for sequence, n in completed.items():
            if sequence in self.cells:
                counts[self.cells[sequence]] += n
            else:
                impossible[_text(sequence)] = impossible.get(_text(sequence), 0) + n
        counts[-1] = sum(impossible.values())
        return CheckCounts(counts, max(impossible.items(), key=lambda item: item[1], default=None))


def check_of(problem: Problem, modifies_target: bool) -> Check:
    """The check of a verifier on a problem.

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
    exact = in_field(problem)
    law = {o: as_float(p) for o, p in joint_law(exact.target, length).items()}
    model = Modified(exact.target, exact.draft, 0, problem.gamma) if modifies_target else exact.target
    parameters = {"problem": as_json(problem), "completed": LEMMA_8 if modifies_target else LEMMA_2}
    cells = {sequence: k for k, sequence in enumerate(law)}
    row = np.array([*law.values(), 0.0])
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return Check(problem.name, problem, cells, row / row.sum(), model, length, text)


@cache
def law_of(parameters: str) -> tuple[float, ...]:
    """The probabilities, all positive, of the sequences of the check with these parameters.

    Raises: ValueError, KeyError or TypeError if they are not those of a check.
    """
    entry = json.loads(parameters)
    return tuple(check_of(problem_from(entry["problem"]), entry["completed"] == LEMMA_8).law[:-1].tolist())


def nightly_problems() -> list[Problem]:
    """The problems of a night where none are given."""
    return [drawn(*size) for size in NIGHTLY_SIZES]


def _is_output(outcome: Any, vocabulary: int, longest: int) -> bool:
    return isinstance(outcome, tuple) and 1 <= len(outcome) <= longest and all(0 <= t < vocabulary for t in outcome)


def _text(outcome: tuple[int, ...] | str) -> str:
    return outcome if isinstance(outcome, str) else prefix_key(outcome)
