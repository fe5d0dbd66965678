"""The result of a run of the decoding loop, and how fast it decoded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple


class Iteration(NamedTuple):
    """A pass of the loop over the rows that were still open.

    gamma: tokens drafted, 0 in plain decoding.
    rows: the numbers of the prompts.
    accepted: tau of each.
    added: tokens each text grew by, tau + 1 or fewer where it ended.
    draft_seconds, target_seconds, verify_seconds: of the draft's steps, the target's pass, the verification.
    """

    gamma: int
    rows: tuple[int, ...]
    accepted: tuple[int, ...]
    added: tuple[int, ...]
    draft_seconds: float = 0.0
    target_seconds: float = 0.0
    verify_seconds: float = 0.0


@dataclass
class Generated:
    """A run's texts and iterations.

    verifier: its name, "plain" without one.
    lossy: empty for a lossless verifier, else what was given up.
    tokens: for each prompt the tokens that follow it, the end token included where one came.
    prefill_seconds, seconds: wall time of reading the prompts, and of the loop after it.
    """

    verifier: str
    lossy: str
    device: str
    dtype: str
    tokens: list[list[int]]
    iterations: list[Iteration] = field(default_factory=list)
    prefill_seconds: float = 0.0
    seconds: float = 0.0

    def accepted(self, row: int) -> list[int]:
        """Return tau of each iteration of one prompt."""
        return [each.accepted[each.rows.index(row)] for each in self.iterations if row in each.rows]

    def lengths(self, row: int) -> list[int]:
        """Return how many tokens the prompt was continued by before each of its iterations, and in the end."""
        added = (each.added[each.rows.index(row)] for each in self.iterations if row in each.rows)
        return list(accumulate(added, initial=0))


class BlockPlaces(NamedTuple):
    """Places of a block, from 1. kept: of draft tokens that outputs got. rejected: of the first that a block lost."""

    kept: set[int]
    rejected: set[int]


def block_places(runs: Iterable[Generated]) -> BlockPlaces:
    """Return where draft tokens were kept, and where they were rejected. Behind the end of an output none counts."""
    places = BlockPlaces(set(), set())
    for each in (iteration for run in runs for iteration in run.iterations):
        for tau, added in zip(each.accepted, each.added, strict=True):
            places.kept.update(range(1, min(tau, added) + 1))
            if tau < min(each.gamma, added):
                places.rejected.add(tau + 1)
    return places


def tokens_and_calls(runs: Iterable[Generated]) -> tuple[int, int]:
    """Return the tokens decoded and the target calls waited for; a call over a batch counts once for each row."""
    runs = list(runs)
    tokens = sum(len(text) for run in runs for text in run.tokens)
    return tokens, sum(len(each.rows) for run in runs for each in run.iterations)


def block_efficiency(runs: Iterable[Generated]) -> float:
    """Return the decoded tokens per serial call of the target, 1 for plain decoding.

    tokens / calls, over all texts of the runs. Tokens that the last block of a text had beyond its end are not decoded
    and do not count, so that short texts come out lower than E[tau] + 1.
    Source: Sun et al. 2025, Section 5.
    """
    tokens, calls = tokens_and_calls(runs)
    return tokens / calls


def seconds_per_token(runs: Iterable[Generated]) -> float:
    """Return the wall time of the loops after their prefill, per decoded token."""
    runs = list(runs)
    return sum(run.seconds for run in runs) / tokens_and_calls(runs)[0]


def wall_clock_speedup(runs: Iterable[Generated], plain: Iterable[Generated]) -> float:
    """Return how many times as fast as plain decoding, token by token: above 1 is faster.

    Both over the same prompts and rows of a batch.
    Source: Sun et al. 2025, Section 5.
    """
    return seconds_per_token(plain) / seconds_per_token(runs)
