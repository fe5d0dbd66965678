"""The only source of randomness of a verifier: a coin and a draw."""

import random
from collections.abc import Sequence
from typing import Protocol

from .arithmetic import Number


class Chance(Protocol):
    """A source of a verifier's random choices. Sampling, enumeration and proof each have their own."""

    def flip(self, probability: Number) -> bool:
        """Return True with the given probability, which lies in [0, 1]."""
        ...

    def draw(self, weights: Sequence[Number]) -> int:
        """Draw index k with probability weights[k] / sum(weights); the weights are not negative, not all zero."""
        ...


class NothingToDrawError(ValueError):
    """A draw from weights that are all zero: the algorithm reached an impossible state."""


class RandomChance:
    """A chance from a pseudo-random generator, on floats.

    A token of weight zero is never drawn: the cumulative scan skips it, and a uniform that rounding carries past the
    last sum falls back on the last token with positive weight.
    """

    def __init__(self, generator: random.Random | None = None):
        self._uniform = (generator or random.Random()).random

    def flip(self, probability: Number) -> bool:
        return self._uniform() < probability

    def draw(self, weights: Sequence[Number]) -> int:
        total = sum(weights)
        if not total > 0:
            raise NothingToDrawError(f"draw from weights that sum to {total}: {list(weights)}")
        left = self._uniform() * total
        chosen = -1
        for k, weight in enumerate(weights):
            if weight > 0:
                chosen = k
                left -= weight
                if left < 0:
                    break
        return chosen
