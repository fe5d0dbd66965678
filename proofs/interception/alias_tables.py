"""Alias tables on wide problems: a column drawn evenly, and a coin thrown with that column's entry of a table, which
decides between the column and its alias. One draw from the row that the two tables make up.

A plain index does not tell what is looked up with it. The tables are found among the variables of the code that throws
the coin: floats, of which the column's entry is what the coin is compared with, and tokens, one for each column. That
they are the tables is not assumed: ``wide_laws`` calls the function with plain numbers on both sides of thresholds.
"""

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .draws import Roundings
from .places import constant_key, frames, place_in_frames
from .scans import LoopSeen
from .sources import Grid, Lattice, RandomSource
from .turning_points import GOLDEN, guessed, points_at, turning

LEAST_COLUMNS, MOST_COLUMNS = 600, 1 << 20
"""Columns from which on they are not gone through one by one, and up to which they are at all."""
FEW_ENTRIES = 16
"""Entries of a tuple, or attributes of an object, up to which the tables are looked for among them."""


class AliasColumn(NamedTuple):
    """One that was drawn.

    number: that told which. edges: its points at which columns begin, and where the last one ends, [V + 1].
    keeps: how the coin falls in a replay that leads to one token; None where either will do.
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
    sides: the points of the coin at which its range begins, turns, and ends, column by column, [3, V].
    keeps_below: whether a column is emitted by points below the turn, [V]. alias: emitted by the others, [V].
    """

    columns: RandomSource
    coin: RandomSource
    edges: np.ndarray
    sides: np.ndarray
    keeps_below: np.ndarray
    alias: np.ndarray

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each column: the weights with which it is emitted, and its alias."""
        below, above = np.diff(self.sides, axis=0)
        drawn = 1.0 if self.columns is self.coin else np.diff(self.edges) / (below + above)
        return np.where(self.keeps_below, below, above) * drawn, np.where(self.keeps_below, above, below) * drawn

    def of_tokens(self) -> np.ndarray:
        """The weights of tokens: sums of many entries, the greater part of each without rounding."""
        shares, tokens = np.concatenate(self.shares()), np.append(np.arange(len(self.alias)), self.alias)
        unit = 2.0 ** (math.frexp(shares.max())[1] - 24)
        coarse = np.floor(shares / unit) * unit
        one, other = (np.bincount(tokens, part, len(self.alias)) for part in (coarse, shares - coarse))
        return one + other

    def roundings(self) -> Roundings:
        """Of an entry w from which the rests of m columns were taken, one after the other: 2 m (w + 1 / V). All of
        these, and V of the sum that the row was divided by, come together in the columns that nothing was left of."""
        kept, left = self.shares()
        size = len(kept)
        passed_on = (left > 0) & (self.alias != np.arange(size))
        weights, taken = self.of_tokens(), np.bincount(self.alias[passed_on], minlength=size)
        each = 2 * taken * (weights / weights.sum() + 1 / size)
        total = float(each.sum()) + size
        return np.where(passed_on, each, each + total), total

    def within(self, column: int, kept: bool) -> tuple[int, int]:
        """The points of the coin that keep, or leave, a column."""
        first, turn, end = self.sides[:, column].tolist()
        return (first, turn) if kept == self.keeps_below[column] else (turn, end)

    def ways(self, token: int) -> list[tuple[int, bool]]:
        """The columns that lead to a token, by which side of their coin: its own first."""
        kept, left = self.shares()
        others = np.flatnonzero((self.alias == token) & (left > 0)).tolist()
        return [*([(token, True)] if kept[token] else []), *((column, False) for column in others)]

    def lead(self, points: list[Any], index: int, where: int) -> None:
        """As of ``row_draws.RowDraw``: at a threshold for the first two places; by its own column for the first."""
        ways = self.ways(index)
        column, keeps = ways[where and int(GOLDEN * (index + where) % 1 * len(ways))]
        first, beyond = self.within(column, keeps)
        at_turn = beyond - 1 if keeps == self.keeps_below[column] else first
        scattered, (low, high) = GOLDEN * (column + where) % 1, self.edges[column : column + 2].tolist()
        points[self.columns.order] = low + int(scattered * (high - low))
        points[self.coin.order] = at_turn if where < 2 else first + int(scattered * (beyond - first))


class AliasTables:
    """Those of one tracer. column: that was drawn last, as long as nothing else is asked."""

    def __init__(self, tracer: Any):
        self.tracer, self.known = tracer, dict[tuple, AliasTable]()
        self.begin()

    def begin(self) -> None:
        """A call begins."""
        self.column: AliasColumn | None = None

    def ended(self) -> None:
        """Something else is asked: a column without a coin is none, and the exploration begins again knowing that."""
        if self.column is not None:
            self._refuse(self.column)

    def _refuse(self, column: AliasColumn) -> NoReturn:
        self.tracer.exploration.no_tables.add(column.place)
        self.column, self.tracer.scans.stopped = None, LoopSeen
        raise LoopSeen

    def drawn(self, number: Any, apply: Callable[[Any], int], first: int, last: int) -> int | None:
        """A column, where a whole number may be one; None where it is followed otherwise."""
        self.ended()
        tracer, source, count, here = self.tracer, number.source, last - first + 1, place_in_frames()
        if first != 0 or not LEAST_COLUMNS <= count <= MOST_COLUMNS or len(tracer.rows) in tracer.splits:
            return None
        if here in tracer.exploration.no_tables or next(_sequences(count), None) is None:
            return None
        if (edges := _edges(number, apply, count)) is None:
            return None
        table = self.known.get((tuple(tracer.path), len(tracer.rows)))
        forced = tracer.forced.get(len(tracer.rows))
        index, keeps = table.ways(forced)[0] if table and forced is not None else (tracer.base(np.ones(count)), None)
        self.column = AliasColumn(number, index, edges, keeps, here)
        source.low, source.high = edges[index : index + 2].tolist()
        source.fresh = False
        return index

    def decided(self, number: Any, cut: Any, name: str) -> bool:
        """What the coin of the column comes to: is ``number`` < (>, <=, >=) ``cut``."""
        tracer, column, coin = self.tracer, self.column, number.source
        assert column is not None
        thresholds, alias = _tables(len(column.edges) - 1, column.drawn, cut)
        values = None if coin.spent or coin.settled or not isinstance(coin, Lattice) else _values(number, column)
        if thresholds is None or alias is None or values is None or coin.bits > 53:
            self._refuse(column)
        compared, below = getattr(operator, name), name in ("lt", "le")
        single = isinstance(column.number.source, Lattice) and coin is column.number.source
        low, high = (column.edges[:-1], column.edges[1:]) if single else (np.array([coin.low]), np.array([coin.high]))
        first, turn = turning(
            lambda points: compared(values(points).astype(thresholds.dtype, copy=False), thresholds), low, high,
            () if single else guessed(number, thresholds),
        )  # fmt: skip
        sides = np.stack([np.broadcast_to(low, turn.shape), turn, np.broadcast_to(high, turn.shape)])
        table = AliasTable(column.number.source, coin, column.edges, sides, first == below, alias)
        keeps = bool(table.shares()[0][column.drawn] > 0) if column.keeps is None else column.keeps
        self.column, self.known[tuple(tracer.path), len(tracer.rows)] = None, table
        token = column.drawn if keeps else int(alias[column.drawn])
        # Each column is kept by up to a point too many, half of one on average; a table sums nothing for itself.
        bits = math.log2((table.sides[2] - table.sides[0]).astype(float).sum()) - 1
        row = tracer.new_row(table.of_tokens(), table.lead, (bits, "float64"), token)
        row.asked_again, row.roundings, row.refuse = True, table.roundings(), partial(self._refuse, column)
        coin.low, coin.high = table.within(column.drawn, keeps)
        coin.fresh = False
        tracer.lattices |= {source.bits for source in (table.columns, coin) if isinstance(source, Lattice)}
        return keeps == below


def _edges(number: Any, apply: Callable[[Any], int], count: int) -> np.ndarray | None:
    """The points at which so many columns begin, and where the last one ends; None where that is not found."""
    source, cuts = number.source, np.arange(1, count)
    if isinstance(source, Grid):
        edges = source.low + np.arange(count + 1)
    else:
        try:
            passed = lambda points: points_at(number, points) >= cuts  # noqa: E731
            low, high = np.array([source.low]), np.array([source.high])
            _, turns = turning(passed, low, high, guessed(number, cuts))
        except (TypeError, ValueError, AttributeError):
            return None
        edges = np.concatenate([low, turns, high])
    looked_at = {0, 1, count // 3, count - 2, count - 1}
    right = all(apply(number.at(int(point))) == k for k in looked_at for point in (edges[k], edges[k + 1] - 1))
    return edges if right and edges[-1] == source.high and (np.diff(edges) > 0).all() else None


def _values(number: Any, column: AliasColumn) -> Callable[[np.ndarray], np.ndarray] | None:
    """The number thrown as a coin at points of its source, for each column; of what is left of the column's number
    where that is all that was done to it."""
    drawn = column.number
    if number.source is not drawn.source:
        return lambda points: points_at(number, points)
    left = [step.key for step in number.steps[len(drawn.steps) :]]
    same = [step.key for step in number.steps[: len(drawn.steps)]] == [step.key for step in drawn.steps]
    if not same or left != [("sub", False, constant_key(column.drawn))]:
        return None
    return lambda points: points_at(drawn, points) - np.arange(len(column.edges) - 1)


def _tables(count: int, index: int, cut: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Of the columns: what a coin is compared with, and which tokens are emitted in their place."""
    thresholds = alias = None
    for sequence in _sequences(count):
        if type(entry := sequence[index]) in (float, np.float64, np.float32):
            if thresholds is None and entry == cut:
                thresholds = np.array(sequence)
        elif alias is None and isinstance(entry, (int, np.integer)):
            numbers = np.array(sequence)
            inside = numbers.dtype.kind in "iu" and 0 <= numbers.min() <= numbers.max() < count
            alias = numbers if inside and (numbers != np.arange(count)).any() else None
    return thresholds, alias


def _sequences(count: int) -> Iterator[Any]:
    """Lists and arrays of so many entries among the variables of third-party code, then in small containers there."""
    for frame in frames():
        values = [*frame.f_locals.values()]
        for held in (values, (one for value in values for one in _inside(value))):
            yield from (one for one in held if _is_sequence(one, count))


def _is_sequence(value: Any, count: int) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and len(value) == count
    return type(value) in (list, tuple) and len(value) == count


def _inside(value: Any) -> list[Any]:
    """What a small tuple or list, or an object of third-party code, consists of."""
    if type(value) in (list, tuple):
        return [*islice(value, FEW_ENTRIES)] if len(value) <= FEW_ENTRIES else []
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return [*attributes.values()] if type(attributes) is dict and len(attributes) <= FEW_ENTRIES else []
