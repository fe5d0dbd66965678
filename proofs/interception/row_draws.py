"""Draws from a whole row of weights on wide problems: one path for the row, not one for each token.

Where an index is drawn by whole weights, where one uniform is looked up in a row of cuts, and where a row of noise is
raced, the tracer records the weights, and goes on with one index of positive weight. That the others are treated alike
is not assumed: ``wide_laws`` calls the function again with plain numbers that lead to other indices.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ...models.wide import ALL_CALLED
from ...models.wide_rows import row_sum
from ..field import QQ, rational
from .alias_tables import AliasTables
from .exploration import Exploration
from .noise_rows import MOST_APART, noise_row
from .places import place
from .race_loops import RaceLoops
from .scans import Scans
from .sources import GOLDEN, guessed, points_at, turning
from .tracer import DEPENDS, STATE, LookUp, NotInterceptable, Recorded, Roundings, Tracer

MOST_PATHS = 3_000
"""Ways the random numbers of a call can fall, rows counted as one, beyond which no further ones are walked."""

LEAST_PATH = QQ(1, 2**80)
"""Probability below which a path is not walked: of two numbers of which each is at the end of its range."""

MOST_SPLIT = 600
"""Entries of a row that are followed one by one where it decides what is drawn next, or all of it has to be."""

WIDE, LEAST_NOISE = 5, MOST_APART + 1
"""Entries of a row from which on a uniform that is compared with it is looked up in it as a whole; random numbers
drawn at
once from which on they are taken for a row of noise."""


class Split(BaseException):
    """The rows drawn first, second, ... of a call of which some entries have to be followed as paths of their own."""

    def __init__(self, ordinal: int, whole: bool):
        super().__init__(ordinal)
        self.ordinal, self.whole = ordinal, whole


Lead = Callable[[list[Any], int, int], None]

PLACES = (0, 1, 2)
"""Of a point among those that lead to an index: the first, the last, one within."""


class RowDraw:
    """One draw from a row.

    weights: of the indices that this path leaves open, float64, not normalised.
    base: the index that the path was walked with. possible: all of positive weight.
    lead: sets points of a call with plain numbers so that they lead to an index, in one of ``PLACES``; None for an
      index that is handed out itself.
    asked_again: whether the number is one of which more can be asked: the points that lead to an index may differ.
    drawn: where an index that is handed out itself is among those.
    at: the length of the path when it was drawn.
    look_up: of weights and races None.
    part: of the row's mass that the weights have: the rest is on paths of its own.
    given: the weights of all indices.
    tokens, size, roundings, refuse: of alias tables: the tokens that indices stand for, how many those are, by how much
      rounding moves them, and what begins the exploration again with other tables. Otherwise an index is its own token.
    """

    def __init__(self, weights: np.ndarray, base: int, at: int, lead: Lead | None = None, look_up: LookUp = None):
        self.weights, self.base, self.at, self.lead, self.look_up = weights, base, at, lead, look_up
        self.part, self.given = 1.0, weights
        self.drawn: int | None = None
        self.tokens: np.ndarray | None = None
        self.size = len(weights)
        self.roundings: Callable[[], Roundings] | None = None
        self.refuse: Callable[[], NoReturn] | None = None
        self.asked_again = False
        self.possible = np.flatnonzero(weights)
        self.open = len(self.possible) > 1

    def token(self, index: int) -> int:
        """What an index stands for."""
        return index if self.tokens is None else int(self.tokens[index])

    def of_tokens(self, weights: np.ndarray) -> np.ndarray:
        """The weights of tokens, of those of indices: of sums of many entries the greater part without rounding."""
        if self.tokens is None:
            return weights
        unit = 2.0 ** (math.frexp(weights.max())[1] - 24)
        coarse = np.floor(weights / unit) * unit
        one, other = (np.bincount(self.tokens, part, self.size) for part in (coarse, weights - coarse))
        return one + other


@dataclass
class RowLaw:
    """prefix + (first + index,) comes with probability * weights[index] / sum(weights).

    called: indices confirmed.
    look_up, part, roundings: as in ``RowDraw``.
    ends: the indices that were summed first and last, where that is not in the order of weights.
    """

    prefix: tuple[int, ...]
    first: int
    probability: float
    weights: np.ndarray
    called: int
    look_up: LookUp = None
    part: float = 1.0
    ends: tuple[int, int] | None = None
    roundings: Roundings | None = None


class WideTracer(Tracer):
    """A tracer that keeps rows whole.

    singles: the tokens that a call can treat specially: the live ones.
    splits: which rows of a call are followed in part (their singles and what lies beyond the vocabulary) or whole.
    forced: the indices that the rows of a replay take, by their order.
    nested: see ``replay``.
    unwalked: probability of the paths that were left out.
    """

    whole_from = WIDE
    most_numbers = long_path = math.inf

    def __init__(
        self, exploration: Exploration, vocabulary: int, singles: Sequence[int], splits: dict[int, bool],
        likeliest_first: bool = False,
    ):  # fmt: skip
        super().__init__(exploration)
        self.likeliest_first = likeliest_first
        self.vocabulary, self.singles, self.splits = vocabulary, singles, splits
        self.rows: list[RowDraw] = []
        self.weighed: dict[tuple, int] = {}
        self.totals: dict[int, float] = {}
        self.forced: dict[int, int] = {}
        self.nested, self.unwalked = False, 0.0
        self.scans, self.tables, self.loops = Scans(self), AliasTables(self), RaceLoops(self)

    def begin(self) -> bool:
        self.rows, self.forced = [], {}
        self._begun()
        self.unwalked += sum(float(p) for _, p in self.pending if p < LEAST_PATH)
        self.pending = [way for way in self.pending if way[1] >= LEAST_PATH]
        return super().begin()

    @property
    def not_begun(self) -> float:
        """The probability of the paths that are left to walk."""
        return sum(float(way[1]) for way in [*self.pending, *(way for _, _, way in self.queue)])

    def replay(self, probes: dict[int, int], forced: dict[int, int] | None = None, nested: bool = False) -> None:
        """Walk the path just walked again, followed, with other indices drawn from its rows.

        nested: whether the weights of rows may depend on what was drawn from earlier ones.
        """
        super().replay(probes)
        self.rows, self.forced, self.nested = [], forced or {}, nested
        self._begun()

    def begins_again(self) -> bool:
        with suppress(Recorded):
            self._asked()
        again = self.scans.stopped is not None or self.loops.stopped is not None
        self._begun()
        if again:
            self.mind_the_time()
            self.script, self.path = tuple(self.path), []
            self.rows, self.sources, self.drawn, self.run = [], [], [], object()
        return again

    def _begun(self) -> None:
        """A call begins."""
        for loops in (self.scans, self.tables, self.loops):
            loops.begin()

    def _asked(self) -> None:
        """Something is asked that is no part of a loop."""
        for loops in (self.tables, self.scans, self.loops):
            loops.ended()

    def raced(self, one: Any, other: Any, name: str) -> bool | None:
        return self.loops.answer(one, other, name)

    def scanned(self, number: Any, cut: Any, name: str) -> bool | None:
        if (answer := self.loops.always(number, cut, name)) is not None:
            return answer
        self.loops.ended()
        if self.tables.column is not None:
            return self.tables.decided(number, cut, name)
        return self.scans.answer(number, cut, name)

    def column(self, number: Any, apply: Callable[[Any], int], first: int, last: int) -> int | None:
        return self.tables.drawn(number, apply, first, last)

    def branch(self, probabilities: Sequence[Any]) -> int:
        self._asked()
        return super().branch(probabilities)

    def draw_row(self, weights: np.ndarray | Callable[[], np.ndarray], look_up: LookUp = None) -> int:
        """An index drawn by whole weights, handed out as it is. look_up: as in ``RowDraw``."""
        if self.rehearsal is not None:
            self._as_walked(weights)
            return self.rehearsed_choice()
        row = self.new_row(weights() if callable(weights) else weights, None, look_up)
        row.drawn = len(self.drawn)
        self.drawn.append(row.base)
        return row.base

    def _as_walked(self, weights: np.ndarray | Callable[[], np.ndarray]) -> None:
        """Leave the path where a short row has other weights than when it was walked: draws before it decide them."""
        assert self.rehearsal is not None
        at = len(self.rehearsed[1]) - len(self.rehearsal[1])
        walked = next((row.given for row in self.rows if row.drawn == at), None)
        if walked is None or len(walked) > ALL_CALLED:
            return
        now = np.asarray(weights() if callable(weights) else weights, dtype=np.float64)
        if not np.array_equal(now, walked):
            raise NotInterceptable(DEPENDS)

    def noise(self, shape: tuple[int, ...], kind: str, dtype: Any, step: float = 0.0) -> Any:
        """A row, or rows, of noise; None if it is no row."""
        if not shape or not self.exploration.noise_rows:
            return None
        *rows, size = shape
        of_tokens = size == self.vocabulary and (rows or kind == "exponential")
        return noise_row(self, shape, kind, dtype, step) if of_tokens or size >= LEAST_NOISE else None

    def new_row(
        self, weights: np.ndarray, lead: Lead | None, look_up: LookUp = None, base: int | None = None
    ) -> RowDraw:
        """A row whose index this path takes, base if it is given; entries followed on their own are branches of the
        tree."""
        self._asked()
        weights = np.asarray(weights, dtype=np.float64)
        ordinal, digest, given = len(self.rows), hash(weights.tobytes()), weights
        if digest not in self.totals:  # the same rows come again with every call
            self.totals[digest] = row_sum(weights) if weights.min() >= 0 else math.nan
        total = self.totals[digest]
        if not 0 < total < math.inf:
            self.give_up(f"a draw from weights that are not a row at {place()}")
        before = self.weighed.setdefault((tuple(self.path), ordinal), digest)
        if before != digest:
            if not self.nested:
                self.leave_replay()
            if not self.replaying:
                self.notice("state", STATE)
                self.give_up("it does not repeat itself when its random numbers are repeated")
        if ordinal in self.splits:
            weights, base = self._split(weights, total, self.splits[ordinal])
        if base is None:
            base = self.forced.get(ordinal)
        if base is None or not weights[base]:
            base = self.base(weights)
        self.rows.append(RowDraw(weights, base, len(self.path), lead, look_up))
        self.rows[-1].part = row_sum(weights) / total if ordinal in self.splits else 1.0
        self.rows[-1].given = given
        return self.rows[-1]

    def look_up(self, number: Any, passed: Callable[[Any], np.ndarray], cuts: Callable[[], Any]) -> int:
        """How many cuts of a row a followed uniform has passed: a draw from the row between the cuts."""
        source = number.source
        if getattr(source, "bits", None) is None or source.bits > 53:
            self.give_up(f"noise is looked up in a row of cuts at {place()}")
        low, high = source.low, source.high
        try:
            first, end = turning(
                lambda points: passed(points_at(number, points)),
                np.array([low]),
                np.array([high]),
                guessed(number, cuts()),
            )
        except (TypeError, ValueError, AttributeError):
            self.give_up(
                f"a random number is compared with a row at {place()} after operations that take one number", True
            )
        turns = end < high
        up, down = (np.sort(end[turns & side], kind="stable") for side in (~first, first))  # they are sorted, or nearly
        edges = np.sort(np.concatenate([[low], up, down, [high]]), kind="stable")
        edges = edges[np.append(True, np.diff(edges) > 0)]
        starts, always = edges[:-1], int((first & ~turns).sum()) + len(down)
        counts = always + np.searchsorted(up, starts, side="right") - np.searchsorted(down, starts, side="right")
        weights, interval = np.zeros(first.size + 1), np.full(first.size + 1, -1)
        weights[counts], interval[counts] = np.diff(edges), np.arange(len(counts))
        if np.count_nonzero(interval >= 0) < len(counts):
            self.give_up(f"a random number is compared at {place()} with cuts that it passes in both directions")
        self.lattices.add(source.bits)

        def leading_to(index: int) -> tuple[int, int]:
            return int(edges[interval[index]]), int(edges[interval[index] + 1])

        def lead(points: list[Any], index: int, where: int) -> None:
            first, beyond = leading_to(index)
            within = first + int(GOLDEN * (index + 1) % 1 * (beyond - first))
            points[source.order] = (first, beyond - 1, within)[where]

        row = self.new_row(weights, lead, (math.log2(high - low), ""))
        row.asked_again = True
        source.low, source.high = leading_to(row.base)
        source.fresh = False
        return row.base

    def _split(self, weights: np.ndarray, total: float, whole: bool) -> tuple[np.ndarray, int | None]:
        """The weights that are left open, or one index alone, which this path takes."""
        own = [k for k in range(len(weights)) if weights[k] > 0] if whole else self.own(weights)
        if len(own) > MOST_SPLIT:
            self.give_up(f"a row of {len(weights)} entries decides what is drawn next at {place()}", True)
        shares = [rational(weights[k]) / rational(total) for k in own]
        rest = weights.copy()
        rest[own] = 0.0
        left = QQ(1) - sum(shares, QQ(0)) if rest.any() else QQ(0)
        if not left and shares:
            shares[-1] += 1 - sum(shares)
        chosen = self.branch([*shares, left])
        if chosen == len(own):
            return rest, None
        alone = np.zeros_like(weights)
        alone[own[chosen]] = 1.0
        return alone, own[chosen]

    def own(self, weights: np.ndarray) -> list[int]:
        """Indices that code may treat in a way of their own: live tokens, no tokens, the most and the least likely."""
        possible = np.flatnonzero(weights)
        if not len(possible):
            return []
        extremes = possible[[weights[possible].argmax(), weights[possible].argmin()]].tolist()
        own = {*self.singles, *range(self.vocabulary, len(weights)), *extremes}
        return [k for k in sorted(own) if k < len(weights) and weights[k] > 0]

    def base(self, weights: np.ndarray) -> int:
        """The index of the next row that a path takes: another one for each row of a call, where possible no live
        token."""
        possible = np.flatnonzero(weights)
        plain = possible[~np.isin(possible, self.singles)]
        possible = plain if len(plain) else possible
        return int(possible[int((len(self.rows) + 1) * GOLDEN % 1 * len(possible))])
