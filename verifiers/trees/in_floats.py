"""Our rules for trees as functions of rows in floating point, as audits call them: every operation in the rows' type.

Their rounding is bounded by the theorems of ``proofs/rounding/own_rules.py``, which follow these operations.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .draft_tree import IID, WITHOUT_REPLACEMENT, DraftTree
from .registry import tree_reference


class FloatChance:
    """Coins and draws by one uniform each: u < h, and u looked up in a running sum divided by its last entry."""

    def __init__(self, rng: Any, dtype: Any):
        self._rng, self._dtype = rng, dtype

    def flip(self, probability: Any) -> bool:
        return bool(self._rng.random() < probability)

    def draw(self, weights: Any) -> int:
        sums = np.cumsum(np.array(weights, dtype=self._dtype).clip(min=0))
        return int(np.searchsorted(sums / sums[-1], self._rng.random(), side="right"))


def _in_floats(name: str, how: str) -> Callable[..., list[int]]:
    """A rule of the registry as ``f(target [N+1, V], draft [N, V], tokens [N], parents [N], rng)``, for one drawing."""
    rule = tree_reference(name)

    def verify(target_probs: Any, draft_probs: Any, draft_tokens: Any, parents: Any, rng: Any) -> list[int]:
        rows = [tuple(row) for row in target_probs], [tuple(row) for row in draft_probs]
        tree = DraftTree(*rows, tuple(map(int, draft_tokens)), tuple(map(int, parents)), how)
        return [*rule.verify(tree, FloatChance(rng, target_probs.dtype)).tokens(tree)]

    verify.drafting = (how,)  # type: ignore[attr-defined]
    return verify


spec_infer = _in_floats("spec-infer", IID)
without_replacement = _in_floats("without-replacement", WITHOUT_REPLACEMENT)
traversal = _in_floats("traversal", IID)
k_seq = _in_floats("k-seq", IID)
optimal_transport = _in_floats("optimal-transport", IID)
global_resolution = _in_floats("global-resolution", IID)
