"""The random numbers that a loop uses, and whether one is used twice: by two rows, two streams, or two purposes."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ....models.generating.randomness import Streams
from ....verifiers.batched.sampling import Uniforms

PURPOSES = {"drafts": "a draft token", "acceptance": "a coin", "residual": "the last token of a block"}


class Use(NamedTuple):
    """What one number decided, of which row of the batch and in which iteration."""

    purpose: str
    row: int
    iteration: int

    def __str__(self) -> str:
        return f"{self.purpose} of row {self.row} in iteration {self.iteration}"


class RandomNumberLog:
    """Every number used so far.

    Two of n independent uniforms on the lattice of 2^-53 are equal with probability below n^2 / 2^54: a number that is
    used twice is no coincidence.
    count, by_purpose: how many were used, in all and of each of PURPOSES.
    reused: number, first use and second use.
    iteration: of the loop, now.
    paused: whether numbers are being drawn that count when they are handed on.
    """

    def __init__(self) -> None:
        self.uses: dict[float, Use] = {}
        self.count = self.iteration = 0
        self.by_purpose: Counter[str] = Counter()
        self.reused: list[tuple[float, Use, Use]] = []
        self.paused = False

    def add(self, number: float, purpose: str, row: int) -> None:
        use = Use(PURPOSES[purpose], row, self.iteration)
        self.count += 1
        self.by_purpose[purpose] += 1
        before = self.uses.setdefault(number, use)
        if before is not use:
            self.reused.append((number, before, use))

    def attach(self, streams: Any) -> None:
        """From now on log every number of these streams; a given chance has none."""
        if not isinstance(streams, Streams):
            return
        for purpose in PURPOSES:
            logged = [LoggedGenerator(each, self, purpose, row) for row, each in enumerate(getattr(streams, purpose))]
            setattr(streams, purpose, logged)
        uniforms = streams.uniforms

        def logged_uniforms(tokens: Any) -> Uniforms:
            # What a batched verifier is handed counts, not what was drawn for it.
            self.paused = True
            drawn = uniforms(tokens)
            self.paused = False
            rows = [generator.row for generator in streams.drafts]
            for purpose in Uniforms._fields:
                for row, numbers in zip(rows, getattr(drawn, purpose).cpu().tolist(), strict=True):
                    for number in numbers:
                        self.add(number, purpose, row)
            return drawn

        streams.uniforms = logged_uniforms


class LoggedGenerator:
    """A generator whose numbers are logged."""

    def __init__(self, generator: Any, log: RandomNumberLog, purpose: str, row: int):
        self.generator, self.log, self.purpose, self.row = generator, log, purpose, row

    def random(self, *count: int) -> Any:
        drawn = self.generator.random(*count)
        if not self.log.paused:
            for number in np.atleast_1d(drawn).tolist():
                self.log.add(number, self.purpose, self.row)
        return drawn
