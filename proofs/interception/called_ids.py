"""The choice of indices of a row that calls lead to, to confirm that all are treated alike, and of the draft blocks."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ...models.wide import ALL_CALLED, DRAFTED_IDS
from .row_draws import RowDraw
from .sources import GOLDEN

FURTHER = (24, 24)
"""Further indices of a long row: those that take turns over rows and draft blocks, and those drawn by weight."""

FURTHER_OF_SEVERAL = (12, 12)
"""The same where there are several draft blocks or rows, and over large vocabularies, where calls take longest."""

FURTHER_OF_MANY = (8, 2)
"""The same where there are many draft blocks."""

FEW_FURTHER = 4
"""Further indices of a row of a problem that differs from an earlier one in some weights alone."""

LARGE = 100_000
"""Vocabulary from which on it is one of the largest."""

SMALL_IDS = 1 << 15
"""Special indices up to which smaller vocabularies have each at every position: over the largest a row has every other
one, and the row after one token more has the rest."""

TURNS = 4
"""Number of rows after equally many tokens of which the first has all special indices, and its path all replays, where
they take turns."""

SEVERAL_BLOCKS = TURNS
"""Draft blocks from which on they do."""

MANY_BLOCKS = 16
"""Draft blocks from which on fewer further indices are called."""

LEAST_SHARE = (100, 16)
"""Indices of a short row that each draft block calls at least, of several blocks or of many: they take turns."""

INSIDE = 240
"""Indices drawn by weight over all chunks of a vocabulary: what so many calls miss is in the resolution of the law."""

MISSED_INSIDE = 1 - 1e-4 ** (1 / INSIDE)
"""Share of the draws that they may have missed: of a larger one they would have met some with probability 1 - 1e-4."""

LIKELIEST_INSIDE = 3
"""Indices of a row in a chunk of the vocabulary that are called whatever the chunk's probability."""

LIKELY = 8
"""Indices drawn by weight, of a row of which something other than the last token may depend."""

RANKS = (1, 2, 4, 9, 30, 99, 300, 999, 10_000)
"""Ranks by weight of further indices of such a row."""


class CalledIds:
    """A chooser of indices for the rows of one draft block.

    live: tokens that can be drafted. seed: of the choice. blocks: the number of draft blocks of the problem.
    number: of this draft block.
    brief: whether few indices are called, of a problem that differs from an earlier one in some weights alone.
    every: whether all of a short row are, whatever the number of draft blocks.
    met: tokens before a row -> rows met so far, on all blocks.
    """

    def __init__(self, vocabulary: int, live: Sequence[int], seed: int, blocks: int, number: int, brief: bool,
                 every: bool = False, met: Counter[int] | None = None):  # fmt: skip
        self.vocabulary, self.live, self.blocks, self.number = vocabulary, sorted(set(live)), blocks, number
        self.brief, self.every, self.many = brief, every, blocks >= MANY_BLOCKS
        self.several = blocks >= SEVERAL_BLOCKS or vocabulary >= LARGE
        self.draw, self.first = random.Random(seed), random.Random(seed - number).random()
        self.met = Counter[int]() if met is None else met
        self._met_before = Counter(self.met)
        self.begin()

    def begin(self) -> None:
        """Begin the block, or begin it again: then no row of it was met."""
        self.rows, self.before, self.brief_now = 0, 0, False
        self.met.clear()
        self.met.update(self._met_before)

    @property
    def turns(self) -> bool:
        """Return whether special indices, and replays, take turns over the next rows."""
        return self.several or self.rows >= TURNS

    def take_turn(self, before: int) -> None:
        """Decide whether the next row, after so many tokens, has few special indices: an earlier one there had all."""
        self.before, self.brief_now = before, self.turns and self.met[before] % TURNS > 0
        self.met[before] += 1

    @property
    def replays(self) -> int | None:
        """Return how often the path before the next row is replayed; None for as often as without turns."""
        return 1 if self.brief_now else None

    def of(self, row: RowDraw) -> list[int]:
        """Choose indices of the next row: all of a short one, else special ones and others that take turns."""
        possible, size = row.possible, len(row.weights)
        if self.brief:
            chosen = [possible[0], possible[-1], *self.live, *self.others(row, FEW_FURTHER)]
        elif len(possible) <= ALL_CALLED:
            chosen = possible if self.every or len(possible) <= LEAST_SHARE[self.many] else self._share(row)
        else:
            further, by_weight = FURTHER_OF_MANY if self.many else FURTHER_OF_SEVERAL if self.turns else FURTHER
            taken = (self.number + self.blocks * (k + self.rows * further) for k in range(further))
            chosen = [*self._special(row), *self._scattered(possible, taken), *self._by_weight(row, by_weight)]
        self.rows += 1
        ids = sorted({int(i) for i in chosen if 0 <= i < size and row.weights[i] > 0 and i != row.base})
        self.draw.shuffle(ids)  # where time ends the calls
        return ids

    def telling(self, row: RowDraw, own: Iterable[int]) -> list[int]:
        """Choose indices that code may treat specially: its own, some of all ranks by weight, likely ones."""
        ranked = _ranked(row)
        others = {*ranked[[r for r in RANKS if r < len(ranked)]].tolist(), *self._by_weight(row, LIKELY)}
        first = {*own} - {row.base}  # those can be traced on their own
        return [*sorted(first), *sorted(others - first - {row.base})]

    def inside(self, row: RowDraw, start: int, chance: float) -> set[int]:
        """Choose indices of a row over a chunk: its ends, the likeliest, live tokens, one at random, others by weight.

        start: the chunk's first token. chance: its probability, the share that it has of those drawn by weight.
        """
        live = [t - start for t in self.live if 0 <= t - start < len(row.weights) and row.weights[t - start] > 0]
        by_weight = self._by_weight(row, math.ceil(chance * INSIDE))
        ends = int(row.possible[0]), int(row.possible[-1])
        return {*ends, *_ranked(row)[:LIKELIEST_INSIDE].tolist(), *live, *by_weight, *self.others(row, 1)}

    def others(self, row: RowDraw, count: int) -> list[int]:
        """Choose so many at random."""
        return [int(row.possible[self.draw.randrange(len(row.possible))]) for _ in range(count)]

    def _by_weight(self, row: RowDraw, count: int) -> list[int]:
        edges = np.cumsum(row.weights[row.possible])
        points = [self.draw.random() * edges[-1] for _ in range(count)]
        at = np.searchsorted(edges, points, side="right")
        return row.possible[np.minimum(at, len(edges) - 1)].tolist()

    def _scattered(self, possible: np.ndarray, places: Iterable[int]) -> list[int]:
        """Return the indices at these places of an order in which neighbours are far apart."""
        size = len(possible)
        step = next(k for k in range(int(GOLDEN * size) | 1, 2 * size + 2, 2) if math.gcd(k, size) == 1)
        at = (np.fromiter(places, np.int64) + int(self.first * size)) % size * step % size
        return possible[at].tolist()

    def _share(self, row: RowDraw) -> list[int]:
        """Return this draft block's share of the ids: all blocks together call each, and each the special ones."""
        count = max(LEAST_SHARE[self.many], math.ceil(len(row.weights) / self.blocks))
        turn = range(self.number * count, (self.number + 1) * count)
        return [*self._special(row), *self._scattered(np.arange(len(row.weights)), turn)]

    def _special(self, row: RowDraw) -> list[int]:
        """Return the indices that code may take for others; where rows take turns some have all, the others a few."""
        possible, size = row.possible, len(row.weights)
        chosen = [0, size - 1, *self.live, *range(self.vocabulary, size), int(row.weights.argmax())]
        chosen.append(int(possible[row.weights[possible].argmin()]))
        if self.brief_now:
            return chosen
        special = {self.vocabulary - 1, *DRAFTED_IDS, *range(max(size - 3, 0), size)}
        for power in (7, 8, 10, 12, 15, 16, 17):
            special |= {(1 << power) - 1, 1 << power, (1 << power) + 1}
        special |= {i & mask for i in (size - 1, size - 2, size - 3) for mask in (0x7F, 0xFF, 0x7FFF, 0xFFFF)}
        turn = self.before % 2 if self.vocabulary >= LARGE else None
        return chosen + [i for k, i in enumerate(sorted(special)) if i > SMALL_IDS or k % 2 != turn]


def _ranked(row: RowDraw) -> np.ndarray:
    """Return its possible indices, the likeliest first."""
    return row.possible[np.argsort(-row.weights[row.possible], kind="stable")]
