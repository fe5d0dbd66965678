"""Our rules for trees as functions of rows in floating point, as audits call them: every operation in the rows' type.

The rounding of those of ``IN_FLOATS`` is bounded by the theorems of ``proofs/rounding/tree_rules.py``, which follow
these operations; the others are judged as code of a stranger is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arithmetic import or_else
from .draft_tree import DraftTree
from .registry import IN_FLOATS, TREE_REFERENCES, TreeReference


class FloatChance:
    """A chance with one uniform each: a coin is u < h, a draw looks u up in a running sum divided by its last entry."""

    def __init__(self, rng: Any, dtype: Any):
        self._rng, self._dtype = rng, dtype

    def flip(self, probability: Any) -> bool:
        return bool(self._rng.random() < probability)

    def draw(self, weights: Any) -> int:
        some = np.array(or_else(weights, [1] * len(weights)), dtype=self._dtype)  # any token where rounding left none
        sums = np.cumsum(some.clip(min=0))
        return int(np.searchsorted(sums / sums[-1], self._rng.random(), side="right"))


def __getattr__(name: str) -> Callable[..., list[int]]:
    """Return a rule of the registry by its name, ``_`` for ``-``, as a function."""
    if rule := TREE_REFERENCES.get(name.replace("_", "-")):
        return function_of(rule)
    raise AttributeError(name)


def function_of(rule: TreeReference) -> Callable[..., list[int]]:
    """Return f(target [N+1, V], draft [N, V], tokens [N], parents [N], rng); of a single path without parents."""

    def verify(target_probs: Any, draft_probs: Any, draft_tokens: Any, parents: Any, rng: Any) -> list[int]:
        rows = [tuple(row) for row in target_probs], [tuple(row) for row in draft_probs]
        tree = DraftTree(*rows, tuple(map(int, draft_tokens)), tuple(map(int, parents)), rule.drafts[0])
        return [*rule.verify(tree, FloatChance(rng, target_probs.dtype)).tokens(tree)]

    def verify_path(target_probs: Any, draft_probs: Any, draft_tokens: Any, rng: Any) -> list[int]:
        return verify(target_probs, draft_probs, draft_tokens, range(-1, len(draft_tokens) - 1), rng)

    if rule.shape == "path":
        return verify_path
    by_one_way = rule.name in IN_FLOATS and rule.name != "naive"  # its theorem is of one way of drawing
    verify.drafting = rule.drafts[:1] if by_one_way else rule.drafts  # type: ignore[attr-defined]
    return verify
