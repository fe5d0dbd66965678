"""Texts after one prompt that agree further than independent ones do: answers from a cache, or of one seed."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import takewhile
from math import log

import numpy as np

from ..models.errors import InputError
from .arguments import checked_rates
from .betting import UNTOUCHED, Fortune

REPEATED = "repeated output"
"""Name of what is found, in the place of a family of sets."""


class Repeats:
    """A search for two texts of one prompt whose common beginning is improbable.

    pairs: of texts with one prompt, at most. off: what a token's probability may be above that of its row.
    agreed: tokens of the least probable common beginning so far.
    Guarantee: Pr(fortune >= 1 / alpha at any time) <= alpha, if each token has at most its row's probability plus
    ``off``, whatever the texts before it. A text repeats another one up to where that has probability c with
    probability at most c, so 1 / fortune is the least c times the number of pairs (union bound).
    Raises: InputError for a rate out of range, or ``off`` below 0.
    """

    def __init__(self, pairs: int, alpha: float, off: float = 0.0):
        checked_rates(alpha)
        if not off >= 0:
            raise InputError(f"off is {off!r}, expected 0 or more")
        self.alpha, self.off, self.agreed = alpha, off, 0
        self._log_pairs, self._state = log(max(1, pairs)), UNTOUCHED
        self._texts: defaultdict[Hashable, list[tuple[int, ...]]] = defaultdict(list)

    def observe(self, prompt: Hashable, text: Sequence[int], probabilities: np.ndarray) -> Fortune:
        """Compare a text with those before it. probabilities: [len(text)], of its tokens under their rows."""
        if not text:
            return self._state
        agreed = max((_common(text, other) for other in self._texts[prompt]), default=0)
        self._texts[prompt].append(tuple(text))
        with np.errstate(divide="ignore"):
            found = -np.cumsum(np.log(np.minimum(1.0, probabilities + self.off))) - self._log_pairs
        found[agreed:] = -np.inf
        path = np.maximum.accumulate(np.maximum(found, self._state.log_evidence))
        if path[-1] > self._state.log_evidence:
            self.agreed = agreed
        self._state = self._state.after(path, self.alpha, lambda step: REPEATED)
        return self._state


def _common(text: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two texts begin with both."""
    return len([*takewhile(lambda two: two[0] == two[1], zip(text, other))])
