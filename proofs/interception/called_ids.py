"""Which indices of a row calls lead to, to confirm that they are treated alike; and on which draft blocks.

Alike: what is emitted is a token so many further, or one in a known order. Samplers that sort a row draw a place in the
order, and emit the token there. The order is known where every place was called; of longer rows it is one that sorting
the rows of the problem gives, if every call agrees with it.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from ...models.wide import ALL_CALLED, DRAFTED_IDS, WideProblem
from .outcomes import Outcome, Raised
from .row_draws import RowDraw
from .sources import GOLDEN

FURTHER, FURTHER_OF_LARGE, FURTHER_OF_SEVERAL, FEW_FURTHER = (24, 24), (12, 12), (8, 2), 4
"""Indices of a row beyond the chosen ones: of those that take turns over rows and draft blocks, and drawn by weight;
over the largest vocabularies, where calls take longest; where there are several blocks; of a problem that differs from
one before in some weights alone."""

LARGE = 100_000
"""Vocabulary from which on it is one of the largest."""

SEVERAL_BLOCKS, TURNS = 16, 4
"""Draft blocks from which on special indices take turns too, and rehearsals at the ends of what a path allows; how many
rows, or blocks, there is one of with all of them."""

ALL_TURNS, LEAST_TURN = 8, 16
"""Draft blocks, of many, on which each index of a short row is called; indices of a row that do not take turns."""

LIKELIEST_INSIDE = 3
"""Indices of a row in a part of the vocabulary that are called whatever its probability."""

LIKELY = 8
"""Indices drawn by their weights, of a row of which something else than the last token may depend."""

Turn = tuple[int, int]
"""Number of a draft block among those that share the indices of a row, and how many those are."""


def turn(problem: WideProblem, block: Sequence[int], number: int, after: int) -> Turn:
    """Among which blocks the indices of a row after so many tokens are shared. number: of the block, among all.

    Whether a row is drawn from after a rejection depends on the token that is rejected: blocks that differ elsewhere
    share, so that each index is called whichever tokens are rejected; of one position ``ALL_TURNS`` blocks do not.
    """
    blocks = problem.count(problem.gamma)
    if problem.departures:
        return 0, 1
    if after >= problem.gamma:
        return number, blocks
    at, of, few = 0, 1, blocks // ALL_TURNS
    for k, (token, live) in enumerate(zip(block, problem.live, strict=True)):
        if k != after:
            at, of = at * len(live) + live.index(token), of * len(live)
    return (at, of) if of >= few else (number % few, few)


class CalledIds:
    """Of the rows of one draft block.

    vocabulary, live, seed, blocks, number, turn, brief: as of ``wide_laws.explore_wide``.
    """

    def __init__(
        self, vocabulary: int, live: Sequence[int], seed: int, blocks: int, number: int, turn: Callable[[int], Turn],
        brief: bool,
    ):  # fmt: skip
        self.vocabulary, self.live, self.blocks, self.number = vocabulary, sorted(set(live)), blocks, number
        self.turn, self.brief = turn, brief
        self.several = blocks >= SEVERAL_BLOCKS
        alone = FURTHER_OF_LARGE if vocabulary >= LARGE else FURTHER
        self.further, self.by_weight = FURTHER_OF_SEVERAL if self.several else alone
        self.draw, self.first = random.Random(seed), random.Random(seed - number).random()
        self.rows = 0

    @property
    def rehearsals(self) -> int | None:
        """How often each path of the block is repeated; None for as often as without turns."""
        return 1 if self.several and self.number % TURNS else None

    def of(self, row: RowDraw, position: int) -> list[int]:
        """Of the next row: the live ones, the ends, powers of two, the extremes of weight, and others that take turns.

        position: of the token that the row is drawn for.
        """
        possible, size = row.possible, len(row.weights)
        if self.brief:
            chosen = [possible[0], possible[-1], *self.live, *self.others(row, FEW_FURTHER)]
        elif len(possible) <= ALL_CALLED:
            number, of = self.turn(position) if len(possible) > LEAST_TURN else (0, 1)
            if of > 1:  # among all indices: rows of other blocks have other zeros
                chosen = [*self._special(row), *self._scattered(np.arange(size), range(number, size, of))]
            else:
                chosen = possible
        else:
            taken = (self.number + self.blocks * (k + self.rows * self.further) for k in range(self.further))
            chosen = [*self._special(row), *self._scattered(possible, taken)]
            chosen += self._by_weight(row, self.by_weight)
        self.rows += 1
        ids = sorted({int(i) for i in chosen if 0 <= i < size and row.weights[i] > 0 and i != row.base})
        self.draw.shuffle(ids)  # where time ends the calls
        return ids

    def telling(self, row: RowDraw, own: Iterable[int]) -> list[int]:
        """Those that code may treat otherwise than most: its own, of all orders by weight, likely ones."""
        ranked = _ranked(row)
        ranks = [r for r in (1, 2, 4, 9, 30, 99, 300, 999, 10_000) if r < len(ranked)]
        likely = self._by_weight(row, LIKELY)
        likely += [] if row.tokens is None else row.possible[[0, -1]].tolist()  # a coin falls on both sides
        first = {*own} - {row.base}  # those can be followed on their own
        return [*sorted(first), *sorted({*ranked[ranks].tolist(), *likely} - first - {row.base})]

    def inside(self, row: RowDraw, start: int, chance: float) -> set[int]:
        """Of a row over a part of the vocabulary: its likeliest, the live tokens, one at random, others by weight.

        start: the part's first token. chance: its probability; those that are drawn by weight have that share of all.
        """
        live = [t - start for t in self.live if 0 <= t - start < len(row.weights) and row.weights[t - start] > 0]
        by_weight = self._by_weight(row, math.ceil(chance * sum(FURTHER)))
        return {*_ranked(row)[:LIKELIEST_INSIDE].tolist(), *live, *by_weight, *self.others(row, 1)}

    def others(self, row: RowDraw, count: int) -> list[int]:
        """So many drawn at random."""
        return [int(row.possible[self.draw.randrange(len(row.possible))]) for _ in range(count)]

    def _by_weight(self, row: RowDraw, count: int) -> list[int]:
        """So many drawn by their weights."""
        edges = np.cumsum(row.weights[row.possible])
        points = [self.draw.random() * edges[-1] for _ in range(count)]
        at = np.searchsorted(edges, points, side="right")
        return row.possible[np.minimum(at, len(edges) - 1)].tolist()

    def _scattered(self, possible: np.ndarray, places: Iterable[int]) -> list[int]:
        """The indices at these places of an order in which neighbours are far apart."""
        size = len(possible)
        step = next(k for k in range(int(GOLDEN * size) | 1, 2 * size + 2, 2) if math.gcd(k, size) == 1)
        at = (np.fromiter(places, np.int64) + int(self.first * size)) % size * step % size
        return possible[at].tolist()

    def _special(self, row: RowDraw) -> list[int]:
        """The indices that code may take for others; of several draft blocks some have all, the others a few."""
        possible, size = row.possible, row.size
        chosen = [0, size - 1, *self.live, *range(self.vocabulary, size), int(row.weights.argmax())]
        chosen.append(int(possible[row.weights[possible].argmin()]))
        chosen += [] if row.tokens is None else [size, 2 * size - 1]
        if self.several and (self.number + self.rows) % TURNS:
            return chosen
        chosen += [self.vocabulary - 1, *DRAFTED_IDS, *range(max(size - 3, 0), size)]
        for power in (7, 8, 10, 12, 15, 16, 17):
            chosen += [(1 << power) - 1, 1 << power, (1 << power) + 1]
        return chosen + [i & mask for i in (size - 1, size - 2, size - 3) for mask in (0x7F, 0xFF, 0x7FFF, 0xFFFF)]


def _ranked(row: RowDraw) -> np.ndarray:
    """Its possible indices, the likeliest first."""
    return row.possible[np.argsort(-row.weights[row.possible], kind="stable")]


Called = Mapping[int, Outcome]


class Alike:
    """A prefix, and the token first + sign * index; or order[index], where there is an order.

    rows: makes those that may be drawn from, or sorted first.
    """

    def __init__(self, called: Called, row: RowDraw, rows: Callable[[], Iterable[np.ndarray]] = tuple):
        outcome = called[row.base]
        self.prefix, self.sign, self.first = None, 1, 0
        self.order: np.ndarray | None = None
        if isinstance(outcome, Raised):
            return
        self.prefix, base, self.row = outcome[:-1], row.token(row.base), row
        rising = sum(o == (*self.prefix, outcome[-1] + row.token(i) - base) for i, o in called.items())
        falling = sum(o == (*self.prefix, outcome[-1] - row.token(i) + base) for i, o in called.items())
        self.sign = 1 if rising >= falling else -1
        self.first = outcome[-1] - self.sign * base
        if max(rising, falling) < len(called):
            orders = positive_first(made := [*rows()])
            if 2 * max(rising, falling) < len(called):
                orders = chain(_complete(called, row), orders, sorted_orders(made))
            self.order = next((o for o in orders if self._agrees(o, called, row)), None)

    def _agrees(self, order: np.ndarray, called: Called, row: RowDraw) -> bool:
        assert self.prefix is not None
        fits = row.size <= len(order) if row.tokens is not None else row.possible[-1] < len(order)
        return fits and all(o == (*self.prefix, int(order[row.token(i)])) for i, o in called.items())

    def expected(self, index: int) -> Outcome | None:
        if self.prefix is None:
            return None
        token = self.row.token(index)
        return (*self.prefix, self.first + self.sign * token if self.order is None else int(self.order[token]))

    def tokens(self, weights: np.ndarray) -> tuple[int, np.ndarray]:
        """The first token, and the weights of it and those after it. weights: of what indices stand for."""
        if self.order is None:
            return self.first if self.sign > 0 else self.first - len(weights) + 1, weights[:: self.sign]
        of_tokens = np.zeros(len(self.order))
        of_tokens[self.order[: len(weights)]] = weights[: len(self.order)]
        return 0, of_tokens


def _complete(called: Called, row: RowDraw) -> Iterator[np.ndarray]:
    """The order that calls with every index show: different tokens, behind the same ones."""
    tokens = [o[-1] for o in called.values() if not isinstance(o, Raised)]
    size, all_called = len(row.weights), row.tokens is None and len(called) == len(row.possible)
    if all_called and len({*tokens}) == len(called) and 0 <= min(tokens) <= max(tokens) < size:
        rest = np.setdiff1d(np.arange(size), tokens)
        order = np.empty(size, dtype=int)
        order[[*called]] = tokens
        order[np.setdiff1d(np.arange(size), [*called])] = rest
        yield order


def positive_first(rows: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The tokens of positive weight, where indices count those alone."""
    return (np.argsort(row <= 0, kind="stable") for row in rows)


def sorted_orders(rows: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The orders that sorting rows gives, downwards and upwards; of equal entries in the usual ways."""
    for row in rows:
        for kind in ("stable", "quicksort"):
            up, down = np.argsort(row, kind=kind), np.argsort(-row, kind=kind)
            yield from (down, up, up[::-1], down[::-1])
