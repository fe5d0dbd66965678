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
def one_id_for_its_neighbour(table, rng):
    k = table.drawn(rng)
    return k - 1 if k == 1000 else k


@_by
def evenly(table, rng):
    return rng.integers(table.size)


RIGHT = ["by_two_numbers", "by_one_number", "by_lists"]
WRONG = {
    "kept_a_little_too_often": True, "one_alias_for_another": True, "coins_of_the_column_before": False,
    "another_coin_for_every_seventh": False, "other_aliases_than_those_at_hand": False, "the_coin_decides_again": False,
    "evenly": False,
}  # fmt: skip
"""Whether the law of a wide row is known; what is not known is never cleared."""
