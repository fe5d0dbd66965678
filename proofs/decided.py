"""Which positions of a draft block a problem decides: those at which a mistake moves the law."""

from collections.abc import Callable, Iterable
from typing import Any

from ..models.law import Prefix

LEAST = 1e-3
"""Probability from which on the token drafted there has to be rejected."""


def decided_together(
    blocks: Iterable[Prefix], target: Callable[[Prefix], Any], draft: Callable[[Prefix], Any]
) -> list[list[int]]:
    """The sets of positions that are decided by one block, without those that another has in it, as sorted lists.

    A position is decided by a block if a right verifier can accept its token, by M_b / M_s, and has to reject it with
    probability LEAST at least; or if the target excludes it, and then it is the last one.

    target, draft: from a prefix to its row.
    """
    found: set[frozenset[int]] = set()
    ratios: dict[Prefix, float] = {}
    for block in blocks:
        decided = set()
        for i, token in enumerate(block):
            here = block[: i + 1]
            if here not in ratios:
                ratios[here] = float(target(here[:-1])[token]) / float(draft(here[:-1])[token])
            if ratios[here] <= 1 - LEAST:
                decided.add(i)
            if not ratios[here]:
                break
        found.add(frozenset(decided))
    return sorted(sorted(one) for one in found if one and not any(one < other for other in found))
