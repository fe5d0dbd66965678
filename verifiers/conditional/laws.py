"""The law of one step's outcome (tau, Y), given the drafted tokens and the rows: how it is made and evaluated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .steps import Array, PairRows, Steps, excess


class Weights(NamedTuple):
    """Weights from which Y is drawn, not normalised.

    listed: [N, K], of the tokens that are listed
    rest: [N], at least the weight of all others together
    """

    listed: Array
    rest: Array

    def probability(self, at: Array) -> Array:
        """Return the probability of a listed token of each step, [N]: 0 where all weights are. at: [N], its place."""
        total = self.listed.sum(-1) + self.rest
        chosen = self.listed[np.arange(len(at)), at]
        return np.divide(chosen, total, out=np.zeros(len(at)), where=total > 0)


Accept = Callable[[Steps], Array]
"""accept(steps) -> [N, G], the probability with which each coin of a step comes up; of places without a token, any."""

Draw = Callable[[Steps, PairRows], Weights]
"""draw(steps, rows at tau) -> the weights of Y, [N, ...]."""


def from_target(steps: Steps, rows: PairRows) -> Weights:
    """Return the target's row."""
    return Weights(rows.target, rows.rest_target.sum(-1))


def from_residual(steps: Steps, rows: PairRows) -> Weights:
    """Return max(p - q, 0). Source: Sun et al. 2025, Eq. (3)."""
    listed, _, most = excess(rows)
    return Weights(listed, most)


@dataclass(frozen=True)
class StepLaw:
    """The law of (tau, Y) of a rule.

    name: its key. title: what it is, in words.
    accept: the coins. longest: whether the last coin that came up decides, and not the first that did not.
    replace: draws Y behind a rejected token; None: of tau alone a law is known.
    bonus: draws Y behind the last token. bonus_row: from the row so many places before the last.
    row: the replacement is drawn from the row so many places behind.
    change: returns the steps with other rows in the place of the recorded ones.
    of_class: whether it is another rule for a class of tokens alone: a bet, and not one of the known faults.
    """

    name: str
    title: str
    accept: Accept
    replace: Draw | None = from_residual
    longest: bool = False
    bonus: Draw = from_target
    row: int = 0
    bonus_row: int = 0
    change: Callable[[Steps], Steps] | None = None
    of_class: bool = False

    def seen(self, steps: Steps) -> Steps:
        """Return the steps with the rows that the rule works with."""
        if self.change and self.change not in steps.kept:
            steps.kept[self.change] = self.change(steps)
        return steps.kept[self.change] if self.change else steps

    def coins(self, steps: Steps) -> Array:
        """Return the coins' probabilities, [N, G], 0 where there is no token."""
        if self.accept not in steps.kept:
            with np.errstate(divide="ignore", invalid="ignore"):
                coins = np.where(steps.drafted, np.clip(self.accept(steps), 0.0, 1.0), 0.0)
            steps.kept[self.accept] = coins
        return steps.kept[self.accept]

    def stops(self, steps: Steps) -> Array:
        """Return Pr(tau = k), [N, G + 1]."""
        return stops_of(self.coins(steps), steps, self.longest)

    def tokens(self, steps: Steps) -> Array | None:
        """Return Pr(Y | tau) of what was emitted, [N]; None if it is not known."""
        if self.replace is None:
            return None
        return np.where(steps.bonus, self._of(steps, self.bonus), self._of(steps, self.replace))

    def _of(self, steps: Steps, draw: Draw) -> Array:
        """Return the probability of Y under one of the draws, [N]: laws that share it compute it once."""
        key = draw, self.row, self.bonus_row
        if key not in steps.kept:
            places = self.places(steps)
            rows = steps.rows_at(places) if self.row or self.bonus_row else steps.end
            steps.kept[key] = draw(steps, rows).probability(steps.at_last[np.arange(steps.count), places])
        return steps.kept[key]

    def places(self, steps: Steps) -> Array:
        """Return the place of the row from which Y is drawn, [N]."""
        place = np.where(steps.bonus, steps.emitted - self.bonus_row, steps.emitted + self.row)
        return np.clip(place, 0, steps.lengths)

    def log_likelihood(self, steps: Steps) -> tuple[Array, Array | None]:
        """Return log Pr(tau) and log Pr(Y | tau) of what was emitted, [N] each; -inf for what cannot be."""
        steps = self.seen(steps)
        seen = self.stops(steps)[np.arange(steps.count), steps.emitted]
        tokens = self.tokens(steps)
        with np.errstate(divide="ignore"):
            return np.log(seen), None if tokens is None else np.log(tokens)


def stops_of(coins: Array, steps: Steps, longest: bool) -> Array:
    """Return Pr(tau = k), [N, G + 1], of independent coins.

    longest: tau is the last coin that came up, h_k prod_{j > k} (1 - h_j); else the number that came up before the
    first that did not, prod_{i <= k} h_i (1 - h_{k+1}).
    """
    ones = np.ones((steps.count, 1))
    if longest:
        none_behind = np.cumprod(np.concatenate([ones, 1 - coins[:, ::-1]], axis=1), axis=1)[:, ::-1]
        return np.concatenate([ones, coins], axis=1) * none_behind
    all_before = np.cumprod(np.concatenate([ones, coins], axis=1), axis=1)
    return all_before * np.concatenate([1 - coins, ones], axis=1)
