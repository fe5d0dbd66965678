"""Counts of emitted sequences whose size depends on the problem and not on the number of samples."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...models.law import prefix_key


class Outcomes(NamedTuple):
    """A numbering of the sequences that a verifier may emit, 1 to ``longest`` tokens, and their numbers 0, 1, 2, ...

    index(x_1..x_n) = V + V^2 + ... + V^(n-1) + x_1 V^(n-1) + ... + x_n: shorter ones first, then in order.
    vocabulary: V; longest: gamma + 1.
    """

    vocabulary: int
    longest: int

    @property
    def size(self) -> int:
        return self.first(self.longest + 1)

    def first(self, length: int) -> int:
        """Return the index of the first sequence of that length."""
        return sum(self.vocabulary**n for n in range(1, length))

    def index_of(self, tokens: Sequence[int]) -> int:
        """Return the index of an outcome. Raises: ValueError if no verifier may emit that."""
        if not self.allowed(tokens):
            raise ValueError(f"{tokens} is not 1 to {self.longest} tokens of 0..{self.vocabulary - 1}")
        number = 0
        for token in tokens:
            number = number * self.vocabulary + token
        return self.first(len(tokens)) + number

    def allowed(self, tokens: Sequence[int]) -> bool:
        return 1 <= len(tokens) <= self.longest and all(0 <= token < self.vocabulary for token in tokens)

    def tokens(self, index: int) -> tuple[int, ...]:
        """Return the sequence of that index."""
        length = next(n for n in range(self.longest, 0, -1) if index >= self.first(n))
        number, tokens = index - self.first(length), []
        for _ in range(length):
            number, token = divmod(number, self.vocabulary)
            tokens.append(token)
        return tuple(reversed(tokens))


MALFORMED_KINDS = ("token outside the vocabulary", "too many tokens")
"""Kinds of strange outcomes that are tokens nevertheless; the others are failures to return any."""


class Malformed(NamedTuple):
    """A count of malformed outcomes and one example: the first in alphabetical order, whatever the order of seeing."""

    times: int
    example: str


class Tally:
    """A tally of how often each outcome was emitted.

    outcomes: the allowed ones
    counts: [outcomes.size] int64
    strange: what no verifier may emit, by its kind ("token outside the vocabulary", "ValueError", ...), so that code
    which emits something new each time cannot fill the memory
    """

    def __init__(self, outcomes: Outcomes, counts: np.ndarray | None = None):
        self.outcomes = outcomes
        self.counts = np.zeros(outcomes.size, np.int64) if counts is None else counts
        self.strange: dict[str, Malformed] = {}

    @property
    def n(self) -> int:
        return int(self.counts.sum()) + sum(s.times for s in self.strange.values())

    def count(self, outcome: Sequence[int] | str, times: int = 1) -> None:
        """Count an outcome: the tokens, or the text "Kind: message" of what came instead."""
        if isinstance(outcome, str):
            kind, _, message = outcome.partition(": ")
            self.count_strange(kind, message, times)
        elif self.outcomes.allowed(outcome):
            self.counts[self.outcomes.index_of(outcome)] += times
        else:
            kind = MALFORMED_KINDS[all(0 <= token < self.outcomes.vocabulary for token in outcome)]
            self.count_strange(kind, prefix_key(tuple(outcome[: self.outcomes.longest + 1])), times)

    @property
    def failures(self) -> int:
        """Return how often no tokens came at all."""
        return sum(seen.times for kind, seen in self.strange.items() if kind not in MALFORMED_KINDS)

    def count_strange(self, kind: str, example: str, times: int) -> None:
        if not times:
            return
        known = self.strange.get(kind, Malformed(0, example))
        self.strange[kind] = Malformed(known.times + times, min(known.example, example))

    def __add__(self, other: "Tally") -> "Tally":
        both = Tally(self.outcomes, self.counts + other.counts)
        both.strange = dict(self.strange)
        for kind, strange in other.strange.items():
            both.count_strange(kind, strange.example, strange.times)
        return both

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]  # it changes while it counts

    def items(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield (tokens, times seen) of every allowed outcome that was seen."""
        for index in np.flatnonzero(self.counts):
            yield self.outcomes.tokens(int(index)), int(self.counts[index])

    def as_json(self) -> dict[str, Any]:
        """Return whole numbers and texts only. ``tally_from`` gives the same tally back."""
        counts = [[int(index), int(self.counts[index])] for index in np.flatnonzero(self.counts)]
        return {"counts": counts, "strange": {kind: list(self.strange[kind]) for kind in sorted(self.strange)}}

    def digest(self) -> str:
        """Return SHA-256 of the counts: two campaigns agree to the last count if and only if their digests do."""
        return hashlib.sha256(json.dumps(self.as_json()).encode()).hexdigest()


def tally_from(data: Mapping[str, Any], outcomes: Outcomes) -> Tally:
    """Return a tally from its JSON form. Raises: ValueError (or the like) where the data is not one for these
    outcomes.
    """
    tally = Tally(outcomes)
    for index, times in data["counts"]:
        if not (0 <= index < outcomes.size and times >= 0):
            raise ValueError(f"outcome {index} counted {times} times is not of these counts")
        tally.counts[index] = times
    for kind, (times, example) in data["strange"].items():
        tally.count_strange(kind, example, times)
    return tally
