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


class Noise:
    """Every number used so far; heard: how many for each purpose.

    Two of n independent uniforms on the lattice of 2^-53 are equal with probability below n^2 / 2^54: a number that is
    used twice is no chance.
    """

    def __init__(self) -> None:
        self.uses: dict[float, Use] = {}
        self.count = 0
        self.heard: Counter = Counter()
        self.twice: list[tuple[float, Use, Use]] = []
        self.iteration = 0
        self.muted = False

    def used(self, number: float, purpose: str, row: int) -> None:
        use = Use(PURPOSES[purpose], row, self.iteration)
        self.count += 1
        self.heard[purpose] += 1
        before = self.uses.setdefault(number, use)
        if before is not use:
            self.twice.append((number, before, use))

    def listen(self, streams: Any) -> None:
        """From now on hear every number of these streams; of a given chance there is nothing to hear."""
        if not isinstance(streams, Streams):
            return
        for purpose in PURPOSES:
            heard = [Heard(each, self, purpose, row) for row, each in enumerate(getattr(streams, purpose))]
            setattr(streams, purpose, heard)
        uniforms = streams.uniforms

        def noted(tokens: Any) -> Uniforms:
            # What a batched verifier is handed counts, not what was drawn for it.
            self.muted = True
            found = uniforms(tokens)
            self.muted = False
            for purpose in Uniforms._fields:
                for at, numbers in enumerate(getattr(found, purpose).cpu().tolist()):
                    for number in numbers:
                        self.used(number, purpose, streams.drafts[at].row)
            return found

        streams.uniforms = noted  # type: ignore[method-assign]


class Heard:
    """A generator that tells what it gave out."""

    def __init__(self, generator: Any, noise: Noise, purpose: str, row: int):
        self.generator, self.noise, self.purpose, self.row = generator, noise, purpose, row

    def random(self, *count: int) -> Any:
        found = self.generator.random(*count)
        if not self.noise.muted:
            for number in np.atleast_1d(found).tolist():
                self.noise.used(number, self.purpose, self.row)
        return found
