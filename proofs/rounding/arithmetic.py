"""By which type rounding is excused: that of the arithmetic that was followed, where it is finer than the rows'."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .rule import EPSILON
from .theorem import CASCADE, IN_ORDER, PAIRWISE


class Precision(NamedTuple):
    """The types by which a law is judged.

    judged: by which rounding is excused; finer than it, nothing that may round was seen or can be excluded.
    certain: the coarsest in which an operation was followed, of those no coarser than the rows. Finer than ``judged``
      where arithmetic may have gone unseen: what only ``judged`` excuses holds if it computes in that.
    sums, normalised: the order of sums over the vocabulary that has to be granted to what is refuted: of weights, and
      of rows that are divided by their sum.
    """

    judged: str
    certain: str
    sums: str = IN_ORDER
    normalised: str = IN_ORDER


def precision(dtype: str, arithmetic: Mapping[str, Any] | None = None) -> Precision:
    """From the types that were followed and those that may be unseen; without them all that rows suggest is unseen.

    dtype: of the rows; a claim in it grants no coarser type.
    """
    followed = arithmetic["followed"] if arithmetic else ()
    unseen = arithmetic["unseen"] if arithmetic else (dtype,)
    judged, certain = (_finer(dtype, types) for types in ([*followed, *unseen], followed))
    if arithmetic is None:
        return Precision(judged, certain)
    sums = CASCADE if arithmetic["in_trees"] and not unseen else IN_ORDER
    return Precision(judged, certain, sums, IN_ORDER if arithmetic["in_order"] else PAIRWISE)


def _finer(dtype: str, types: Iterable[str]) -> str:
    """The coarsest of the types, or that of the rows if it is finer."""
    coarsest = max(types, key=EPSILON.__getitem__, default="float64")
    return min(dtype, coarsest, key=EPSILON.__getitem__)
