"""Rows of noise: the odds of a race by bisection, and its closed law.

The contestant with the smallest hazard over weight comes first, where the weights are the same at all levels: so do
argmax(w / E) with exponential and argmax(log w + G) with Gumbel noise, and uniforms made into either. Then
Pr(i first) = w_i / sum(w). The odds w_i / w_r against a reference contestant r are the hazard up to which i comes
first, over that of r, all others far behind; that they are the same at several levels of r is measured, and that whole
rows are decided by them is confirmed on random requests (``laws``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .coordinates import BEST, WORST, Coordinate
from .partition import Asking, Point, joint, moved

LEVELS = (1.0, 0.11, 2.7)
"""Hazards of the reference contestant at which the odds are measured."""

LARGEST_SPREAD = 2.0**-7
"""Largest relative difference of odds between levels for which noise runs a race of constant weights."""

NEAR = 64.0
"""Multiples of a number's grain within which a race may go either way by rounding."""

LIGHTEST = 2.0**-57
"""Odds below which a contestant has none: no generator of noise comes so far."""

STRIDE = 64
"""Points to either side of an expected threshold that are tried first."""


class NotARace(Exception):
    """A signal that noise decides, but by no race with a closed law."""


@dataclass
class Race:
    """What a row of noise decides.

    row: its coordinates, of the contestants that can win alone. weights, outcomes: of each; weights sum to 1.
    small: whether small numbers win. error: total variation by which the law may be wrong, from the odds at other
      levels.
    """

    row: list[int]
    weights: list[float]
    outcomes: list[Any]
    small: bool
    error: float

    def winner(self, coordinates: Sequence[Coordinate], point: Point) -> tuple[Any, bool]:
        """Return the outcome at a point, and whether rounding could make it another."""
        scores = sorted(
            (coordinates[i].hazard(point[i], self.small) / w, k)
            for k, (i, w) in enumerate(zip(self.row, self.weights)) if w > 0
        )  # fmt: skip
        best = scores[0]
        slack = 1 + NEAR * coordinates[self.row[0]].grain
        near = len(scores) > 1 and scores[1][0] <= best[0] * slack
        return self.outcomes[best[1]], near


class Racing:
    """A finder of the race, if there is one, that decides at a point.

    rows: coordinates of each row of noise. odds: odds by two outcomes, tried first.
    """

    def __init__(self, coordinates: Sequence[Coordinate], rows: Sequence[Sequence[int]],
                 odds: dict[Any, float] | None = None):  # fmt: skip
        self.coordinates, self.rows = coordinates, rows
        self.odds: dict[Any, float] = {} if odds is None else odds

    def level(self, point: Point, hazards: dict[int, float], small: bool) -> Point:
        """Return the point with these hazards at these coordinates."""
        changed = list(point)
        for i, hazard in hazards.items():
            changed[i] = self.coordinates[i].at_hazard(hazard, small)
        return tuple(changed)

    def even(self, point: Point) -> Point:
        """Return the point with all noise at hazard 1."""
        for row in self.rows:
            point = self.level(point, dict.fromkeys(row, 1.0), self.coordinates[row[0]].ways[0])
        return point

    def race(self, point: Point, outcome: Any) -> Asking[Race | None]:
        """Return the race at a point with even noise; None if no row decides anything there.

        Raises: NotARace if more than one row does, or a row decides in another way.
        """
        found = yield from joint([self._row(point, outcome, row) for row in self.rows])
        races = [race for race in found if race]
        if len(races) > 1:
            raise NotARace("more than one row of noise decides about the same token")
        return races[0] if races else None

    def _row(self, point: Point, outcome: Any, row: Sequence[int]) -> Asking[Race | None]:
        ways = yield from self._alone(point, outcome, row)
        for k, (small, alone) in enumerate(ways):
            try:
                return (yield from self._race(point, outcome, row, small, alone))
            except NotARace:
                if k + 1 == len(ways):
                    raise
        return None

    def _race(self, point: Point, outcome: Any, row: Sequence[int], small: bool, alone: Sequence[Any]) -> Asking[Race]:
        behind, ahead = (self.level(point, dict.fromkeys(row, h), small) for h in (WORST, BEST))
        ties = [i for i, one in zip(row, alone) if one == outcome]
        without = yield [self.level(ahead, {i: WORST}, small) for i in ties]
        leaders = [i for i, other in zip(ties, without) if other != outcome]
        if len(leaders) != 1:
            raise NotARace("with even noise no contestant of a race leads")
        reference = leaders[0]
        others = [(i, one) for i, one in zip(row, alone) if one != outcome]
        odds = yield from joint([self._odds(behind, (i, one), (reference, outcome), small) for i, one in others])
        total = 1.0 + sum(ratio for ratio, _ in odds)
        weights = [1 / total, *(ratio / total for ratio, _ in odds)]
        outcomes = [outcome, *(one for _, one in others)]
        error = sum(off for _, off in odds) / total
        return Race([reference, *(i for i, _ in others)], weights, outcomes, small, error)

    def _alone(self, point: Point, outcome: Any, row: Sequence[int]) -> Asking[list[tuple[bool, list[Any]]]]:
        """Return whether small numbers win, and the outcome for each contestant with the best alone, the likelier way
        first."""
        tried = []
        for small in self.coordinates[row[0]].ways:
            behind = self.level(point, dict.fromkeys(row, WORST), small)
            alone = yield [self.level(behind, {i: BEST}, small) for i in row]
            if {*alone} != {outcome}:
                own = sum(type(one) is tuple and one[-1] == k for k, one in enumerate(alone))
                tried.append((-own, small, alone))
        return [(small, alone) for _, small, alone in sorted(tried, key=lambda t: t[0])]

    def _odds(
        self, behind: Point, one: tuple[int, Any], reference: tuple[int, Any], small: bool
    ) -> Asking[tuple[float, float]]:
        """Return the weight of a contestant over that of the reference, and by how much it may be wrong.

        Each level gives an interval of two steps of the number. If its best is not good enough, they are narrowed with
        the reference at its worst.
        """
        least, most = 0.0, math.inf
        guess = self.odds.get((one[1], reference[1]))
        levels = [*LEVELS]
        for level in levels:
            start = self.level(behind, {reference[0]: level}, small)
            level = self.coordinates[reference[0]].hazard(start[reference[0]], small)
            low, high = yield from self._threshold(start, one, reference[1], small, level, guess)
            least, most, guess = max(least, low), min(most, high), high
            if low <= 0 and len(levels) == len(LEVELS):
                levels.append(WORST)
        if most < LIGHTEST:
            return 0.0, most
        self.odds[one[1], reference[1]] = middle = (least + most) / 2
        spread = abs(most - least)
        if least - most > LARGEST_SPREAD * middle:
            raise NotARace(f"the odds of noise differ by {spread / middle:.1g} between its levels")
        return middle, spread + middle * self.coordinates[one[0]].grain

    def _threshold(
        self, start: Point, one: tuple[int, Any], other: Any, small: bool, level: float, expected: float | None
    ) -> Asking[tuple[float, float]]:
        """Return bounds of the odds at one level: a contestant's last winning hazard over the reference's."""
        (axis, wins), coordinate = one, self.coordinates[one[0]]
        best, worst = (coordinate.at_hazard(h, small) for h in (BEST, WORST))
        step = 1 if worst > best else -1
        if expected is not None:
            near = coordinate.at_hazard(expected * level, small)
            tried = [near - step * STRIDE, near + step * STRIDE]
            if all(min(best, worst) <= k <= max(best, worst) for k in tried):
                ahead, beaten = yield [moved(start, axis, k) for k in tried]
                best, worst = (tried[0] if ahead == wins else best), (tried[1] if beaten == other else worst)
        ends = yield [moved(start, axis, k) for k in (best, worst)]
        if ends == [other, other]:
            return 0.0, 2 * coordinate.hazard(best, small) / level
        if ends != [wins, other]:
            raise NotARace("of two contestants of a race the one with the better noise does not come first")
        while abs(worst - best) > 1:
            middle = (best + worst) // 2
            (outcome,) = yield [moved(start, axis, middle)]
            if outcome not in (wins, other):
                raise NotARace("a third contestant wins a race of two")
            best, worst = (middle, worst) if outcome == wins else (best, middle)
        low, high = (coordinate.hazard(k, small) / level for k in (best, worst))
        return 1.5 * low - high / 2, 1.5 * high - low / 2  # points stand for middles or ends
