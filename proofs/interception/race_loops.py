"""Loops that compare one random score after another with the best so far: a race, as a draw from the row at once.

The loop is seen when one of two random numbers that are compared was the better one of the two compared before, many
times at one line. From then on the call is made twice: once to record the contestants, each of which takes the lead;
then the winner is drawn (``row_draws``), the first contestant stays ahead until its turn comes, and nobody beats it. So
each is followed where it takes the lead, from the one before it, and where it does not. Who else was ahead for a while
is left to the calls with plain numbers, of which each has other noise: what depends on it is another outcome there.

A contestant's weight is the noise with which it has the score of the likeliest one at 1 (``noise_rows``). It is looked
for step by step, from what the likeliest one's scores are, and is checked for all at some levels, for many at all; in
each race they are other ones.
"""

import math
import operator
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .noise_rows import (
    FARTHEST,
    FINEST,
    FORMS,
    GRAIN,
    LARGEST,
    LEAST_SLACK,
    NEVER,
    SMALLEST,
    generated,
    levels,
    same_at_levels,
)  # fmt: skip
from .places import place, site
from .scans import LoopSeen
from .sources import Exponential, Lattice, RandomSource
from .tracer import Recorded, not_followed

MANY_DUELS, MOST_DUELS = 8, 70
"""Comparisons in turn of a number with the best so far that show a loop; comparisons at one line beyond which they are
not decided one by one."""

LEAST_CONTESTANTS, MOST_CONTESTANTS = 3, 6_000
"""Of a loop that is drawn from: a call goes through them one by one, and there are some hundred for each row."""

TABLE, FIRST_LOOK, MOST_STEPS, CLOSE = 1000, 1e-6, 4, 1e-14
"""Points at which the scores of the likeliest are looked at first; the noise at which those of the others are; steps in
which the weights are found from there, and how close."""

LOOKED_AT, LIKELIEST, LEVELS_OF_ALL, RARE = 200, 50, 4, (0.1, 0.03, 0.01, 0.003, 0.001)
"""Contestants, drawn anew for each race, that are checked at all levels; the likeliest, which are too; levels at which
all are, in as many parts of equal probability; how often the winner's noise is larger than at further ones: a floor
under one score decides where all others are below it."""

EPSILON = 2.0**-52


class RaceLoops:
    """Those of one tracer.

    races: of each loop that was walked to its end, by the path that led to it; None of one that is no race.
    """

    def __init__(self, tracer: Any):
        self.tracer, self.races = tracer, dict[tuple, RecordedRace | None]()
        self.begin()

    def begin(self) -> None:
        """A call begins."""
        self.where: tuple = ()
        self.pair: tuple[Any, ...] = ()
        self.count = self.alike = 0
        self.recorded: Recording | None = None
        self.race: RecordedRace | None = None
        self.stopped: type[BaseException] | None = None

    def answer(self, one: Any, other: Any, name: str) -> bool | None:
        """What a comparison comes to in a loop that was seen; None where it is decided for itself."""
        if self.stopped is not None:  # third-party code has swallowed it
            raise self.stopped
        where = site()[:2]
        if where == self.where and (self.recorded or self.race):
            answer = self.recorded.answer(one, other, name) if self.recorded else self._walked(one, other, name)
            if self.recorded and len(self.recorded.contestants) > MOST_CONTESTANTS:
                scores = f"more than {MOST_CONTESTANTS:,} random scores, compared with the best so far at {place()}"
                self.tracer.give_up(f"{scores}, are not followed", True)
            if answer is not None:
                return answer
        self.ended()
        if where not in self.tracer.exploration.races_in_loops:
            return self._look_for_a_loop(one, other, where)
        if any(source.spent or source.settled for source in (one.source, other.source)):
            return None
        self.where, rows = where, len(self.tracer.rows)
        before = tuple(sorted((k, i) for k, i in self.tracer.forced.items() if k < rows))
        self.key = where, tuple(self.tracer.path), rows, before
        if self.key not in self.races:
            self.recorded = Recording()
            return self.recorded.answer(one, other, name)
        race = self.races[self.key]
        if race is None:
            return None
        self._enter(race)
        self.race = race
        return self._walked(one, other, name)

    def always(self, number: Any, cut: Any, name: str) -> bool | None:
        """What a comparison of a contestant with a number comes to that it always, or never, passes: of the best so far
        with minus infinity, say."""
        if not self.where or not math.isinf(cut):
            return None
        source, op = number.source, getattr(operator, name)
        ends = (source.low, source.low + 1, source.high - 2, source.high - 1)
        answers = {bool(op(value, cut)) for error, value in map(number._tried, ends) if error is None}
        return answers.pop() if len(answers) == 1 else None

    def _look_for_a_loop(self, one: Any, other: Any, where: tuple) -> None:
        goes_on = where == self.where and _among(one, self.pair) != _among(other, self.pair)
        self.count, self.alike = (self.count + 1 if goes_on else 1), (self.alike + 1 if where == self.where else 1)
        self.where, self.pair = where, (one, other)
        if self.alike > MOST_DUELS:
            self.tracer.give_up(f"more than {MOST_DUELS} random numbers are compared in turn at {place()}", True)
        if self.count >= MANY_DUELS:
            self.tracer.exploration.races_in_loops.add(where)
            self.stopped = LoopSeen
            raise LoopSeen

    def ended(self) -> None:
        """Something else is asked: where the contestants of a loop were being recorded, these are all."""
        if self.stopped is not None:
            raise self.stopped
        recorded, race = self.recorded, self.race
        if not (recorded or race):
            return
        self.recorded, self.race, self.where, self.pair = None, None, (), ()
        if race is not None and self.at < len(race.keys):
            self._changes()
        if recorded is not None:
            self.races[self.key] = race = recorded.race()
            if race is None and len(recorded.contestants) > MANY_DUELS:
                scores = f"{len(recorded.contestants)} scores compared with the best so far at {recorded.place}"
                self.tracer.give_up(f"no closed law is known of the {scores}")
            self.stopped = Recorded
            raise Recorded

    def _enter(self, race: "RecordedRace") -> None:
        self.tracer.uncertain(race.error)
        self.orders: list[int] = []
        row = self.tracer.new_row(race.weights, partial(race.lead, self.orders))
        self.base, self.at, self.ahead = row.base, 0, None

    def _walked(self, one: Any, other: Any, name: str) -> bool | None:
        race = self.race
        assert race is not None
        if self.at == 0:
            first, second = sorted((one, other), key=lambda number: number.source.order)
            self._arrives(first, race)
            self.ahead = first
        else:
            second = other if one is self.ahead else one
        if self.at >= len(race.keys) or not _among(self.ahead, (one, other)) or second.source.spent:
            return None
        self._arrives(second, race)
        winner = second if self.at - 1 == self.base else self.ahead
        self.ahead = winner
        return ((winner is one) == race.largest) == (name in ("gt", "ge"))

    def _arrives(self, number: Any, race: "RecordedRace") -> None:
        """The next contestant: give up where it is not the one that was recorded there."""
        if number.key() != race.keys[self.at]:
            self._changes()
        source = number.source
        self.orders.append(source.order)
        source.settled = partial(race.point, self.base, self.at)
        source.spent, source.fresh = f"a race at {place()}", False
        self.at += 1

    def _changes(self) -> None:
        self.tracer.leave_replay()
        self.tracer.give_up(f"the scores that are compared with the best so far at {place()} change", True)


def _among(number: Any, numbers: tuple[Any, ...]) -> bool:
    return any(number is one for one in numbers)


class Recording:
    """The contestants of a loop, in their order: of two that are compared the one that stays is compared again."""

    def __init__(self) -> None:
        self.contestants: list[Any] = []
        self.place = place()
        self.pair: tuple[Any, Any] | None = None  # the smaller one and the larger one, as was answered
        self.kept: set[bool] = set()

    def answer(self, one: Any, other: Any, name: str) -> bool | None:
        """Each new one is said to be the best, as soon as it is known which that is; None where this is not the loop's
        next comparison."""
        smaller = True  # the first of the two
        if self.pair is None:
            self.contestants = sorted((one, other), key=lambda number: number.source.order)
        else:
            known = [_among(number, self.pair) for number in (one, other)]
            if known[0] == known[1]:
                return None
            stays, new = (one, other) if known[0] else (other, one)
            largest = stays is self.pair[1]
            self.kept.add(largest)
            self.contestants.append(new)
            smaller = (new is one) != largest
        self.pair = (one, other) if smaller else (other, one)
        return smaller == (name in ("lt", "le"))

    def race(self) -> "RecordedRace | None":
        sources = [number.source for number in self.contestants]
        kinds, apart = {_kind(source) for source in sources}, len({*map(id, sources)}) == len(sources)
        if len(self.kept) != 1 or len(sources) < LEAST_CONTESTANTS or len(kinds) != 1 or not apart:
            return None
        kind = kinds.pop()
        try:
            with not_followed():
                return None if kind is None else race_of(self.contestants, kind, self.kept.pop())
        except (ArithmeticError, ValueError, TypeError):  # scores that are no numbers everywhere
            return None


class RecordedRace:
    """A race that was recorded.

    weights: of the contestants. keys: of their scores. kind, form: of the noise, as of ``noise_rows``.
    largest: whether the largest score wins. error: what the law may be wrong by.
    """

    def __init__(self, weights: np.ndarray, keys: list[tuple], kind: str, form: Callable, largest: bool, error: float):
        self.weights, self.keys, self.kind, self.form = weights, keys, kind, form
        self.largest, self.error = largest, error
        self.points: dict[tuple[int, int], list[int]] = {}
        self.led = 0

    def point(self, winner: int, contestant: int, which: int) -> int:
        """As ``RandomSource.settled``: one of those with which the winner of this path wins."""
        if (winner, which) not in self.points:
            self.points = {(winner, which): self._points_of(winner, which)}
        return self.points[winner, which][contestant]

    def lead(self, orders: list[int], points: list[Any], index: int, where: int) -> None:
        """As of ``row_draws.RowDraw``: other noise in each call."""
        self.led += 1
        for order, point in zip(orders, self._points_of(index, self.led)):
            points[order] = point

    def _points_of(self, winner: int, seed: int) -> list[int]:
        """Of noise by its law, given who wins: when the first score is reached depends on nobody, and the others, which
        forget, go on from there. So the runner-up is as near as it is in real calls."""
        draw = np.random.Generator(np.random.PCG64([winner, seed]))
        first = draw.standard_exponential() / self.weights.sum()
        if self.kind == "uniform":
            first = max(first, 2 * FINEST / self.weights[winner])
        noise = self.weights * first + draw.standard_exponential(len(self.weights))
        noise[winner] = self.weights[winner] * first
        return _points(self.kind, generated(self.kind, noise, self.form)).tolist()


def _kind(source: RandomSource) -> str | None:
    """Of noise nothing of which is decided but the ends; None of other numbers."""
    if source.spent or source.settled:
        return None
    if isinstance(source, Lattice) and source.bits == 53:
        return "uniform" if source.low <= 1 and source.high >= 2**53 - 1 else None
    return "exponential" if isinstance(source, Exponential) and source.epsilon == EPSILON and source.low == 1 else None


def _points(kind: str, noise: np.ndarray) -> np.ndarray:
    """Of numbers as a generator returns them, the points of their sources."""
    return noise.view(np.int64) if kind == "exponential" else (noise * 2.0**53).astype(np.int64)


def race_of(numbers: list[Any], kind: str, largest: bool) -> RecordedRace | None:
    """The race of such scores; None where it is not one of exponential or Gumbel noise."""
    every = np.arange(len(numbers))
    for form in FORMS[kind]:

        def rank(noise: Any, which: np.ndarray = every, form: Callable = form) -> np.ndarray:
            made = generated(kind, np.broadcast_to(np.asarray(noise, float), which.shape), form)
            points = _points(kind, np.ascontiguousarray(made))
            scores = np.array([float(numbers[k].at(point)) for k, point in zip(which.tolist(), points.tolist())])
            return scores if largest else -scores

        with np.errstate(all="ignore"):
            weights = _weights(rank, every)
            if weights is None:
                continue
            leader, at, grain = int(weights.argmax()), levels(weights) / weights.sum(), GRAIN[kind]
            draw = np.random.Generator(np.random.PCG64(zlib.crc32(weights.tobytes())))
            ends = np.array([leader, int(weights.argmin()), len(every) - 1])
            few = [draw.permutation(len(every))[:LOOKED_AT], np.argsort(-weights)[:LIKELIEST], ends]
            some = np.unique(np.concatenate(few))
            larger = 1 - (np.arange(LEVELS_OF_ALL) + draw.random(LEVELS_OF_ALL)) / LEVELS_OF_ALL
            rare = np.array(RARE) * (1 - 0.3 * draw.random(len(RARE)))
            of_all = np.sort(-np.log(np.append(larger, rare))) / weights.sum()
            same = partial(same_at_levels, slack=LEAST_SLACK, grain=grain)
            if not same(rank, weights, leader, at=of_all):
                continue
            if not same(partial(rank, which=some), weights[some], int(np.searchsorted(some, leader)), at=at):
                continue
            error = LEAST_SLACK + (len(every) + FARTHEST) * grain + FINEST * float((weights == 0).sum())
            never = max(weights.sum() * NEVER, weights.max() * grain)
            keys = [number.key() for number in numbers]
            return RecordedRace(np.where(weights < never, 0.0, weights), keys, kind, form, largest, error)
    return None


def _weights(rank: Callable, every: np.ndarray) -> np.ndarray | None:
    """The noise at which each has the score that the leader has at 1; 0 of one that loses but with a probability of
    ``FINEST``."""
    middle = rank(1.0)
    leader = int(np.argmax(middle))
    one = every[leader : leader + 1]
    if np.isnan(middle).any() or not rank(0.5, one)[0] > middle[leader] > rank(2.0, one)[0]:
        return None
    best = rank(SMALLEST)
    running = every[best > -math.inf]
    # Noise at which the leader has a score: another one has the score at its weight times that.
    noise = np.geomspace(FIRST_LOOK**2, FARTHEST, TABLE)
    scores = rank(noise, np.full(TABLE, leader))
    seen = rank(FIRST_LOOK, running)
    found = FIRST_LOOK / np.exp(np.interp(-seen, -scores, np.log(noise)))
    goal, apart = middle[leader], 1e-5
    slope = (rank(1 + apart, one) - rank(1 - apart, one))[0] / (math.log1p(apart) - math.log1p(-apart))
    outside = (seen <= scores[-1]) | (seen >= scores[0])
    for _ in range(MOST_STEPS):
        off = (rank(found, running) - goal) / slope
        outside |= ~(np.abs(off) < 1)
        found = np.where(outside, found, found / np.exp(off))
        if np.all((np.abs(off) < CLOSE) | outside):
            break
    far = running[outside]
    low, high = (np.full(len(far), x).view(np.int64) for x in (SMALLEST, LARGEST))
    while len(far) and int((high - low).max()) > 1:
        between = low + (high - low) // 2
        past = rank(between.view(np.float64), far) <= goal
        low, high = np.where(past, low, between), np.where(past, between, high)
    found[outside] = high.view(np.float64)
    never, lowest = running[best[running] < goal], rank(FARTHEST - 1, one)[0]
    if len(never) and rank(FINEST, never).max() > lowest:
        return None  # it does not lose where its noise is small, or the leader's is large
    lost = every[best < goal]
    if len(lost) and max(middle[lost].max(), rank(FARTHEST, lost).max()) > lowest:
        return None  # nor where its own is large
    weights = np.zeros(len(every))
    weights[running] = found
    weights[never] = 0.0
    return weights
