"""Draws from a whole row of weights on wide problems: one path for the row, not one for each token.

A row arrives whole in three ways: an index is drawn by whole weights, one uniform is looked up in a row of cuts, or a
row of noise is raced. The tracer then records the weights and goes on with one index of positive weight. It does not
assume that the other indices are treated alike: ``wide_laws`` calls the function again with plain numbers that lead to
them.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.wide import ALL_CALLED
from ...models.wide_rows import row_sum
from ..field import QQ, rational
from .exploration import Exploration
from .noise_rows import MOST_APART, noise_row
from .places import place
from .sources import GOLDEN, guessed, points_at, turning
from .tracer import DEPENDS, LookUp, NotInterceptable, Tracer

MOST_PATHS = 3_000
"""Largest number of paths of one call on a wide problem, where a row counts as one."""

LEAST_PATH = QQ(1, 2**80)
"""Smallest probability of a path that is traced: below that of two uniforms at the ends of their ranges."""

MOST_SINGLES = 600
"""Largest number of entries of a row that are traced on paths of their own."""

WIDE = 5
"""Entries of a row from which on a uniform that is compared with it is looked up in it as a whole."""

LEAST_NOISE = MOST_APART + 1
"""Random numbers drawn at once from which on they are taken for a row of noise."""

MOST_WHOLE, MOST_CUTS = 64, 64
"""Values of a whole number, and comparisons of one number, that are traced one by one on a wide problem."""


class Split(BaseException):
    """A signal to begin again, because some entries of a row need paths of their own.

    ordinal: which row of the call it is.
    """

    def __init__(self, ordinal: int):
        super().__init__(ordinal)
        self.ordinal = ordinal


Lead = Callable[[list[Any], int, int], None]

PLACES = (0, 1, 2)
"""Points among those that lead to an index: the first, the last, one between them."""


class RowDraw:
    """One draw from a row.

    weights: weights of the indices that this path leaves open, float64, not normalised.
    base: the index of this path. possible: all indices of positive weight.
    lead: a function that sets the points of a plain call so that they lead to an index, at one of ``PLACES``. It is
      None for an index that is handed out itself.
    asked_again: whether the number can be compared once more, so that points that lead to one index may differ.
    drawn: the place of a handed-out index among the drawn ones.
    at: the length of the path when it was drawn.
    look_up: None for weights and races.
    part: the share of the row's mass that the weights have. The rest is on paths of its own.
    given: the weights of all indices.
    """

    def __init__(
        self, weights: np.ndarray, base: int, at: int, lead: Lead | None = None, look_up: LookUp = None,
        possible: np.ndarray | None = None,
    ):  # fmt: skip
        self.weights, self.base, self.at, self.lead, self.look_up = weights, base, at, lead, look_up
        self.part, self.given = 1.0, weights
        self.drawn: int | None = None
        self.asked_again = False
        self.possible = np.flatnonzero(weights) if possible is None else possible
        self.open = len(self.possible) > 1


@dataclass
class RowLaw:
    """A part of a law: prefix + (first + index,) has probability * weights[index] / sum(weights).

    called: the number of indices that calls confirmed.
    look_up, part: as in ``RowDraw``.
    """

    prefix: tuple[int, ...]
    first: int
    probability: float
    weights: np.ndarray
    called: int
    look_up: LookUp = None
    part: float = 1.0


class WideTracer(Tracer):
    """A tracer that keeps rows whole.

    singles: tokens that a call may treat specially, the live ones.
    splits: rows of a call of which the singles, and ids beyond the vocabulary, are on paths of their own.
    forced: the indices that the rows of a replay take, by their order.
    nested: whether the weights of rows in a replay may depend on what was drawn from earlier ones.
    unwalked: the probability of the paths that were left out.
    """

    whole_from = WIDE
    most_numbers = long_path = math.inf
    most_values, most_cuts = MOST_WHOLE, MOST_CUTS

    def __init__(self, exploration: Exploration, vocabulary: int, singles: Sequence[int], splits: Collection[int] = ()):
        super().__init__(exploration)
        self.vocabulary, self.singles, self.splits = vocabulary, singles, splits
        self.rows: list[RowDraw] = []
        self.weighed: dict[tuple, int] = {}
        self.totals: dict[int, float] = {}
        self.forced: dict[int, int] = {}
        self.nested, self.unwalked = False, 0.0

    def begin(self) -> bool:
        self.rows, self.forced = [], {}
        self.unwalked += sum(float(p) for _, p in self.pending if p < LEAST_PATH)
        self.pending = [way for way in self.pending if way[1] >= LEAST_PATH]
        return super().begin()

    @property
    def not_begun(self) -> float:
        """Return the probability of the paths that are left to trace."""
        return sum(float(way[1]) for way in [*self.pending, *(way for _, _, way in self.queue)])

    def retrace(self, forced: dict[int, int], nested: bool = False) -> None:
        """Set out on the path just traced once more, traced again, with other indices drawn from its rows."""
        self.script, self.path, self.sources, self.drawn = tuple(self.path), [], [], []
        self.retracing, self.plain_call, self.run = True, None, object()
        self.rows, self.forced, self.nested, self.races = [], forced, nested, {}

    def draw_row(self, weights: np.ndarray | Callable[[], np.ndarray], look_up: LookUp = None) -> int:
        """Draw an index by whole weights. It is handed out as it is. look_up: as in ``RowDraw``."""
        if self.plain_call is not None:
            self._check_weights(weights)
            return self.replayed_choice()
        row = self.new_row(weights() if callable(weights) else weights, None, look_up)
        row.drawn = len(self.drawn)
        self.drawn.append(row.base)
        return row.base

    def _check_weights(self, weights: np.ndarray | Callable[[], np.ndarray]) -> None:
        """End a replay in which a short row has other weights than on the path: earlier draws decide them."""
        assert self.plain_call is not None
        at = len(self.recorded[1]) - len(self.plain_call[1])
        traced = next((row.given for row in self.rows if row.drawn == at), None)
        if traced is None or len(traced) > ALL_CALLED:
            return
        now = np.asarray(weights() if callable(weights) else weights, dtype=np.float64)
        if now is not traced and not np.array_equal(now, traced):
            raise NotInterceptable(DEPENDS)

    def noise(self, shape: tuple[int, ...], kind: str, dtype: Any, step: float = 0.0) -> Any:
        """Return one or more rows of noise, or None if the shape is no row."""
        if not shape or not self.exploration.noise_rows:
            return None
        *rows, size = shape
        of_tokens = size == self.vocabulary and (rows or kind == "exponential")
        return noise_row(self, shape, kind, dtype, step) if of_tokens or size >= LEAST_NOISE else None

    def new_row(self, weights: np.ndarray, lead: Lead | None, look_up: LookUp = None) -> RowDraw:
        """Record a draw from a row, and choose the index that this path takes.

        Entries with paths of their own are branches of the tree.
        """
        weights = np.asarray(weights, dtype=np.float64)
        ordinal, digest, given = len(self.rows), hash(weights.tobytes()), weights
        if digest not in self.totals:  # the same rows come again with every call
            self.totals[digest] = row_sum(weights) if weights.min() >= 0 else math.nan
        total = self.totals[digest]
        if not 0 < total < math.inf:
            self.give_up(f"a draw from weights that are not a row at {place()}")
        before = self.weighed.setdefault((tuple(self.path), ordinal), digest)
        if before != digest and not self.nested:
            self.leave_retrace()
            self.differs()
        base = None
        if ordinal in self.splits:
            weights, base = self._split(weights, total)
        if base is None:
            base = self.forced.get(ordinal)
        possible = np.flatnonzero(weights)
        if base is None or not weights[base]:
            base = self.base(possible)
        row = RowDraw(weights, base, len(self.path), lead, look_up, possible)
        row.part, row.given = row_sum(weights) / total if ordinal in self.splits else 1.0, given
        self.rows.append(row)
        return row

    def look_up(
        self, number: Any, passed: Callable[[Any], np.ndarray], cuts: Callable[[], Any],
        before: Callable[[], np.ndarray | None] = lambda: None,
    ) -> int:  # fmt: skip
        """Return how many cuts of a row a traced uniform has passed: a draw from the row between the cuts."""
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
        if (up_to := before()) is not None:
            counts, size = up_to[counts], int(up_to[-1])
        else:
            size = first.size
        weights, interval = np.zeros(size + 1), np.full(size + 1, -1)
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
        return row.base

    def _split(self, weights: np.ndarray, total: float) -> tuple[np.ndarray, int | None]:
        """Return the weights that are left open and None, or the weight of one index and that index."""
        own = self.own(weights)
        if len(own) > MOST_SINGLES:
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
        """Return the indices that code may treat specially: live tokens, ids that are no tokens, the extremes."""
        possible = np.flatnonzero(weights)
        if not len(possible):
            return []
        extremes = possible[[weights[possible].argmax(), weights[possible].argmin()]].tolist()
        own = {*self.singles, *range(self.vocabulary, len(weights)), *extremes}
        return [k for k in sorted(own) if k < len(weights) and weights[k] > 0]

    def base(self, possible: np.ndarray) -> int:
        """Choose the index that a path takes: a different one for each row of a call, if possible no live token.

        possible: the indices of positive weight, in order.
        """
        singles = sorted({*self.singles})
        at = np.searchsorted(possible, singles).tolist()
        live = [k for k, token in zip(at, singles) if k < len(possible) and possible[k] == token]
        live = live if len(live) < len(possible) else []
        place = int((len(self.rows) + 1) * GOLDEN % 1 * (len(possible) - len(live)))
        for k in live:
            place += k <= place
        return int(possible[place])
