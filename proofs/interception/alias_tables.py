"""Alias tables on wide problems: a column drawn evenly, and a coin compared with that column's entry of a table, which
decides between the column and its alias. One draw from a row of 2 V indices: k for column k that is kept, V + k for its
alias.

A plain index does not tell what is looked up with it. The tables are found among the variables of the code that throws
the coin: floats, of which the column's entry is what the coin is compared with, and tokens, one for each column. That
they are the tables is not assumed: ``wide_laws`` calls the function on both sides of thresholds.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .places import constant_key, frames, place_in_frames
from .scans import LoopSeen
from .sources import GOLDEN, Grid, Lattice, RandomSource, guessed, points_at, turning
from .tracer import Roundings

LEAST_COLUMNS, MOST_COLUMNS = 600, 1 << 20
"""Columns from which on they are not gone through one by one, and up to which they are at all."""

MOST_TRIED = 6
"""Guesses at one place of which calls may show otherwise."""

FEW_ENTRIES = 16
"""Entries of a tuple, or attributes of an object, up to which the tables are looked for among them."""


Guess = tuple[bool, tuple, tuple]
"""Whether a coin below its threshold keeps a column, and where thresholds and tokens are among the variables."""


@dataclass
class KnownTables:
    """Of a place where columns are drawn. compared: where the entries were that coins were compared with so far, by the
    first one. wrong: guesses of which calls showed otherwise. over: whether they are no columns."""

    compared: set[tuple] = field(default_factory=set)
    wrong: set[Guess] = field(default_factory=set)
    over: bool = False


class AliasColumn(NamedTuple):
    """One that was drawn.

    number: the random number that it was made of. drawn: which column it is.
    edges: the points of that number at which columns begin, and where the last one ends, [V + 1].
    keeps: how the coin falls in a replay that leads to one index; None where either will do.
    place: where it was drawn.
    """

    number: Any
    drawn: int
    edges: np.ndarray
    keeps: bool | None
    place: tuple


class AliasTable(NamedTuple):
    """Columns with a coin for each.

    columns, coin: the sources of the two numbers; they may be the same one.
    edges: as of ``AliasColumn``.
    sides: the points of the coin at which an index begins, and where it ends, [2, 2 V].
    tokens: that indices stand for, [2 V].
    """

    columns: RandomSource
    coin: RandomSource
    edges: np.ndarray
    sides: np.ndarray
    tokens: np.ndarray

    def weights(self) -> np.ndarray:
        """Of the indices: how many points lead to each, or as much in proportion."""
        points = np.diff(self.sides, axis=0)[0]
        both = points.reshape(2, -1)
        return points * (1.0 if self.columns is self.coin else np.tile(np.diff(self.edges) / both.sum(axis=0), 2))

    def roundings(self) -> Roundings:
        """Of a token w, from which the rests of m columns were taken one after the other: 2 m (w + 1 / V) units, and
        V w of the sum that the row was divided by; the columns that nothing was left of may have all of these. And by
        the steps of the numbers: for each of its m + 1 columns, at both its ends and the coin's, a point and rounding;
        a quarter of that on average, and half of it is the total variation."""
        size, weights = len(self.tokens) // 2, self.weights()
        of_tokens = np.bincount(self.tokens, weights, size) / weights.sum()
        passed_on = (weights[size:] > 0) & (self.tokens[size:] != np.arange(size))
        taken = np.bincount(self.tokens[size:][passed_on], minlength=size)
        units = 2 * taken * (of_tokens + 1 / size) + size * of_tokens
        steps = 4 * (taken + 1) * sum(
            2.0**-source.bits / (1 if source is self.columns else size)
            for source in {self.columns, self.coin} if isinstance(source, Lattice)
        )  # fmt: skip
        return units + np.where(passed_on, 0.0, units.sum()), steps, (float(units.sum()), float(steps.sum()) / 8)

    def lead(self, points: list[Any], index: int, where: int) -> None:
        """As of ``row_draws.RowDraw``."""
        column = index % (len(self.edges) - 1)
        for source, (low, high) in (
            (self.columns, self.edges[column : column + 2].tolist()), (self.coin, self.sides[:, index].tolist())
        ):  # fmt: skip
            points[source.order] = (low, high - 1, low + int(GOLDEN * (index + 1) % 1 * (high - low)))[where]


class AliasTables:
    """Those of one tracer. column: that was drawn last, as long as nothing else is asked."""

    def __init__(self, tracer: Any):
        self.tracer = tracer
        self.begin()

    def begin(self) -> None:
        """A call begins."""
        self.column: AliasColumn | None = None

    def ended(self) -> None:
        """Something else is asked: a column without a coin is none, and the exploration begins again knowing that."""
        if self.column is not None:
            self._refuse(self.column.place)

    def _refuse(self, place: tuple, guess: Guess | None = None) -> NoReturn:
        """Begin again with other tables, or none."""
        known = self.tracer.exploration.tables[place]
        known.wrong |= {guess} if guess else set()
        known.over = guess is None or len(known.wrong) >= MOST_TRIED
        self.column, self.tracer.scans.stopped = None, LoopSeen
        raise LoopSeen

    def drawn(self, number: Any, apply: Callable[[Any], int], first: int, last: int) -> int | None:
        """A column, where a whole number may be one; None where it is followed otherwise."""
        self.ended()
        tracer, source, count = self.tracer, number.source, last - first + 1
        if first != 0 or not LEAST_COLUMNS <= count <= MOST_COLUMNS or len(tracer.rows) in tracer.splits:
            return None
        here = place_in_frames()
        known = tracer.exploration.tables.setdefault(here, KnownTables())
        if known.over or next(_sequences(count), None) is None:
            return None
        if (edges := _edges(number, apply, count)) is None:
            return None
        forced = tracer.forced.get(len(tracer.rows))
        index, keeps = (tracer.base(np.ones(count)), None) if forced is None else (forced % count, forced < count)
        self.column = AliasColumn(number, index, edges, keeps, here)
        source.low, source.high = edges[index : index + 2].tolist()
        source.fresh = False
        return index

    def decided(self, number: Any, cut: Any, name: str) -> bool:
        """What the coin of the column comes to: is ``number`` < (>, <=, >=) ``cut``."""
        tracer, column, coin = self.tracer, self.column, number.source
        assert column is not None
        count, known = len(column.edges) - 1, tracer.exploration.tables[column.place]
        compared, aliases = _tables(count, column.drawn, cut)
        known.compared = known.compared & {*compared} or {*compared}
        guesses = product((True, False), (at for at in compared if at in known.compared), aliases)
        guess = next((one for one in guesses if one not in known.wrong), None)
        if guess is None or coin.spent or coin.settled or not isinstance(coin, Lattice) or coin.bits > 53:
            self._refuse(column.place)
        keeps_true, thresholds, alias = guess[0] == (name in ("lt", "le")), compared[guess[1]], aliases[guess[2]]
        single = coin is column.number.source
        low, high = (column.edges[:-1], column.edges[1:]) if single else (np.array([coin.low]), np.array([coin.high]))
        try:
            near = () if single else guessed(number, thresholds)
            first, turn = turning(_compared(number, column, getattr(operator, name), thresholds, cut), low, high, near)
        except Exception:  # operations that take one number
            self._refuse(column.place)
        low, high = np.broadcast_to(low, turn.shape), np.broadcast_to(high, turn.shape)
        begins = first == keeps_true
        kept = [np.where(begins, low, turn), np.where(begins, turn, high)]
        left = [np.where(begins, turn, low), np.where(begins, high, turn)]
        sides, tokens = np.concatenate([kept, left], axis=1), np.append(np.arange(count), alias)
        table = AliasTable(column.number.source, coin, column.edges, sides, tokens)
        self.column, weights = None, table.weights()
        keeps = bool(weights[column.drawn] > 0) if column.keeps is None else column.keeps
        row = tracer.new_row(weights, table.lead, base=column.drawn + (0 if keeps else count))
        row.tokens, row.size, row.asked_again = tokens, count, True
        row.roundings, row.refuse = table.roundings, partial(self._refuse, column.place, guess)
        coin.low, coin.high = sides[:, row.base].tolist()
        coin.fresh = False
        tracer.lattices |= {source.bits for source in (table.columns, coin) if isinstance(source, Lattice)}
        return keeps == keeps_true


def _edges(number: Any, apply: Callable[[Any], int], count: int) -> np.ndarray | None:
    """The points at which so many columns begin, and where the last one ends; None where that is not found."""
    source, cuts = number.source, np.arange(1, count)
    if isinstance(source, Grid):
        edges = source.low + np.arange(count + 1)
    else:
        try:
            low, high = np.array([source.low]), np.array([source.high])
            _, turns = turning(lambda points: points_at(number, points) >= cuts, low, high, guessed(number, cuts))
        except Exception:  # operations that take one number
            return None
        edges = np.concatenate([low, turns, high])
    looked_at = {0, 1, count // 3, count - 2, count - 1}
    right = all(apply(number.at(int(point))) == k for k in looked_at for point in (edges[k], edges[k + 1] - 1))
    return edges if right and edges[-1] == source.high and (np.diff(edges) > 0).all() else None


def _compared(
    number: Any, column: AliasColumn, compared: Callable, thresholds: np.ndarray, cut: Any
) -> Callable[[np.ndarray], np.ndarray]:
    """What the comparison of the coin comes to in each column, at points of its source."""
    whole: Any = 0
    made_of = number
    if number.source is column.number.source:
        steps = [step.key for step in number.steps]
        before = [step.key for step in column.number.steps]
        if steps != [*before, ("sub", False, constant_key(column.drawn))]:
            raise ValueError("the coin is not what the column leaves of the number that it was made of")
        made_of, whole = column.number, np.arange(len(thresholds))
    # A plain float takes the type of what it is compared with.
    plain = type(number.at(number.source.low)) is float

    def passed(points: np.ndarray) -> np.ndarray:
        at = points_at(made_of, points) - whole
        if plain:
            return compared(at.astype(thresholds.dtype), thresholds)
        return compared(at, thresholds.astype(at.dtype) if type(cut) is float else thresholds)

    return passed


def _tables(count: int, index: int, cut: Any) -> tuple[dict[tuple, np.ndarray], dict[tuple, np.ndarray]]:
    """Of the columns, by where they are: what a coin may be compared with, and what may be emitted in their place."""
    compared, aliases = {}, {}
    for place, sequence in _sequences(count):
        if type(entry := sequence[index]) in (float, np.float64, np.float32):
            if entry == cut and (numbers := _numbers(sequence, "f")) is not None:
                compared[place] = numbers
        elif isinstance(entry, (int, np.integer)):
            numbers = _numbers(sequence, "iu")
            inside = numbers is not None and 0 <= numbers.min() <= numbers.max() < count
            if inside and (numbers != np.arange(count)).any():
                aliases[place] = numbers
    return compared, aliases


def _numbers(sequence: Any, kinds: str) -> np.ndarray | None:
    """As an array, if all entries are numbers of these kinds."""
    try:
        numbers = np.array(sequence)
    except Exception:  # entries of their own types may raise anything
        return None
    return numbers if numbers.ndim == 1 and numbers.dtype.kind in kinds else None


def _sequences(count: int) -> Iterator[tuple[tuple, Any]]:
    """Lists and arrays of so many entries among the variables of third-party code, then in small containers there; and
    where they are."""
    for depth, frame in enumerate(frames()):
        own = {(name,): value for name, value in frame.f_locals.items()}
        inside = (((*name, at), one) for name, value in own.items() for at, one in _inside(value).items())
        for name, value in chain(own.items(), inside):
            array = isinstance(value, np.ndarray) and value.ndim == 1
            if (array or type(value) in (list, tuple)) and len(value) == count:
                yield (depth, *name), value


def _inside(value: Any) -> dict[Any, Any]:
    """What a small tuple or list, or an object of third-party code, consists of."""
    if type(value) in (list, tuple):
        return dict(enumerate(value)) if len(value) <= FEW_ENTRIES else {}
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return {**attributes} if type(attributes) is dict and len(attributes) <= FEW_ENTRIES else {}
