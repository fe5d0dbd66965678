"""An argmax of random scores: who wins it, by the law of ``hazards``."""

import itertools
import math
import zlib
from typing import Any

import numpy as np

from ..field import rational
from .contests import Contest
from .hazards import Ladder, NotMonotone
from .numbers import Traced
from .places import place
from .shared_noise import used_twice
from .tracer import Tracer, active

LARGEST_ERROR = 2.0**-6
"""Error of a race's law beyond which no law is stated."""
SEEN_APART = 2.0**-54
"""Smallest probability of an undefined score that gets a path of its own: below that of 0 in 53 bits."""
SCATTERED = 12
"""Points at which the order of a contestant's scores is checked."""


def race(scores: list[Any], largest: bool) -> int:
    """Return the index that argmax (or argmin) returns, decided by the law of the race."""
    tracer = active()
    if tracer is None or not any(isinstance(score, Traced) for score in scores):
        numbers = [float(s) for s in scores]
        return max(range(len(numbers)), key=lambda i: _rank(numbers[i], largest))
    runners: dict[int, _Runner] = {}
    still: dict[int, float] = {}
    for i, score in enumerate(scores):
        runner = _Runner(score, largest) if isinstance(score, Traced) else None
        value = float(score) if runner is None else runner.constant()
        if value is None:
            assert runner is not None
            runners[i] = runner
        elif math.isnan(value):
            tracer.notice("nan", f"a NaN decides the argmax at {place()}")
            return i
        else:
            still[i] = value
    best = max(still, key=lambda i: (_rank(still[i], largest), -i)) if still else None
    if best is not None and not runners:
        return best
    if best is not None and len(runners) == 1:
        return _against_constants(next(iter(runners.items())), best, still[best], largest)
    parts = _won(tracer, runners)
    for i, runner in runners.items():
        if i not in parts:
            runner.enter()
    return _run(tracer, runners, parts, None if best is None else (best, _rank(still[best], largest)))


def _won(tracer: Tracer, runners: dict[int, "_Runner"]) -> dict[int, tuple[int, Contest]]:
    """Return the races that contestants have won if each that has run won its last one, and no number is in two."""
    spent = [i for i, runner in runners.items() if runner.source.spent]
    last = {source: at for at, contest in tracer.races.items() for source in contest.sources}
    found = {i: (at, tracer.races[at]) for i in spent if (at := last.get(runners[i].source)) is not None}
    found = {i: (at, contest) for i, (at, contest) in found.items() if contest.won_by(runners[i])}
    numbers = [source for _, contest in found.values() for source in contest.sources]
    return found if len(found) == len(spent) and len({*numbers}) == len(numbers) else {}


def _run(
    tracer: Tracer,
    entries: dict[int, "_Runner"],
    parts: dict[int, tuple[int, Contest]],
    constant: tuple[int, float] | None,
) -> int:
    """Return the index that wins. Contestants that won a race bring all that ran in it.

    constant: the index and the score of the best one that is fixed.
    """
    runners, indices, earlier = list[_Runner](), list[int](), []
    for i, runner in entries.items():
        at, part = parts.get(i, (-1, None))
        earlier += [(at, len(runners), part)] if part else []
        runners += part.runners if part else [runner]
        indices += [i] * (len(runners) - len(indices))
    _apart(runners)
    numbers: list[Any] = [runner.source for runner in runners]
    fixed = None
    if constant is not None:
        fixed = sum(i < constant[0] for i in indices), constant[1]
        indices.insert(fixed[0], constant[0])
        numbers.insert(fixed[0], None)
    ladder, drift = _ladder(runners, fixed), sum(part.drift for *_, part in earlier)
    if not all(part.independent for *_, part in earlier):
        tracer.give_up(f"winners of races that are not of exponentials race each other at {place()}: no closed form")
    order = sorted({*indices})
    law = [math.fsum(p for p, index in zip(ladder.law, indices) if index == i) for i in order]
    at = len(tracer.path)
    chosen = order[_decided(runners, ladder, law, drift)]
    winner = numbers.index(entries[chosen].source if chosen in entries else None)
    contest = Contest(runners, ladder, winner, fixed and fixed[0], _key(runners, fixed), place(), earlier)
    tracer.races[at] = contest
    contest.settle()
    for source in contest.sources:
        source.spent = f"an argmax at {place()}"
    return chosen


def _rank(value: float, largest: bool) -> float:
    return value if largest else -value


def _against_constants(entry: tuple[int, "_Runner"], best: int, value: float, largest: bool) -> int:
    """Compare one random number with the best of the fixed ones. Ties go to the lower index."""
    only, runner = entry
    wins = {(True, True): "ge", (True, False): "gt", (False, True): "le", (False, False): "lt"}[largest, only < best]
    return only if runner.number.compare(value, wins) else best


def _apart(runners: list["_Runner"]) -> None:
    if len({runner.source for runner in runners}) < len(runners):
        runners[0].source.tracer.give_up(f"one random number runs for two contestants at {place()}")


def _key(runners: list["_Runner"], fixed: tuple[int, float] | None) -> tuple:
    return (fixed, *(runner.key() for runner in runners))


def _ladder(runners: list["_Runner"], fixed: tuple[int, float] | None) -> Ladder:
    key = _key(runners, fixed)
    known: dict[tuple, Ladder] = runners[0].source.tracer.exploration.ladders
    ladder = known.get(key)
    if ladder is None:
        goal = max(2.0**-48, *(2 * runner.source.epsilon for runner in runners))
        try:
            scatter = zlib.crc32(repr([runner.rank(runner.points // 2) for runner in runners]).encode())
            ladder = known[key] = Ladder(runners, fixed, scatter, goal)
        except NotMonotone:
            tracer = runners[0].source.tracer
            tracer.give_up(f"the score of a random number in the argmax at {place()} rises and falls")
    return ladder


def _decided(runners: list["_Runner"], ladder: Ladder, law: list[float], drift: float) -> int:
    """Return who comes first on this path.

    law: of that. drift: by how much it may be wrong, beside the ladder's error.
    """
    tracer, error = runners[0].source.tracer, ladder.error + drift
    if error > LARGEST_ERROR:
        tracer.give_up(f"the distribution of the race at {place()} is known only to within {error:.1g}")
    tracer.uncertain(error + math.fsum(runner.source.coarseness for runner in runners), ladder.between)
    heaviest = max(law)
    # What is far below the resolution cannot be distinguished from nothing, nor replayed on the generator's lattice.
    shares = [rational(p) if p > heaviest * 2.0**-50 else rational(0) for p in law]
    return tracer.branch([share / sum(shares) for share in shares])


class _Runner:
    """A ``Contestant`` that is a random number of third-party code, best points first."""

    def __init__(self, number: Traced, largest: bool):
        self.number, self.source, self.largest = number, number.source, largest
        self._downwards = False
        self._span(self.source.low, self.source.high)

    def _span(self, low: int, high: int) -> None:
        self.low, self.high, self.points = low, high, high - low
        self.grain = self.source.grain

    def key(self) -> tuple:
        return (self.number.key(), self.low, self.high, self.largest)

    def point(self, position: int) -> int:
        return self.high - 1 - position if self._downwards else self.low + position

    def score(self, point: int) -> float:
        with np.errstate(all="ignore"):
            return float(self.number.at(point))

    def rank(self, position: int) -> float:
        score = self.score(self.point(position))
        if math.isnan(score):
            self.source.tracer.give_up(f"a NaN among the scores of the argmax at {place()}")
        return _rank(score, self.largest)

    def hazard(self, position: int) -> float:
        return self.source.hazard(self.point(position), self._downwards, self.low, self.high)

    def position(self, hazard: float) -> int:
        low, high = 0, self.points - 1
        while low < high:
            middle = (low + high) // 2
            if self.source.hazard(self.point(middle), self._downwards, self.low, self.high) >= hazard:
                high = middle
            else:
                low = middle + 1
        return low

    def constant(self) -> float | None:
        """Return the score if it is not random, NaN if it is undefined on this path, None if it is random."""
        for at_low in (True, False):
            if self._undefined(at_low):
                return math.nan
        self._turn()
        ranks = [self.rank(self.points * k // SCATTERED) for k in range(SCATTERED)] + [self.rank(self.points - 1)]
        if any(later > earlier for earlier, later in itertools.pairwise(ranks)):
            self.source.tracer.give_up(f"the score of a random number in the argmax at {place()} rises and falls")
        return self.score(self.low) if ranks[0] == ranks[-1] else None

    def _turn(self) -> None:
        """Find which end is the best one.

        A single point that breaks the order at an end (1 / -0.0) is cut off.
        """
        for _ in range(2):
            if self.points > 4:
                ends = [self.score(k) for k in (self.low, self.low + 1, self.high - 2, self.high - 1)]
                rising = ends[2] > ends[1]
                for point, step in ((self.low, ends[1] - ends[0]), (self.high - 1, ends[3] - ends[2])):
                    if (step < 0) if rising else (step > 0 and ends[1] != ends[2]):
                        self._cut_off(
                            point, point + 1, f"the order breaks where a number is {self.source.value(point)}"
                        )
                        break
        first, last = self.score(self.low), self.score(self.high - 1)
        self._downwards = _rank(last, self.largest) > _rank(first, self.largest)

    def _cut_off(self, low: int, high: int, why: str) -> None:
        """Leave out points at an end. Their probability is what the law may be wrong by."""
        source = self.source
        mass = float(source.weight(low, high) / source.weight(self.low, self.high))
        source.tracer.uncertain(mass)
        if mass > 2.0**-60:
            source.tracer.notice("raises-at-end", f"{why} at {place()}")
        self._span(*((high, self.high) if low == self.low else (self.low, low)))
        if source.settled is None:
            source.low, source.high = self.low, self.high

    def _undefined(self, at_low: bool) -> bool:
        """Return whether the score is NaN on this path. Points at one end at which it is are cut off."""

        def fails(point):
            try:
                return "NaN" if math.isnan(self.score(point)) else ""
            except (ArithmeticError, ValueError) as error:
                return type(error).__name__

        why = fails(self.low if at_low else self.high - 1)
        if not why:
            return False
        inside, outside = (self.low, self.high) if at_low else (self.high - 1, self.low - 1)
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if fails(middle) else (inside, middle)
        if outside in (self.low - 1, self.high):
            return True
        source, tracer = self.source, self.source.tracer
        low, high = (self.low, outside) if at_low else (inside, self.high)
        mass = source.weight(low, high) / source.weight(self.low, self.high)
        if why != "NaN" or float(mass) < SEEN_APART:
            self._cut_off(low, high, f"{why} where a number is {source.value(inside)}")
        elif source.spent:
            tracer.give_up(self._used_twice())
        elif tracer.branch([mass, 1 - mass]) == 0:
            source.settled, source.spent = lambda which, low=low: low, f"an argmax at {place()}"
            return True
        else:
            self._span(*((high, self.high) if at_low else (self.low, low)))
            source.low, source.high = self.low, self.high
        return False

    def enter(self) -> None:
        """Take part in a race. Give up if the noise was compared before, or ran one and the tracer shares none."""
        tracer, source = self.source.tracer, self.source
        if source.spent:
            tracer.notice("noise-used-twice", f"noise that decided {source.spent} decides again at {place()}")
            if not tracer.shares_noise or not any(source in race.sources for race in tracer.races.values()):
                tracer.give_up(self._used_twice())
        elif source.settled is not None:
            tracer.give_up(f"noise that was compared before runs a race at {place()}: no closed form")

    def _used_twice(self) -> str:
        return used_twice([(self.source.spent or "").removeprefix("an argmax at "), place()])
