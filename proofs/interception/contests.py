"""Races that were run on a path, and what may follow them: races of their winners, or others with the same noise.

The best of the winners of several races is the best of all their contestants. Tensor-parallel samplers find it so: each
shard has the argmax of its scores, then the best of those is taken. Who wins a race of exponentials says nothing of how
good the winner is. So the winners and the best of them are independent, and which race has the best has the law of one
race of all. Whether it is so is looked at on all levels of each race (``hazards.Ladder.drift``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .hazards import Cell, Ladder

LEAST_DRIFT, MOST_DRIFT = 2.0**-40, 2.0**-17
"""Dependence of a race's winner on its score (total variation) that rounding may be in any dtype, and that none may."""

ROUNDINGS = 64
"""Units of rounding, between those two, that the dependence may be."""


@dataclass(frozen=True, eq=False)
class Contest:
    """A race that was run on a path.

    runners: the contestants.
    ladder: their law.
    winner: the place in the ladder's law of who won on this path.
    fixed: the place in it of a constant, if one takes part.
    scores: what is equal for races with the same scores.
    place: where in the code.
    parts: for each race whose winner took part in place of its contestants, its place on the path, the number of the
      first of its runners here, and the race.
    """

    runners: list[Any]
    ladder: Ladder
    winner: int
    fixed: int | None
    scores: tuple
    place: str
    parts: list[tuple[int, int, "Contest"]]
    known: dict[int, list[int]] = field(default_factory=dict)

    @property
    def sources(self) -> list[Any]:
        return [runner.source for runner in self.runners]

    @property
    def identity(self) -> tuple:
        """Return what is equal for races of the same numbers with the same scores."""
        return (tuple(source.order for source in self.sources), self.scores)

    @property
    def drift(self) -> float:
        return self.ladder.drift + sum(part.drift for *_, part in self.parts)

    @property
    def independent(self) -> bool:
        """Return whether who won says nothing of the winner's score, up to rounding."""
        rounding = ROUNDINGS * max(source.epsilon for source in self.sources)
        parts = all(part.independent for *_, part in self.parts)
        return parts and self.ladder.drift <= min(max(rounding, LEAST_DRIFT), MOST_DRIFT)

    def place_of(self, k: int) -> int:
        """Return the place of a runner in the ladder's law."""
        return k + (self.fixed is not None and k >= self.fixed)

    def won_by(self, entry: Any) -> bool:
        """Return whether a contestant of another race comes with the score by which it won this one.

        It is the same at the ends of all cells of the ladder, and again the largest score is the best, or the smallest.
        """
        number = entry.number
        k = next((k for k, runner in enumerate(self.runners) if runner.source is number.source), -1)
        if k < 0 or self.place_of(k) != self.winner or self.runners[k].largest != entry.largest:
            return False
        runner, same = self.runners[k], number.source.tracer.exploration.monotone
        key = "the same score", number.key(), self.identity, k
        if key not in same:
            ends = {point for cell in self.ladder.cells for point in (cell.start[k], cell.end[k] - 1)}
            if any(
                float(number.at(point)) != runner.score(point)
                for point in map(runner.point, ends)
                if runner.low <= point < runner.high
            ):
                return False
            same.add(key)
        return True

    def settle(self) -> None:
        """Let replays have points with which this race and its parts are won as on this path."""
        for k, source in enumerate(self.sources):
            source.settled = self._point(k)

    def _point(self, k: int) -> Callable[[int], int]:
        def point(which: int) -> int:
            if which not in self.known:
                self.known[which] = self._positions(which, [0] * len(self.runners)) or self._beyond(
                    self.ladder.cells[0], which
                )
            return self.runners[k].point(self.known[which][k])

        return point

    def _positions(self, which: int, after: Sequence[int]) -> list[int] | None:
        """Return positions, none of them before ``after``, with which all is won as on this path; None for none.

        The winner is in its own cell of the ladder, all others are beyond that cell.
        """
        cells = [
            cell
            for cell in self.ladder.cells
            if cell.law[self.winner] > 0 and all(start >= least for start, least in zip(cell.start, after))
        ]
        left = (0.37 + which * 0.618) % 1.0 * sum(cell.law[self.winner] for cell in cells)
        for first, cell in enumerate(cells):
            left -= cell.law[self.winner]
            if left <= 0:
                cells = [cell, *cells[:first][::-1], *cells[first + 1 :]]
                break
        return next((found for cell in cells if (found := self._within(cell, which))), None)

    def _within(self, cell: Cell, which: int) -> list[int] | None:
        positions = self._beyond(cell, which)
        for _, first, part in self.parts:
            here = slice(first, first + len(part.runners))
            if self.winner not in map(self.place_of, range(here.start, here.stop)):
                found = part._positions(which, cell.end[here])
                if found is None:
                    return None
                positions[here] = found
        return positions

    def _beyond(self, cell: Cell, which: int) -> list[int]:
        """Return the middle of the cell for the winner, and a position beyond it for each other."""
        positions = []
        for k, runner in enumerate(self.runners):
            place = self.place_of(k)
            if place == self.winner:
                positions.append((cell.start[k] + cell.end[k] - 1) // 2)
                continue
            beyond = cell.start[k] if cell.tie and place > self.winner else cell.end[k]
            further = runner.position(runner.hazard(beyond) + 0.05 + (which * 0.31 + place * 0.17) % 1.0)
            positions.append(min(max(further, beyond), runner.points - 1))
        return positions
