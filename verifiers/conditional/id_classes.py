"""Classes of token ids: a fault may be for some of them what its opposite is for the others."""

from collections.abc import Callable
from functools import partial

from .steps import Array

IdClass = Callable[[Array, int], Array]
"""inside(ids, vocabulary) -> whether each id is in the class."""

PARTS = 8
"""Parts of the vocabulary: ids next to each other, and ids with one remainder."""


def _bit(bit: int, ids: Array, vocabulary: int) -> Array:
    return (ids >> bit) % 2 == 1


def _low(ids: Array, vocabulary: int) -> Array:
    return 2 * ids < vocabulary


def _neighbours(part: int, ids: Array, vocabulary: int) -> Array:
    return ids * PARTS // vocabulary == part


def _remainder(part: int, ids: Array, vocabulary: int) -> Array:
    return ids % PARTS == part


HALVES: dict[str, IdClass] = {
    "odd ids": partial(_bit, 0), "ids 2 and 3 modulo 4": partial(_bit, 1), "ids 4 to 7 modulo 8": partial(_bit, 2),
    "ids in the lower half": _low,
}  # fmt: skip
"""Classes of about half of all ids, by name."""

CONTIGUOUS: dict[str, IdClass] = {f"part {k + 1} of {PARTS} of the ids": partial(_neighbours, k) for k in range(PARTS)}
"""Classes of an eighth of all ids next to each other, by name."""

REMAINDERS: dict[str, IdClass] = {f"ids {k} modulo {PARTS}": partial(_remainder, k) for k in range(PARTS)}
"""Classes of every eighth id, by name."""

EIGHTHS = CONTIGUOUS | REMAINDERS
"""Classes of an eighth of all ids, by name."""
