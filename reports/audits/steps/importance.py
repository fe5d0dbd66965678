"""Bets on importance weights: a trainer's probability p of each token, over the engine's, q.

A token drawn from q has p / q = 1 on average if p is a whole row: rounding moves mass to other tokens of the row, and
no mass is lost. The mean is below 1 where q is cut (top-p), and off by the same factor where all logprobs are off. A
temperature moves mass between likely tokens and the others.
"""

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np

from ....stattests.arguments import ALPHA, log_inverse
from ....stattests.mean import STAKES, log_bets_above
from ....stattests.power import log_mean_exp

Array = np.ndarray

# Rounding before the softmax loses no mass. Of logprobs rounded behind it by s, root mean square, the mean moves by
# s^2 / 2: by 0.005 at the 0.1 that bfloat16 may be off. SmolLM2 in bfloat16 against float32: -0.0004 +- 0.0011.
MEAN_OFF = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-3, "bfloat16": 5e-3}
"""Most that rounding may move the mean of p / q from 1, by the type that the model computes in."""

LIKELY = 0.5
"""Least q of a likely token."""

SETS = ("all tokens", f"tokens of {LIKELY:g} or more", f"tokens below {LIKELY:g}")
"""Tokens whose p / q is bet on; for the others 1 stands in its place."""

GOAL = log_inverse(ALPHA / 3)
"""Logarithm of the fortune that refutes: means below 1, means above 1 and single requests share the rate."""


class MovedMass(NamedTuple):
    """A set of tokens that has another mass in the trainer's rows than in the engine's, by so much on average."""

    tokens: str
    by: float


class OddRequest(NamedTuple):
    """A request whose logprobs are not the engine's. deviation: root mean square of its tokens' differences."""

    name: int | str
    tokens: int
    deviation: float


class LogFortunes(NamedTuple):
    """Logarithms of fortunes whose mean is at most 1: on means below 1, on means above 1, and on each request."""

    below: float
    above: float
    requests: Array


class ImportanceWeights:
    """The importance weights of all tokens, and the squared differences of each request.

    allowed, deviation: most that a logprob may differ, and the root mean square of all.
    off: most that rounding moves the mean of p / q. names: of the requests. count: sampled tokens.
    excused: the most that any of them was allowed, with the rounding of its recorded row.
    Guarantee: refutes with probability at most ALPHA if the mean of p / q, given all before, is within ``off`` of 1 for
    each set, no difference is above ``allowed``, and each request's squares have a mean of at most deviation^2.
    """

    def __init__(self, allowed: float, deviation: float, off: float, names: Sequence[int | str]):
        self.allowed, self.deviation, self.off = allowed, deviation, off
        self.count, self.excused, self._totals = 0, off, np.zeros(len(SETS))
        self._below, self._above = (np.zeros((len(SETS), len(STAKES))) for _ in range(2))
        self._names, self._logs = names, np.zeros((len(names), len(STAKES)))
        self._tokens, self._squares = np.zeros(len(names), dtype=int), np.zeros(len(names))

    def add(self, differences: Array, probability: Array, sampled: Array, rounding: Array, request: Array) -> None:
        """Settle the bets on further tokens; a difference above what is allowed decides without them.

        differences: [T], log p - log q. probability: [T], q. sampled: [T], whether the token was drawn from the row.
        rounding: [T], most that the row's probabilities are off. request: [T], the place of its name.
        """
        within = np.abs(differences) <= self.allowed
        squares, request = differences[within] ** 2, request[within]
        np.add.at(self._logs, request, log_bets_above(squares, self.deviation**2))
        np.add.at(self._tokens, request, 1)
        np.add.at(self._squares, request, squares)
        within &= sampled
        off, likely = self.off + rounding[within], probability[within] >= LIKELY
        least, most = exp(-self.allowed), exp(self.allowed)
        for k, chosen in enumerate((True, likely, ~likely)):
            weights = np.where(chosen, np.exp(differences[within]), 1.0)
            self._above[k] += log_bets_above(weights - least, 1 + off - least).sum(0)
            self._below[k] += log_bets_above(most - weights, most - 1 + off).sum(0)
            self._totals[k] += float((weights - 1).sum())
        self.count, self.excused = self.count + len(off), max(self.excused, float(off.max(initial=0.0)))

    @property
    def fortunes(self) -> LogFortunes:
        """Return the fortunes now."""
        below, above = (float(log_mean_exp(logs.ravel())) for logs in (self._below, self._above))
        return LogFortunes(below, above, log_mean_exp(self._logs, axis=1))

    @property
    def moved(self) -> MovedMass | None:
        """Return the tokens that show most that the trainer's rows have mass elsewhere, if some do."""
        fortunes = self.fortunes
        if max(fortunes.below, fortunes.above) < GOAL:
            return None
        logs = self._below if fortunes.below > fortunes.above else self._above
        worst = int(log_mean_exp(logs, axis=1).argmax())
        return MovedMass(SETS[worst], float(self._totals[worst] / self.count))

    @property
    def odd_request(self) -> OddRequest | None:
        """Return the request that differs most, if that is by more than rounding."""
        if not self._names:
            return None
        fortunes = self.fortunes.requests
        worst = int(fortunes.argmax())
        if fortunes[worst] < GOAL + log(len(fortunes)):
            return None
        tokens = int(self._tokens[worst])
        return OddRequest(self._names[worst], tokens, float((self._squares[worst] / tokens) ** 0.5))
