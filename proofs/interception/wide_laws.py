"""The law of one call on a wide problem: every way its coins can fall, and for the last token a row.

A path of coins is traced once with one index drawn from each row. Then the function is called again with plain numbers
that lead to other indices. If it emits the same tokens with the drawn one at the end, the path's law is a row. An index
for which it emits something else is an outcome of its own. If all called indices of a row were treated alike, the law
takes those that no call led to to be treated so too; their number and their mass are reported.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ...models.wide import ALL_CALLED
from .called_ids import MISSED_INSIDE, CalledIds
from .chunks import law_of_chunks
from .exploration import Exploration
from .explore import ENDS, RAISES, Explored, replay
from .following import LEFT_PATH, following_once
from .noise_rows import Apart
from .outcomes import Outcome, Raised, kind_of
from .row_draws import MOST_PATHS, PLACES, RowDraw, RowLaw, Split, WideTracer
from .tracer import DEPENDS, NotInterceptable

SEVERAL_PATHS = 32
"""Paths of one draft block from which on each is replayed in the middle and at both ends of what it allows alone."""

TOO_MANY = "more than {:,} ways the random numbers can fall, rows counted as one"
"""Reason why a part of a law is not known."""

BUDGET = 30.0
"""Seconds of processor time for a problem, after which no further indices are called, or it is given up."""

FIRST_LOOK = 3.0
"""Seconds for a draft block, after which it is given up if all its paths will take longer than the budget."""

FIRST_PATHS = 20
"""Paths that are traced before that is judged."""

MOST_RESTARTS = 12
"""Largest number of times that a block's law is begun again because rows are split."""


@dataclass
class WideLaw(Explored):
    """The result of exploring one call on a wide problem.

    law: outcomes of their own, with their probabilities; None if nothing is known.
    neutral: whether the reason is, as of ``tracer.NotInterceptable``.
    rows: the rows.
    ids: the tokens that calls emitted.
    unknown: probability of what is not known.
    not_called: probability of the indices that no call led to, given rows included, and of paths that were not traced,
      each of less than ``row_draws.LEAST_PATH``.
    missed: probability with which an index of a chunk may be treated in another way.
    """

    rows: list[RowLaw] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    unknown: float = 0.0
    not_called: float = 0.0
    neutral: bool = False
    missed: float = 0.0


class WideCall:
    """A call on a wide problem whose law is explored, as far as it is known.

    call, exploration: as in ``explore.explore``.
    until: the processor time at which no further indices are called.
    ids_of: the chooser of indices to call, of this draft block.
    most_paths: the number of paths that are traced, the likeliest first. The rest of the law is not known.
    Guarantee: exact in the sense that ``exactness`` names where ``unknown`` is 0, except that indices to which no call
      led, of probability ``not_called``, are taken to be treated like the others.
    """

    def __init__(
        self, call: Callable[[], Outcome], exploration: Exploration, until: float, ids_of: CalledIds, most_paths: int
    ):
        self.since, self.ids_of = time.process_time(), ids_of
        self.exploration, self.most_paths = exploration, most_paths
        self.call, self.until = call, until
        self.mark = 0.0, 0.0  # seconds that paths had taken, and their probability, when that was last looked at
        self.end = 0
        self.splits: set[int] = set()
        self.known: dict[int, Outcome] = {}

    def law(self) -> WideLaw:
        """Explore the call; begin again where a row has to be split, or its noise traced number by number."""
        tracer, restarts = self._tracer(), 0
        while restarts < MOST_RESTARTS:
            tracer = self._tracer()
            self.ids_of.begin()
            self.points: dict[Outcome, float] = {}
            self.ids: set[int] = set()
            self.rows: list[RowLaw] = []
            self.unknown = self.not_called = self.missed = 0.0
            self.why: str | None = None
            self.neutral = self.by_calls = False
            try:
                self._explore(tracer)
            except Split as split:
                self.splits.add(split.ordinal)
                restarts += 1
                continue
            except Apart:
                self.exploration.noise_rows = False
                continue
            except NotInterceptable as stopped:
                return self._stopped(tracer, stopped.reason, stopped.neutral)
            exactness = "by-calls" if self.by_calls else tracer.exactness
            law = WideLaw(self.points, exactness, tracer.resolution, tracer.paths, self.why, tracer.findings,
                          min(tracer.lattices, default=0))  # fmt: skip
            law.between_levels = tracer.between_levels
            law.neutral, law.ids = self.neutral, sorted(self.ids)
            law.rows, law.unknown, law.not_called = self.rows, self.unknown, self.not_called + tracer.unwalked
            law.missed = self.missed
            return law
        return self._stopped(tracer, DEPENDS, True)

    def _tracer(self) -> WideTracer:
        tracer = WideTracer(self.exploration, self.ids_of.vocabulary, self.ids_of.live, self.splits)
        tracer.likeliest_first = self.most_paths < MOST_PATHS
        return tracer

    def _stopped(self, tracer: WideTracer, reason: str, neutral: bool) -> WideLaw:
        paths = tracer.paths
        return WideLaw(None, "not interceptable", 0.0, paths, reason, tracer.findings, unknown=1.0, neutral=neutral)

    def _explore(self, tracer: WideTracer) -> None:
        while True:
            if tracer.paths >= self.most_paths and (left := tracer.not_begun):
                self.unknown, self.neutral = self.unknown + left, self.why is None
                self.why = self.why or TOO_MANY.format(self.most_paths)
                return
            if not tracer.begin():
                return
            outcome = following_once(tracer, self.call)
            if len(tracer.path) < len(tracer.script):
                tracer.differs()
            probability, rows = float(tracer.probability), [row for row in tracer.rows if row.open]
            self.ids_of.take_turn(0 if isinstance(outcome, Raised) else len(outcome))
            several = rows or self.ids_of.several or tracer.paths > SEVERAL_PATHS
            at = self.exploration.points()[: self.ids_of.replays or (len(ENDS) if several else None)]
            replay(tracer, self.call, outcome, at)
            ids = self.ids_of.of(rows[0]) if len(rows) == 1 else []
            self.known = {}
            for which, index in zip(at[1:], ids):
                self._look_at_end(tracer, rows, index, which)
            self._mind_the_time(tracer)
            self._emitted([outcome])
            deciding = self._deciding(tracer, rows, outcome, ids)
            for row in (row for k, row in enumerate(rows) if k not in deciding):
                self._nothing_depends_on(tracer, rows, row, outcome)
            if not deciding:
                self.points[outcome] = self.points.get(outcome, 0.0) + probability
            elif len(deciding) == 1:
                self._row(tracer, rows, deciding[0], outcome, probability, ids)
            else:
                self._chunks(tracer, [rows[k] for k in deciding], outcome, probability)

    def _mind_the_time(self, tracer: WideTracer) -> None:
        """Give up if the paths take too long, or will: the likeliest come first, so the rate does not rise."""
        now = time.process_time()
        if now > self.until:
            tracer.give_up(f"{tracer.paths} paths on one draft block take more than {BUDGET:g} s", True)
        took, traced = now - self.since, 1 - tracer.not_begun
        if took < FIRST_LOOK or tracer.paths < FIRST_PATHS:
            self.mark = took, traced
            return
        since, before = self.mark
        if took - since < FIRST_LOOK / 2:
            return
        self.mark = took, traced
        if (1 - traced) * (took - since) > (self.until - now) * (traced - before):
            how = (
                f"the {tracer.paths} likeliest paths on one draft block, of probability {traced:.2g}, take {took:.0f} s"
            )
            tracer.give_up(f"{how}: all would take more than {BUDGET:g} s", True)

    def _look_at_end(self, tracer: WideTracer, rows: list[RowDraw], index: int, which: int) -> None:
        """Call an index in the middle, and at an end, of what the path's other numbers allow.

        A replay at the end has the path's own index. What shows there with other indices alone is seen so.
        """
        self.known[index] = self._plain(tracer, rows, {0: index}, at=0)
        emitted = self._plain(tracer, rows, {0: index}, at=0, which=which)
        if isinstance(emitted, Raised) and emitted.error != LEFT_PATH:
            if not isinstance(self.known[index], Raised):
                tracer.notice("raises-at-end", RAISES.format(emitted))
        elif self.known[index] != emitted:
            self._unlike(tracer, rows[0], index)

    def _unlike(self, tracer: WideTracer, row: RowDraw, index: int) -> NoReturn:
        """Split the row, or give up: its index has another effect than that it is emitted."""
        ordinal = tracer.rows.index(row)
        if ordinal not in self.splits and index in tracer.own(row.weights):
            raise Split(ordinal)
        return tracer.give_up(DEPENDS, True)

    def _emitted(self, outcomes: Iterable[Outcome]) -> None:
        self.ids |= {int(token) for o in outcomes if not isinstance(o, Raised) for token in o}

    def _nothing_depends_on(self, tracer: WideTracer, rows: list[RowDraw], row: RowDraw, outcome: Outcome) -> None:
        """Check with other indices of the row that nothing depends on it."""
        if self._replays(tracer, row, lambda index: outcome):
            return
        k = rows.index(row)
        for index in self.ids_of.telling(row, tracer.own(row.weights)):
            if kind_of(self._plain(tracer, rows, {k: index})) != kind_of(outcome):
                self._unlike(tracer, row, index)

    def _plain(
        self, tracer: WideTracer, rows: list[RowDraw], indices: dict[int, int], at: int = -1, which: int = 0
    ) -> Outcome:
        """Call with plain numbers that lead to these indices of the rows, by their number among the open ones.

        at: which of the points that lead to an index is taken, of ``PLACES``; by default they take turns.
        which: number of the replay, as of ``explore.ENDS``.
        """
        tracer.replay(which)
        self.end = at if at >= 0 else (self.end + 1) % len(PLACES)
        assert tracer.plain_call is not None
        points, drawn = tracer.plain_call
        for k, index in indices.items():
            row = rows[k]
            if row.drawn is not None:
                drawn[len(drawn) - 1 - row.drawn] = index
            else:
                assert row.lead is not None
                row.lead(points, index, self.end)
        try:
            with self.exploration.noting_no_types():
                return following_once(tracer, self.call)
        finally:
            tracer.plain_call = None

    def _deciding(self, tracer: WideTracer, rows: list[RowDraw], outcome: Outcome, ids: list[int]) -> list[int]:
        """Return the rows that the outcome depends on. ids: indices to be called if there is one row."""
        if any(kind_of(emitted) != kind_of(outcome) for emitted in self.known.values()):
            return [0]
        deciding: list[int] = []
        for k, row in enumerate(rows):
            others = ids[:3] or {i for i in self.ids_of.others(row, 4) if i != row.base} or {int(row.possible[0])}
            for i in sorted({*others} - {row.base})[:3]:
                emitted = self._plain(tracer, rows, {k: i})
                if len(rows) == 1:
                    self.known[i] = emitted
                if kind_of(emitted) != kind_of(outcome):
                    deciding.append(k)
                    break
        return deciding

    def _row(
        self, tracer: WideTracer, rows: list[RowDraw], k: int, outcome: Outcome, probability: float, ids: list[int]
    ) -> None:
        """Add the law of a path whose outcome depends on one row."""
        row = rows[k]
        share = row.weights / row.weights.sum()
        called = {row.base: outcome, **self.known}
        self._look_at(tracer, rows, k, called, ids or self.ids_of.of(row))
        prefix, first = _alike(outcome, row)
        expected = lambda index: None if prefix is None else (*prefix, first + index)  # noqa: E731
        if len(row.possible) <= ALL_CALLED and any(o != expected(i) for i, o in called.items()):
            self._look_at(tracer, rows, k, called, map(int, row.possible))  # others may be unlike too
        self._emitted(called.values())
        own = {i: o for i, o in called.items() if o != expected(i)}
        if prefix is not None and 2 * len(own) > len(called):
            # Rounding of a running sum is known by its order, and here the row has another one.
            tracer.give_up("what it emits is not the index drawn from the row, but for a constant", True)
        ordinal = tracer.rows.index(row)
        if own and ordinal not in self.splits and any(i in own for i in tracer.own(row.weights)):
            raise Split(ordinal)
        self._replays(tracer, row, lambda index: own.get(index, expected(index)))
        missing = 0.0 if len(called) >= len(row.possible) else max(1.0 - float(share[sorted(called)].sum()), 0.0)
        astray = {i for i, o in own.items() if isinstance(o, Raised) and o.error == LEFT_PATH}
        if row.asked_again and (apart := self._apart(tracer, rows, k, own)):  # then others may be so, too
            others = {i: o for i, o in called.items() if i not in own and i != row.base}
            apart |= self._apart(tracer, rows, k, others)
            own, astray = own | {i: called[i] for i in apart}, astray | apart
        for i, o in own.items():
            if i not in astray:
                self.points[o] = self.points.get(o, 0.0) + probability * float(share[i])
        self.unknown += probability * float(share[sorted(astray)].sum()) if astray else 0.0
        weights = row.weights
        if own:
            same = sorted(set(called) - set(own))
            weights = np.zeros_like(row.weights)
            weights[same] = row.weights[same]
            self.unknown += probability * missing
            emitted = f"with index {min(own)} drawn it emits {own[min(own)]}, with {row.base} {outcome}"
            self.why = self.why or (f"not every token is treated equally: {emitted}" if missing or astray else None)
        else:
            self.not_called += probability * missing
        if weights.any():
            kept = probability * float(share[np.flatnonzero(weights)].sum()) if own else probability
            assert prefix is not None
            self.rows.append(RowLaw(prefix, first, kept, weights, len(called) - len(own), row.look_up, row.part))

    def _chunks(self, tracer: WideTracer, rows: list[RowDraw], outcome: Outcome, probability: float) -> None:
        """Add the law of a path whose outcome depends on several rows, if those draw a chunk and a token in it."""
        plain = lambda rows, indices: self._plain(tracer, rows, indices)  # noqa: E731
        found = law_of_chunks(self.call, plain, tracer, rows, outcome, probability, self.ids_of)
        if found is None:
            tracer.give_up("what it emits depends on draws from several rows", True)
        for o, mass in found.own:
            self.points[o] = self.points.get(o, 0.0) + mass
        if found.own:
            self.unknown += found.not_called
            self.why = self.why or f"not every token is treated equally: {found.own[0][0]} is emitted for another one"
        else:
            self.not_called += found.not_called
            self.missed += min(found.not_called, probability * MISSED_INSIDE)
        if found.row.weights.any():
            self.rows.append(found.row)
        self.by_calls = True

    def _look_at(
        self, tracer: WideTracer, rows: list[RowDraw], k: int, called: dict[int, Outcome], indices: Iterable[int]
    ) -> None:
        """Call these indices of the row unless they were called, as long as there is time."""
        for index in indices:
            if index in called:
                continue
            if time.process_time() > self.until and len(called) >= 16:
                break
            others = {j: self.ids_of.others(other, 1)[0] for j, other in enumerate(rows)}
            called[index] = self._plain(tracer, rows, {**others, k: index})

    def _apart(self, tracer: WideTracer, rows: list[RowDraw], k: int, called: dict[int, Outcome]) -> set[int]:
        """Return the indices of which a uniform that was looked up decides something else at one of the places."""
        return {i for i, o in called.items() if any(self._plain(tracer, rows, {k: i}, at) != o for at in PLACES)}

    def _replays(self, tracer: WideTracer, row: RowDraw, expected: Callable[[int], Outcome | None]) -> bool:
        """Trace the path again with other indices: later coins and rows must not depend on them.

        Returns whether there are any.
        """
        path, ordinal = list(tracer.path), tracer.rows.index(row)
        if row.at == len(path) and ordinal == len(tracer.rows) - 1:
            return False
        kept = tracer.rows
        for index in self.ids_of.telling(row, tracer.own(row.weights)):
            tracer.path = list(path)
            tracer.retrace({ordinal: index})
            try:
                unlike = kind_of(following_once(tracer, self.call)) != expected(index)
            except NotInterceptable as stopped:
                if stopped.reason != DEPENDS:
                    raise
                unlike = True
            tracer.path, tracer.rows, tracer.retracing, tracer.forced = list(path), kept, False, {}
            if unlike:
                self._unlike(tracer, row, index)
        return True


def _alike(outcome: Outcome, row: RowDraw) -> tuple[tuple[int, ...] | None, int]:
    """Return the prefix and the first token of an outcome whose last token is first + index; None if it raised."""
    return (None, 0) if isinstance(outcome, Raised) else (outcome[:-1], outcome[-1] - row.base)
