"""Verifiers that draw by Walker's alias method from a table that they make themselves, and wrong siblings."""

import numpy as np

from .wide import token_verification


class Table:
    """Of a row: with which probability a column is kept, and what is emitted in its place."""

    def __init__(self, weights):
        total = float(sum(weights))
        self.size = len(weights)
        kept, alias = [float(w) * self.size / total for w in weights], [0] * self.size
        small, large = [], []
        for k, left in enumerate(kept):
            (small if left < 1 else large).append(k)
        while small and large:
            low, high = small.pop(), large.pop()
            alias[low] = high
            kept[high] = kept[high] + kept[low] - 1
            (small if kept[high] < 1 else large).append(high)
        for k in small + large:
            kept[k], alias[k] = 1.0, k
        self.kept, self.alias = np.array(kept), np.array(alias)

    def drawn(self, rng):
        k = int(rng.random() * self.size)
        return int(k if rng.random() < self.kept[k] else self.alias[k])

    def drawn_by_one(self, rng):
        """A column and what is left of the same number."""
        x = rng.random() * self.size
        k = int(x)
        return int(self.alias[k]) if x - k >= self.kept[k] else k


def _by(pick):
    return lambda target, draft, tokens, rng: token_verification(
        target, draft, tokens, rng, lambda weights: int(pick(Table(weights), rng))
    )


def _leaving(table, rng, kept=None, alias=None):
    """From lists, by a whole number."""
    kept = (table.kept if kept is None else kept).tolist()
    alias = (table.alias if alias is None else alias).tolist()
    k = rng.integers(table.size)
    return alias[k] if rng.random() >= kept[k] else k


def _by_single(weights):
    """A table in single precision, divided by a sum in order."""
    weights = np.asarray(weights, dtype=np.float32)
    table, one = Table.__new__(Table), np.float32(1)
    table.size = len(weights)
    kept, alias = [*(weights * np.float32(table.size) / weights.cumsum()[-1])], [*range(table.size)]
    small, large = [k for k, left in enumerate(kept) if left < 1], [k for k, left in enumerate(kept) if left >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        alias[low] = high
        kept[high] = kept[high] + kept[low] - one
        (small if kept[high] < 1 else large).append(high)
    for k in small + large:
        kept[k] = one
    table.kept, table.alias = np.array(kept), np.array(alias)
    return table


def from_the_last_id(target, draft, tokens, rng):
    def pick(weights):
        table = _by_single(weights[::-1])
        return table.size - 1 - int(_leaving(table, rng))

    return token_verification(target, draft, tokens, rng, pick)


def sorted_first(target, draft, tokens, rng):
    def pick(weights):
        order = np.argsort(-np.asarray(weights), kind="stable")
        table = _by_single(np.asarray(weights)[order])
        k = int(rng.random(dtype=np.float32) * np.float32(table.size))
        return int(order[k if rng.random() < table.kept[k] else table.alias[k]])

    return token_verification(target, draft, tokens, rng, pick)


by_two_numbers = _by(Table.drawn)
by_one_number = _by(Table.drawn_by_one)
by_lists = _by(_leaving)


def by_a_table_of_ids(target, draft, tokens, rng):
    def pick(weights):
        ids = np.flatnonzero(weights)
        return int(ids[Table(weights[ids]).drawn(rng)])

    return token_verification(target, draft, tokens, rng, pick)


kept_a_little_too_often = _by(lambda table, rng: _leaving(table, rng, table.kept * (1 + 1e-6)))
one_alias_for_another = _by(lambda table, rng: _leaving(table, rng, alias=np.roll(table.alias, 1)))
"""Of the column before."""


@_by
def coins_of_the_column_before(table, rng):
    k = int(rng.integers(table.size))
    return k if rng.random() < table.kept[k - 1] else table.alias[k]


@_by
def another_coin_for_every_seventh(table, rng):
    """The table is right, and what the coin is compared with is not always its entry."""
    k = int(rng.integers(table.size))
    least = float(table.kept[k])
    return k if rng.random() < (least if k % 7 else 0.9 * least) else table.alias[k]


@_by
def other_aliases_than_those_at_hand(table, rng):
    """Right tables are among the variables, and another one is looked at for the upper half."""
    alias = table.alias
    other = np.where(np.arange(table.size) < table.size // 2, alias, 0)
    k = int(rng.integers(table.size))
    return k if rng.random() < table.kept[k] else (alias, other)[k % 2][k]


@_by
def the_coin_decides_again(table, rng):
    k, u = int(rng.integers(table.size)), rng.random()
    if u < table.kept[k]:
        return k if u > 1e-4 else 0
    return table.alias[k]


@_by
def the_coin_decides_again_for_aliases(table, rng):
    k, u = int(rng.integers(table.size)), rng.random()
    if u < table.kept[k]:
        return k
    return table.alias[k] if u < 0.99 else 0


@_by
def every_second_column_of_a_heavy_token(table, rng):
    k, u = int(rng.integers(table.size)), rng.random()
    if u < table.kept[k]:
        return k
    heavy = np.bincount(table.alias, 1 - table.kept).argmax()
    return table.alias[k] - (table.alias[k] == heavy and k % 2)


def ends_where_a_coin_falls(target, draft, tokens, rng):
    """What looks like a table decides nothing but whether there is a block at all."""
    size = len(target[0])
    entries, others = np.full(size, 0.5), np.roll(np.arange(size), 1)
    k = int(rng.integers(size))
    if rng.random() >= entries[k]:
        return others[:1] * 0
    return token_verification(target, draft, tokens, rng, lambda w: int(rng.choice(size, p=np.asarray(w) / sum(w))))


@_by
def one_id_for_its_neighbour(table, rng):
    k = table.drawn(rng)
    return k - 1 if k == 1000 else k


@_by
def evenly(table, rng):
    return rng.integers(table.size)


@_by
def by_a_coarse_coin(table, rng):
    k = int(rng.integers(table.size))
    return k if rng.random(dtype=np.float32) < table.kept[k] else table.alias[k]


@_by
def kept_too_often_by_a_coarse_coin(table, rng):
    kept, k = table.kept * 1.006, int(rng.integers(table.size))
    return k if rng.random(dtype=np.float32) < kept[k] else table.alias[k]


def made_in_place(target, draft, tokens, rng):
    """Beside the list of what a coin is compared with there is what it was made of."""

    def pick(weights):
        size, total = len(weights), float(sum(weights))
        weights = [size * float(w) / total for w in weights]
        kept, alias = list(weights), [0] * size
        small, large = [k for k in range(size) if kept[k] < 1], [k for k in range(size) if kept[k] >= 1]
        while small and large:
            low, high = small.pop(), large.pop()
            alias[low] = high
            kept[high] -= 1 - kept[low]
            (small if kept[high] < 1 else large).append(high)
        for k in small + large:
            kept[k] = 1.0
        k = int(rng.random() * size)
        return k if rng.random() < kept[k] else alias[k]

    return token_verification(target, draft, tokens, rng, pick)


def of_sorted_ids(target, draft, tokens, rng, most=None):
    """Of those that have a weight, or of so many in a hundred."""

    def pick(weights):
        weights = np.asarray(weights)
        order = np.argsort(-weights, kind="stable")
        order = order[weights[order] > 0] if most is None else order[: len(weights) * most // 100]
        return int(order[Table(weights[order]).drawn(rng)])

    return token_verification(target, draft, tokens, rng, pick)


def of_most_sorted_ids(target, draft, tokens, rng):
    return of_sorted_ids(target, draft, tokens, rng, 80)


def evenly_in_another_order(target, draft, tokens, rng):
    """Every column is kept, and no alias is a token of its own."""

    def pick(weights):
        size = len(weights)
        kept, alias = np.ones(size), np.zeros(size, dtype=int)
        k = int(rng.integers(size))
        k = k if rng.random() < kept[k] else alias[k]
        return int(np.random.RandomState(3).permutation(size)[k])

    return token_verification(target, draft, tokens, rng, pick)


@_by
def by_what_leaves(table, rng):
    leaves, k = 1 - table.kept, int(rng.random() * table.size)
    return table.alias[k] if rng.random() < leaves[k] else k


RIGHT = [
    "by_two_numbers",
    "by_one_number",
    "by_lists",
    "by_what_leaves",
    "by_a_coarse_coin",
    "made_in_place",
    "of_sorted_ids",
]
WRONG = {
    "kept_a_little_too_often": True, "one_alias_for_another": True, "coins_of_the_column_before": False,
    "another_coin_for_every_seventh": False, "other_aliases_than_those_at_hand": False, "the_coin_decides_again": False,
    "the_coin_decides_again_for_aliases": False, "every_second_column_of_a_heavy_token": False,
    "ends_where_a_coin_falls": False, "evenly": False, "kept_too_often_by_a_coarse_coin": True,
    "of_most_sorted_ids": True, "evenly_in_another_order": True,
}  # fmt: skip
"""Whether the law of a wide row is known; what is not known is never cleared."""
