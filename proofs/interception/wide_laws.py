"""The law of one call on a wide problem: every way its coins can fall, and for the last token a row.

A path of coins is walked once with one index drawn from each row. Then the function is called again with plain numbers
that lead to other indices: where it emits the same tokens with the drawn one at the end, the path's law is a row. An
index for which it emits something else is an outcome of its own. Indices that no call led to are taken to be treated
like those that were, if those were treated alike without exception; how many they are, and their mass, is reported.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

import numpy as np

from ...models.wide import ALL_CALLED
from .called_ids import Alike, CalledIds, Turn
from .exploration import Exploration
from .explore import ENDS, RAISES, Explored, rehearse
from .following import LEFT_PATH, following_once
from .groups import Regroup, confirm
from .noise_rows import Apart
from .outcomes import Outcome, Raised, kind_of
from .row_draws import MOST_PATHS, MOST_SPLIT, PLACES, RowDraw, RowLaw, Split, WideTracer
from .scans import LoopSeen
from .tracer import DEPENDS, STATE, NotInterceptable, Tracer

SEVERAL_PATHS = 32
"""Paths of one draft block from which on each is repeated in the middle and at both ends of what it allows alone."""

TOO_MANY = "more than {:,} ways the random numbers can fall, rows counted as one"
"""Why a part of a law is not known."""

BUDGET, FIRST_LOOK, FIRST_PATHS = 30.0, 3.0, 20
"""Seconds of processor time for a problem, after which no further indices are called, or it is given up; for a draft
block, after which, and after so many paths, it is given up if all will take longer."""

MOST_RESTARTS = 12

RowsAfter = Callable[[tuple[int, ...]], Iterable[np.ndarray]]


@dataclass
class WideLaw(Explored):
    """What the exploration of one call on a wide problem came to.

    law: outcomes of their own, with their probabilities; None if nothing is known.
    neutral: whether the reason is, as of ``tracer.NotInterceptable``.
    rows: the rows.
    ids: the tokens that calls emitted.
    unlike: whether an index of a short row was treated otherwise than the others.
    unknown: probability of what is not known.
    not_called: probability of the indices that no call led to, rows that are given included, and of paths that were not
      walked, each of less than ``row_draws.LEAST_PATH``.
    """

    rows: list[RowLaw] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    unlike: bool = False
    unknown: float = 0.0
    not_called: float = 0.0
    neutral: bool = False


class _WideCall:
    def __init__(
        self, call: Callable[[], Outcome], exploration: Exploration, vocabulary: int, live: Sequence[int], until: float,
        ids_of: CalledIds, most_paths: int, rows_after: RowsAfter,
    ):  # fmt: skip
        self.rows_after, self.since, self.ids_of = rows_after, time.process_time(), ids_of
        self.exploration, self.most_paths = exploration, most_paths
        self.call, self.vocabulary, self.live, self.until = call, vocabulary, sorted(set(live)), until
        self.mark = 0.0, 0.0  # seconds that paths had taken, and their probability, when that was last looked at
        self.end, self.together, self.moved = 0, True, None
        self.splits: dict[int, bool] = {}
        self.known: dict[int, Outcome] = {}

    def law(self) -> WideLaw:
        tracer, cuts, restarts = self._tracer(), {}, 0
        while restarts < MOST_RESTARTS:
            tracer = self._tracer()
            tracer.cuts = cuts
            self.points: dict[Outcome, float] = {}
            self.ids: set[int] = set()
            self.rows: list[RowLaw] = []
            self.unknown = self.not_called = 0.0
            self.why: str | None = None
            self.neutral = self.unlike = False
            try:
                self._walk(tracer)
            except Split as split:
                if self.splits.get(split.ordinal, False) >= split.whole and split.ordinal in self.splits:
                    return self._stopped(tracer, DEPENDS, True)
                self.splits[split.ordinal] = split.whole
                restarts += 1
                continue
            except LoopSeen:
                continue
            except Apart:
                self.exploration.noise_rows = False
                continue
            except Regroup as regroup:
                regroup.note(cuts)
                continue
            except NotInterceptable as stopped:
                return self._stopped(tracer, stopped.reason, stopped.neutral)
            law = WideLaw(self.points, tracer.exactness, tracer.resolution, tracer.paths, self.why, tracer.findings,
                          min(tracer.lattices, default=0))  # fmt: skip
            law.between_levels = tracer.between_levels
            law.neutral, law.ids, law.unlike = self.neutral, sorted(self.ids), self.unlike
            law.rows, law.unknown, law.not_called = self.rows, self.unknown, self.not_called + tracer.unwalked
            return law
        return self._stopped(tracer, DEPENDS, True)

    def _tracer(self) -> WideTracer:
        return WideTracer(self.exploration, self.vocabulary, self.live, self.splits, self.most_paths < MOST_PATHS)

    def _stopped(self, tracer: Tracer, reason: str, neutral: bool) -> WideLaw:
        paths = tracer.paths
        return WideLaw(None, "not interceptable", 0.0, paths, reason, tracer.findings, unknown=1.0, neutral=neutral)

    def _walk(self, tracer: WideTracer) -> None:
        while True:
            if tracer.paths >= self.most_paths and (left := tracer.not_begun):
                self.unknown, self.neutral = self.unknown + left, self.why is None
                self.why = self.why or TOO_MANY.format(self.most_paths)
                return
            if not tracer.begin():
                return
            outcome = following_once(tracer, self.call)
            if len(tracer.path) < len(tracer.script):
                tracer.notice("state", STATE)
                tracer.give_up("it does not repeat itself when its random numbers are repeated")
            probability, rows = float(tracer.probability), [row for row in tracer.rows if row.open]
            confirm(tracer, self.call, outcome)
            several = rows or self.ids_of.several or tracer.paths > SEVERAL_PATHS
            times = self.ids_of.rehearsals or (len(ENDS) if several else self.exploration.times)
            ids, self.known, self.moved = self._ids(rows, outcome), {}, None
            at_ends = partial(self._another_at_end, tracer, rows, outcome, ids)
            rehearse(tracer, self.call, outcome, times, seen_otherwise=at_ends)
            if self.moved is not None:  # with its own index the path's ends change nothing
                self._unlike(tracer, rows[0], self.moved)
            self._mind_the_time(tracer)
            self._emitted([outcome])
            deciding = self._deciding(tracer, rows, outcome, ids)
            for row in (row for k, row in enumerate(rows) if k not in deciding):
                self._nothing_depends_on(tracer, rows, row, outcome)
            if not deciding:
                self.points[outcome] = self.points.get(outcome, 0.0) + probability
            elif len(deciding) == 1:
                self._row(tracer, rows, deciding[0], outcome, probability, ids)
            elif not self._nested(tracer, [rows[k] for k in deciding], outcome, probability):
                small = [k for k in deciding if len(rows[k].possible) <= MOST_SPLIT]
                if small:
                    raise Split(tracer.rows.index(rows[small[0]]), whole=True)
                tracer.give_up("what it emits depends on draws from several rows", True)

    def _mind_the_time(self, tracer: WideTracer) -> None:
        """Give up where the paths take too long, or will: the likeliest come first, so the rate does not rise."""
        now = time.process_time()
        if now > self.until:
            tracer.give_up(f"{tracer.paths} paths on one draft block take more than {BUDGET:g} s", True)
        took, walked = now - self.since, 1 - tracer.not_begun
        if took < FIRST_LOOK or tracer.paths < FIRST_PATHS:
            self.mark = took, walked
            return
        since, before = self.mark
        if took - since < FIRST_LOOK / 2:
            return
        self.mark = took, walked
        if (1 - walked) * (took - since) > (self.until - now) * (walked - before):
            how = (
                f"the {tracer.paths} likeliest paths on one draft block, of probability {walked:.2g}, take {took:.0f} s"
            )
            tracer.give_up(f"{how}: all would take more than {BUDGET:g} s", True)

    def _unlike(self, tracer: WideTracer, row: RowDraw, index: int) -> NoReturn:
        """What is drawn from the row has another effect than that it is emitted: follow some of it, or give up."""
        if row.refuse:
            row.refuse()
        ordinal = tracer.rows.index(row)
        if ordinal not in self.splits and index in _own(tracer, row):
            raise Split(ordinal, whole=False)
        if len(row.possible) <= MOST_SPLIT:
            raise Split(ordinal, whole=True)
        return tracer.give_up(DEPENDS, True)

    def _emitted(self, outcomes: Iterable[Outcome]) -> None:
        """Note their tokens."""
        self.ids |= {int(token) for o in outcomes if not isinstance(o, Raised) for token in o}

    def _nothing_depends_on(self, tracer: WideTracer, rows: list[RowDraw], row: RowDraw, outcome: Outcome) -> None:
        if self._replays(tracer, row, lambda index: outcome):
            return
        k = rows.index(row)
        for index in self.ids_of.telling(row, _own(tracer, row)):
            if kind_of(self._plain(tracer, rows, {k: index})) != kind_of(outcome):
                self._unlike(tracer, row, index)

    def _nested(self, tracer: WideTracer, rows: list[RowDraw], outcome: Outcome, probability: float) -> bool:
        """Two rows, the second in a part of the vocabulary that the first has drawn: a chunk, and a token in it.

        The path is followed once for each chunk, for the weights inside it; calls with plain numbers confirm tokens.
        """
        if len(rows) != 2 or isinstance(outcome, Raised) or rows[0].at != len(tracer.path):
            return False
        if len(rows[0].possible) > MOST_SPLIT or self.splits or len(tracer.rows) != 2 or rows[1].tokens is not None:
            return False
        path, kept, sources = list(tracer.path), tracer.rows, tracer.rehearsed
        try:
            return self._chunks(tracer, rows, outcome[:-1], probability)
        finally:
            tracer.path, tracer.rows, tracer.rehearsed, tracer.replaying, tracer.forced = path, kept, sources, False, {}

    def _chunks(self, tracer: WideTracer, rows: list[RowDraw], prefix: tuple[int, ...], probability: float) -> bool:
        """Follow the path once for each chunk; False where it is not so that a token is drawn inside it."""
        first, second = (tracer.rows.index(row) for row in rows)
        path, chunks = list(tracer.path), rows[0].possible
        weights, total, confirmed, mass = np.zeros(self.vocabulary), rows[0].weights.sum(), 0, 0.0
        for chunk in map(int, chunks):
            tracer.path = list(path)
            tracer.replay({}, {first: chunk}, nested=True)
            emitted = following_once(tracer, self.call)
            inside = tracer.rows[second] if len(tracer.rows) == 2 else None
            if inside is None or isinstance(emitted, Raised) or emitted[:-1] != prefix:
                return False
            tracer.remember_path()
            start, possible = emitted[-1] - inside.base, inside.possible
            if not 0 <= start + possible[0] <= start + possible[-1] < self.vocabulary:
                return False
            ends = {int(possible[0]), int(possible[-1])} if chunk in (chunks[0], chunks[-1]) else set()
            chance = float(rows[0].weights[chunk] / total)
            called = {*ends, *self.ids_of.inside(inside, start, chance)}
            if any(self._plain(tracer, tracer.rows, {second: i}) != (*prefix, start + i) for i in called):
                return False
            share = inside.weights / inside.weights.sum() * chance
            weights[start + possible] += share[possible]
            confirmed, mass = confirmed + len(called), mass + float(share[sorted(called)].sum())
        look_up = rows[0].look_up or rows[1].look_up
        self.rows.append(RowLaw(prefix, 0, probability, weights, confirmed, look_up))
        self.not_called += probability * max(1.0 - mass, 0.0)
        return True

    def _plain(
        self, tracer: WideTracer, rows: list[RowDraw], indices: dict[int, int], at: int = -1, which: int = 0
    ) -> Outcome:
        """A call with plain numbers that lead to these indices of the rows, by their number among the open ones.

        at: which of the points that lead to an index is taken, of ``PLACES``; by default they take turns.
        which: rehearsal, as of ``explore.ENDS``.
        """
        tracer.rehearse(which)
        self.end = at if at >= 0 else (self.end + 1) % len(PLACES)
        assert tracer.rehearsal is not None
        points, drawn = tracer.rehearsal
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
            tracer.rehearsal = None

    def _ids(self, rows: list[RowDraw], outcome: Outcome) -> list[int]:
        """The indices that are called of one row; of several none, before it is known which one decides."""
        return self.ids_of.of(rows[0], _position(outcome)) if len(rows) == 1 else []

    def _another_at_end(
        self, tracer: WideTracer, rows: list[RowDraw], outcome: Outcome, ids: list[int], which: int
    ) -> bool:
        """Call another index where the path is at an end of what it allows: whether its token is emitted in place of
        the other, and nothing else is changed. Where it is not so, that end and the index are called apart."""
        if not self.together or len(ids) < which or isinstance(outcome, Raised):
            return False
        index = ids[-which]
        emitted = self._plain(tracer, rows, {0: index}, which=which)
        self.together = emitted == (*outcome[:-1], outcome[-1] + rows[0].token(index) - rows[0].token(rows[0].base))
        if self.together:
            self.known[index] = emitted
            return True
        self.known[index] = self._plain(tracer, rows, {0: index}, self.end)
        if isinstance(emitted, Raised) and emitted.error != LEFT_PATH:
            if not isinstance(self.known[index], Raised):
                tracer.notice("raises-at-end", RAISES.format(emitted))
        elif self.known[index] != emitted:
            self.moved = index
        return False

    def _deciding(self, tracer: WideTracer, rows: list[RowDraw], outcome: Outcome, ids: list[int]) -> list[int]:
        """Which of the rows the outcome depends on. ids: to be called of one row."""
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
        row = rows[k]
        share = row.weights / row.weights.sum()
        called = {
            row.base: outcome,
            **self.known,
        }  # of one row alone, the calls that showed that something depends on it

        def look_at(indices: Iterable[int]) -> None:
            for index in indices:
                if index in called:
                    continue
                if time.process_time() > self.until and len(called) >= 16:
                    break
                others = {j: self.ids_of.others(other, 1)[0] for j, other in enumerate(rows)}
                called[index] = self._plain(tracer, rows, {**others, k: index})

        position = _position(outcome)
        look_at(ids or self.ids_of.of(row, position))
        after = tuple if isinstance(outcome, Raised) else partial(self.rows_after, outcome[:-1])
        alike = Alike(called, row, after)
        if len(row.possible) <= ALL_CALLED and any(o != alike.expected(i) for i, o in called.items()):
            look_at(map(int, row.possible))  # others may be unlike too
            alike = Alike(called, row, after)
        if alike.order is not None:  # the ids that matter are tokens, which stand at other places
            places = np.argsort(alike.order)[[i for i in self.ids_of.of(row, position) if i < len(alike.order)]]
            look_at(i for i in places.tolist() if i < row.size and row.weights[i] > 0)
        self._emitted(called.values())
        own = {i: o for i, o in called.items() if o != alike.expected(i)}
        special = bool(own) and any(i in own for i in _own(tracer, row))
        if row.refuse and (special or 2 * len(own) > len(called)):
            row.refuse()
        self.unlike = self.unlike or (bool(own) and len(row.possible) <= ALL_CALLED)
        ordinal = tracer.rows.index(row)
        if ordinal not in self.splits and special:
            raise Split(ordinal, whole=False)
        self._replays(tracer, row, lambda index: own.get(index, alike.expected(index)))
        confirmed = sorted(called)
        covered = float(share[confirmed].sum())
        missing = 0.0 if len(called) >= len(row.possible) else max(1.0 - covered, 0.0)
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
            self.why = self.why or (f"not every token is treated alike: {emitted}" if missing or astray else None)
        else:
            self.not_called += probability * missing
        if weights.any():
            kept = probability * float(share[np.flatnonzero(weights)].sum()) if own else probability
            assert alike.prefix is not None
            first, of_tokens = alike.tokens(row.of_tokens(weights))
            law = RowLaw(alike.prefix, first, kept, of_tokens, len(called) - len(own), row.look_up, row.part)
            if row.roundings:
                units, more, total = row.roundings()
                law.roundings = alike.tokens(units)[1], alike.tokens(more)[1], total
            elif alike.order is not None:
                law.ends = int(alike.order[row.possible[0]]), int(alike.order[row.possible[-1]])
            self.rows.append(law)

    def _apart(self, tracer: WideTracer, rows: list[RowDraw], k: int, called: dict[int, Outcome]) -> set[int]:
        """The indices of which a uniform that was looked up decides something else at one of the places."""
        return {i for i, o in called.items() if any(self._plain(tracer, rows, {k: i}, at) != o for at in PLACES)}

    def _replays(self, tracer: WideTracer, row: RowDraw, expected: Callable[[int], Outcome | None]) -> bool:
        """Follow the path again with other indices: what is asked of later coins and rows must not depend on them.

        Returns whether there are any.
        """
        path, ordinal = list(tracer.path), tracer.rows.index(row)
        if row.at == len(path) and ordinal == len(tracer.rows) - 1 and row.tokens is None:
            return False
        kept = tracer.rows
        for index in self.ids_of.telling(row, _own(tracer, row)):
            tracer.path = list(path)
            tracer.replay({}, {ordinal: index})
            try:
                unlike = kind_of(following_once(tracer, self.call)) != expected(index)
            except NotInterceptable as stopped:
                if stopped.reason != DEPENDS:
                    raise
                unlike = True
            tracer.path, tracer.rows, tracer.replaying, tracer.forced = list(path), kept, False, {}
            if unlike:
                self._unlike(tracer, row, index)
        tracer.path, tracer.rows, tracer.replaying, tracer.forced = path, kept, False, {}
        return True


def _own(tracer: WideTracer, row: RowDraw) -> list[int]:
    """``WideTracer.own`` of the indices that are tokens of their own."""
    return tracer.own(row.weights[: row.size])


def _position(outcome: Outcome) -> int:
    """Of the last token that is emitted."""
    return 0 if isinstance(outcome, Raised) else len(outcome) - 1


def explore_wide(
    call: Callable[[], Outcome], exploration: Exploration, vocabulary: int, live: Sequence[int], seed: int,
    until: float, blocks: int = 1, brief: bool = False, most_paths: int = MOST_PATHS,
    rows_after: RowsAfter = lambda prefix: (), number: int = 0, turn: Callable[[int], Turn] = lambda position: (0, 1),
) -> WideLaw:  # fmt: skip
    """The law of ``call``'s outcome on a wide problem, as far as it is known.

    call, exploration: as in ``explore.explore``.
    live: tokens that can be drafted.
    seed: of the indices that are called.
    until: the processor time at which no further indices are called.
    blocks: how many draft blocks the problem has.
    brief: whether few indices are called, of a problem that differs from one before in some weights alone.
    rows_after: prefix -> the rows that may be drawn from there, which code may sort first.
    number: of the draft block. turn: position -> how it shares the indices of a row with other draft blocks.
    most_paths: how many are walked, the likeliest first; what the others come to is not known.
    Guarantee: exact in the sense that ``exactness`` names where ``unknown`` is 0, but that the indices that no call led
    to, of probability ``not_called``, are taken to be treated like the others.
    """
    ids_of = CalledIds(vocabulary, live, seed, blocks, number, turn, brief)
    return _WideCall(call, exploration, vocabulary, live, until, ids_of, most_paths, rows_after).law()
