"""What is emitted for each index of a row if all are treated alike: a token so many further, or one in a known order.

Samplers that sort a row draw a place in the order, and emit the token there. The order is known where every place was
called; of longer rows it is one that sorting the rows of the problem gives, if every call agrees with it.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from .outcomes import Outcome, Raised
from .row_draws import RowDraw

Called = Mapping[int, Outcome]


class Alike:
    """A prefix, and the token first + sign * index; or order[index], where there is an order.

    orders: those that may be it.
    """

    def __init__(self, called: Called, row: RowDraw, orders: Iterable[np.ndarray] = ()):
        outcome = called[row.base]
        self.prefix, self.sign, self.first = None, 1, 0
        self.order: np.ndarray | None = None
        if isinstance(outcome, Raised):
            return
        self.prefix, base = outcome[:-1], row.base
        rising = sum(o == (*self.prefix, outcome[-1] + i - base) for i, o in called.items())
        falling = sum(o == (*self.prefix, outcome[-1] - i + base) for i, o in called.items())
        self.sign = 1 if rising >= falling else -1
        self.first = outcome[-1] - self.sign * base
        if 2 * max(rising, falling) < len(called):
            self.order = next((o for o in (*_complete(called, row), *orders) if self._agrees(o, called, row)), None)

    def _agrees(self, order: np.ndarray, called: Called, row: RowDraw) -> bool:
        assert self.prefix is not None
        return row.possible[-1] < len(order) and all(o == (*self.prefix, int(order[i])) for i, o in called.items())

    def expected(self, index: int) -> Outcome | None:
        if self.prefix is None:
            return None
        return (*self.prefix, self.first + self.sign * index if self.order is None else int(self.order[index]))

    def tokens(self, weights: np.ndarray) -> tuple[int, np.ndarray]:
        """The first token, and the weights of it and those after it. weights: of the indices."""
        if self.order is None:
            return self.first if self.sign > 0 else self.first - len(weights) + 1, weights[:: self.sign]
        of_tokens = np.zeros(len(self.order))
        of_tokens[self.order] = weights[: len(self.order)]
        return 0, of_tokens


def _complete(called: Called, row: RowDraw) -> Iterator[np.ndarray]:
    """The order that calls with every index show: different tokens, behind the same ones."""
    tokens = [o[-1] for o in called.values() if not isinstance(o, Raised)]
    size = len(row.weights)
    if len({*tokens}) == len(called) == len(row.possible) and 0 <= min(tokens) <= max(tokens) < size:
        rest = np.setdiff1d(np.arange(size), tokens)
        order = np.empty(size, dtype=int)
        order[[*called]] = tokens
        order[np.setdiff1d(np.arange(size), [*called])] = rest
        yield order


def sorted_orders(rows: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The orders that sorting rows gives, downwards and upwards; of equal entries in the usual ways."""
    for row in rows:
        for kind in ("stable", "quicksort"):
            up, down = np.argsort(row, kind=kind), np.argsort(-row, kind=kind)
            yield from (down, up, up[::-1], down[::-1])
