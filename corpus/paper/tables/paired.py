"""Which of two verifiers is better, pair by pair: evidence for an order that may be looked at after every pair.

d_t = A_t - B_t is the difference of the two on the same prompt with the same seed (of tokens per call, say), within -b
and b. A gambler bets that the next difference is positive, another that it is negative; neither can be expected to win
while the order is not as they say.
"""

import reprlib
from math import ceil, exp, log
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from draftproof.models.errors import InputError
from draftproof.stattests.arguments import checked_rates
from draftproof.stattests.betting import STEPS_AT_ONCE, fortune_paths
from draftproof.stattests.power import log_mean_exp, root

PAIRED_STAKES = 0.9 * 2.0 ** -np.arange(8)
"""Shares l of the fortune that are staked. Not all of it: one difference of -b would end the bet."""

MOST_LOST = 0.95
"""Share of a fortune that one difference may lose in the bets of the interval: it limits the guesses."""

MOST_NEEDED = 1e9
"""Pairs beyond which the number needed is not stated."""

GREATER, LESS, UNDECIDED = "greater", "less", "undecided"


class PairedResult(NamedTuple):
    """The order of A and B after n pairs.

    mean: of the n differences
    lower, upper: interval around the mean of their conditional means
    log_e_greater, log_e_less: log of the largest evidence so far against "A is no better than B", "A is no worse"
    verdict: "greater" (A than B), "less" or "undecided"
    """

    mean: float
    lower: float
    upper: float
    n: int
    log_e_greater: float
    log_e_less: float
    verdict: str


class PairedOrder:
    """A sequence of paired differences, their order and the interval of their mean.

    E_t = mean over shares l of prod over s <= t of (1 + l d_s / b), and the same with -d_s. The verdict is "greater"
    once E has reached 2 / alpha at any time, "less" once the other has, "undecided" before that and where both have.
    Interval: all m with mean over l of prod over s <= t of (1 + l (d_s - c_s) / b) exp(l (c_s - m) / b) < 2 / alpha,
    and the same of -d_s, -c_s, -m. c_s is a guess: the mean of those before, or the largest number with which a bet can
    lose no more than MOST_LOST, if that is less.
    Since 1 + x <= exp(x), each factor has the conditional mean exp(l (E[d_s | past] - m) / b) at most.
    bound: b, in the unit of the differences
    Guarantee: if no conditional mean E[d_t | past] is above 0, Pr(ever "greater") <= alpha / 2; if none is below 0,
    Pr(ever "less") <= alpha / 2; with both, an order is ever reported of equals with probability at most alpha,
    whenever one stops. Pr(the mean of E[d_s | past] over s <= t is outside of the interval at any t) <= alpha, whether
    or not the conditional means are equal. The verdict may come before the interval leaves 0: its hypothesis is the
    narrower one. With small differences the interval is sqrt(2 log(2 / alpha)) standard errors wide at best.
    Raises: InputError for a bound that is not positive and a rate outside of (0, 1).
    Source: Waudby-Smith and Ramdas 2024 (bets); the interval for means that move and the mixture over fixed shares are
    ours; Ville 1939.
    """

    def __init__(self, bound: float, alpha: float = 1e-6):
        checked_rates(alpha)
        _checked_bound(bound)
        self.bound, self.alpha = float(bound), alpha
        self._logs = np.zeros((2, len(PAIRED_STAKES)))
        self._highest = np.zeros(2)
        self._guessed = np.zeros((2, len(PAIRED_STAKES)))
        self._sum = 0.0
        self._n = 0

    def observe(self, differences: ArrayLike) -> PairedResult:
        """Count further differences, in the order in which they were made.

        differences: [T], within -b and b, or a single number. Raises: InputError if one is not, or there are none.
        """
        try:
            shares = np.atleast_1d(np.asarray(differences, dtype=float)) / self.bound
        except (TypeError, ValueError):
            raise InputError(f"differences are {reprlib.repr(differences)}, expected numbers") from None
        if shares.ndim != 1 or not len(shares):
            raise InputError(f"differences of shape {shares.shape}, expected one axis with one difference or more")
        outside = np.flatnonzero(~(np.abs(shares) <= 1 + 1e-9))
        if len(outside):
            value = f"difference {outside[0]} is {shares[outside[0]] * self.bound:g}"
            raise InputError(f"{value}, expected a number within -{self.bound:g} and {self.bound:g}")
        shares = np.clip(shares, -1.0, 1.0)
        for start in range(0, len(shares), STEPS_AT_ONCE):
            self._settle(shares[start : start + STEPS_AT_ONCE])
        return self.standing

    @property
    def standing(self) -> PairedResult:
        """Return the order after all differences so far. Raises: InputError before the first."""
        if not self._n:
            raise InputError("no differences were observed")
        greater, less = (float(e) for e in self._highest)
        goal = log(2 / self.alpha)
        verdict = UNDECIDED if (greater >= goal) == (less >= goal) else GREATER if greater >= goal else LESS
        mean, lower, upper = self._sum / self._n, self._end(0), -self._end(1)
        return PairedResult(self.bound * mean, self.bound * lower, self.bound * upper, self._n, greater, less, verdict)

    def _end(self, side: int, times: float = 1.0) -> float:
        """Return the largest m, in units of b, that the bets of one side refute: -1 at least.

        side: 0 of d, 1 of -d. times: how many times as many differences to assume, of the same mean and variance.
        """
        goal = log(2 / self.alpha)

        def won(m: float) -> float:
            return float(log_mean_exp(times * (self._guessed[side] - PAIRED_STAKES * self._n * m))) - goal

        return -1.0 if won(-1.0) <= 0 else root(won, -1.0, 1.0, relative=1e-12)

    def pairs_needed(self) -> int | None:
        """Estimate how many pairs it takes for the interval to leave 0, if mean and variance stay as they are.

        None where the mean is 0, or more than MOST_NEEDED would be needed. Guarantee: none, it is an extrapolation.
        Raises: InputError before the first.
        """
        n, side = self._n, 0 if self._sum > 0 else 1
        if self._end(side) > 0:
            return n
        if not self._sum or self._end(side, MOST_NEEDED / n) <= 0:
            return None
        times = exp(root(lambda log_times: self._end(side, exp(log_times)), 0.0, log(MOST_NEEDED / n), relative=1e-6))
        return ceil(n * times * (1 - 1e-9))

    def _settle(self, shares: np.ndarray) -> None:
        staked = np.outer(PAIRED_STAKES, shares)
        paths = fortune_paths(self._logs, np.log1p(np.stack([staked, -staked])))
        self._highest = np.maximum(self._highest, log_mean_exp(paths, axis=1).max(axis=1))
        self._logs = paths[:, :, -1]
        sums = self._sum + np.concatenate([[0.0], np.cumsum(shares)])
        # The guess for each difference depends on those before it only: their mean, with one 0 to begin with.
        guesses = sums[:-1] / np.arange(self._n + 1, self._n + len(shares) + 1)
        most = (MOST_LOST / PAIRED_STAKES - 1)[:, None]
        for side, sign in enumerate((1, -1)):
            guessed = np.minimum(sign * guesses, most)
            self._guessed[side] += np.log1p(PAIRED_STAKES[:, None] * (sign * shares - guessed)).sum(axis=1)
            self._guessed[side] += PAIRED_STAKES * guessed.sum(axis=1)
        self._sum, self._n = float(sums[-1]), self._n + len(shares)


def _checked_bound(bound: float) -> None:
    if not (isinstance(bound, Real) and 0 < bound < float("inf")):
        raise InputError(f"bound is {bound!r}, expected a positive number")
