"""The law of who comes first among independent random scores, found level by level.

Each score is a monotone function of a random number of its own. From the best score down to the worst, the point at
which a contestant reaches a level is found by bisection on its number. The probability to be no better than the level
is exp(-H_i), with H_i the contestant's hazard. Between two levels, i comes first with the share that its own hazard
has in the sum. Of equal scores the first wins. No formula is assumed: in a race of exponentials (w / E, log w - log E,
Gumbel noise) the shares are the same on all levels; with noise that is capped, floored or rounded they are not.

A share is exact where hazards keep their proportions between the two levels. Otherwise it is wrong by at most the
probability that two contestants fall into that gap, whatever the scores do inside; that is ``between`` in all. Where
halving a gap changes the shares by d, and no contestant keeps one score over much of it, it is also wrong by at most d
times the probability that the gap decides, times the gap's hazard H if that is below 1: of the integral of
exp(-h) (share(h) - mean share) over h = 0..H only what exp(-h) varies is left. Gaps are halved until the sum of this,
``error``, is small.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

WIDEST_GAP = 1 / 32
"""Largest probability of a gap between two levels."""
MOST_GAPS = 300
"""Gaps up to which a ladder is refined."""
STAIRS = 4.0
"""Factor from the share of a gap's hazard that has one score to a change of the odds.

Odds that agree say nothing where scores are stairs.
"""
GOLDEN = (math.sqrt(5) - 1) / 2


class NotMonotone(Exception):
    """Raised where the score of a contestant rises although it has to fall."""


class Contestant(Protocol):
    """A random score. Positions 0..points - 1 are the points of its random number, best score first.

    rank(j): the score at a position, larger is better, not increasing in j.
    hazard(j): -log of the probability of the positions from j on; 0 at 0, infinite at ``points``.
    position(h): the first position whose hazard is h or more.
    grain: positions within which rounding moves a threshold.
    """

    points: int
    grain: int

    def rank(self, position: int) -> float: ...
    def hazard(self, position: int) -> float: ...
    def position(self, hazard: float) -> int: ...


class Cell(NamedTuple):
    """The positions of all contestants between two levels, or on one.

    start, end: of each contestant.
    tie: whether all scores in it are equal, so that the lowest index wins; else it is a gap.
    change: of the shares when this gap was made by halving another, and not less than STAIRS times the largest share of
      its hazard that one score has there; 1 if that is not known.
    law: probability with which each contestant comes first, in this cell.
    pair: probability that two contestants are in this cell, and none before.
    span: hazard of all contestants together over this cell.
    """

    start: tuple[int, ...]
    end: tuple[int, ...]
    tie: bool
    change: float
    law: list[float]
    pair: float
    span: float = 0.0

    @property
    def error(self) -> float:
        return 0.0 if self.tie else min(self.pair, sum(self.law) * min(self.span, 1.0) * self.change)

    def shares(self) -> list[float] | None:
        total = sum(self.law)
        return [p / total for p in self.law] if total > 0 else None


class Ladder:
    """The law of who comes first.

    contestants: in the order that decides ties.
    fixed: (place among them, score) of a constant that takes part: its place counts in ties.
    scatter: moves the levels, so that many races examine other ones each.
    goal: error at which to stop.
    law: probabilities in order, the constant's in its place. error: see above.
    between: probability that two contestants are in one gap between levels, where anything may decide between them.
    cells: in order of the levels.
    Raises: NotMonotone if a contestant is seen not to be.
    """

    def __init__(self, contestants: Sequence[Contestant], fixed: tuple[int, float] | None = None,
                 scatter: int = 0, goal: float = 2.0**-48):  # fmt: skip
        self._runners, self._fixed, self._scatter = contestants, fixed, scatter
        last = max(runner.rank(runner.points - 1) for runner in contestants)
        last = max(last, fixed[1]) if fixed else last
        origin = tuple(0 for _ in contestants)
        everything = tuple(runner.points for runner in contestants)
        above = self._cut(last, origin, everything, strict=True)
        with_last = self._cut(last, above, everything, strict=False)
        gaps = [self._cell(origin, above, False, 1.0)]
        self.cells = [self._cell(above, with_last, True, 0.0, fixed is not None and fixed[1] == last)]
        while gaps:
            gaps.sort(key=lambda gap: (sum(gap.law) > WIDEST_GAP, gap.error))
            worst = gaps[-1]
            wide = sum(worst.law) > WIDEST_GAP
            enough = sum(gap.error for gap in gaps) <= goal or len(self.cells) + len(gaps) >= 2 * MOST_GAPS
            if not wide and enough:
                break
            gaps.pop()
            halves = self._halved(worst)
            gaps += [half for half in halves if not half.tie]
            self.cells += [half for half in halves if half.tie]
        self.cells = sorted(self.cells + gaps, key=lambda cell: (cell.start, cell.end))
        self.error = math.fsum(cell.error for cell in self.cells)
        self.between = math.fsum(cell.pair for cell in self.cells)
        self.law = [math.fsum(column) for column in zip(*(cell.law for cell in self.cells))]

    @property
    def drift(self) -> float:
        """Return the total variation by which who is first depends on the cell in which they are."""
        apart = (abs(p - sum(cell.law) * share) for cell in self.cells for p, share in zip(cell.law, self.law))
        return math.fsum(apart) / 2

    def _cut(self, level: float, low: tuple[int, ...], high: tuple[int, ...], strict: bool,
             guesses: Sequence[int] | None = None) -> tuple[int, ...]:  # fmt: skip
        """Return each contestant's first position whose score is below the level (strict: not above it)."""
        cuts = []
        for i, runner in enumerate(self._runners):

            def beyond(j: int, rank: Callable[[int], float] = runner.rank) -> bool:
                return rank(j) <= level if strict else rank(j) < level

            a, b = low[i], high[i]  # the answer lies in a..b
            if guesses is None and not strict:
                guess: int | None = a  # few have the very same score
            else:
                guess = None if guesses is None else guesses[i]
            if guess is not None:
                under, over = max(a, guess - runner.grain), min(b, guess + runner.grain)
                if over < b and beyond(over):
                    b = over
                if under > a and not beyond(under - 1):
                    a = under
            while a < b:
                middle = (a + b) // 2
                if beyond(middle):
                    b = middle
                else:
                    a = middle + 1
            cuts.append(a)
        return tuple(cuts)

    def _step(self, start: tuple[int, ...], limit: tuple[int, ...]) -> float:
        """Return the largest hazard with which one contestant keeps one score, from these positions on."""
        largest = 0.0
        for i, (runner, first, last) in enumerate(zip(self._runners, start, limit)):
            if first < last:
                alone = tuple(first if k == i else 0 for k in range(len(start)))
                until = tuple(last if k == i else 0 for k in range(len(start)))
                end = self._cut(runner.rank(first), alone, until, strict=False)[i]
                largest = max(largest, runner.hazard(end) - runner.hazard(first))
        return largest

    def _hazards(self, positions: tuple[int, ...]) -> list[float]:
        return [runner.hazard(j) for runner, j in zip(self._runners, positions)]

    def _cell(
        self, start: tuple[int, ...], end: tuple[int, ...], tie: bool, change: float, constant: bool = False
    ) -> Cell:
        before = self._hazards(start)
        steps = [h - b if e > s else 0.0 for h, b, s, e in zip(self._hazards(end), before, start, end)]
        reached = math.exp(-math.fsum(before))
        if self._fixed is not None:
            steps.insert(self._fixed[0], math.inf if constant else 0.0)
        if tie:
            law, left = [], reached
            for step in steps:
                law.append(left * -math.expm1(-step))
                left *= math.exp(-step)
            return Cell(start, end, True, 0.0, law, 0.0)
        total = math.fsum(steps)
        reaching = reached * -math.expm1(-total)
        law = [reaching * step / total if total else 0.0 for step in steps]
        alone = math.fsum(-math.expm1(-step) * math.exp(step - total) for step in steps)
        return Cell(start, end, False, change, law, max(reaching - reached * alone, 0.0), total)

    def _halved(self, gap: Cell) -> list[Cell]:
        """Return a gap cut at the score that its likeliest contestant has half way through its hazard."""
        before, after = self._hazards(gap.start), self._hazards(gap.end)
        steps = [b - a for a, b in zip(before, after)]
        leader = max(range(len(steps)), key=steps.__getitem__)
        share = 0.4 + 0.2 * ((self._scatter + 1) * GOLDEN % 1.0)
        half = min(max(self._runners[leader].position(before[leader] + share * steps[leader]), gap.start[leader]),
                   gap.end[leader] - 1)  # fmt: skip
        level = self._runners[leader].rank(half)
        done = (self._runners[leader].hazard(half) - before[leader]) / steps[leader]
        guesses = [runner.position(a + done * s) for runner, a, s in zip(self._runners, before, steps)]
        above = self._cut(level, gap.start, gap.end, strict=True, guesses=guesses)
        with_level = self._cut(level, above, gap.end, strict=False)
        upper = self._cell(gap.start, above, False, gap.change)
        lower = self._cell(with_level, gap.end, False, gap.change)
        one, other = upper.shares(), lower.shares()
        if one and other:
            change = max(abs(x - y) for x, y in zip(one, other))
            steep = self._step(above, gap.end) / math.fsum(steps)
            change = min(max(change, STAIRS * steep), 1.0)
            upper, lower = upper._replace(change=change), lower._replace(change=change)
        halves = [upper, self._cell(above, with_level, True, 0.0), lower]
        if any(half.start == gap.start and half.end == gap.end and not half.tie for half in halves):
            raise NotMonotone
        return [half for half in halves if half.start != half.end]
