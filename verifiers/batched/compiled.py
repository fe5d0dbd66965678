"""Rows in float32 on the CPU: each is read once, and nothing of the size of all rows is written.

What loops over rows is in ``kernels``.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from torch import Tensor

from . import kernels
from .sampling import Excess, chunked

MIN_LOGITS_PER_THREAD = 2**20
"""Logits below which handing a part to another thread costs more than it saves."""


class CompiledRows:
    """A batch of rows in float32 on the CPU, logits or probabilities."""

    def __init__(self, target: Tensor, draft: Tensor, tokens: Tensor, logits: bool):
        self.tokens = tokens
        arrays = (target.detach().contiguous().numpy(), draft.detach().contiguous().numpy())
        scales = np.empty((4, *tokens.shape))
        if logits:
            normalise_all(*arrays, scales)
        else:
            scales[0::2], scales[1::2] = 0, 1
        self._rows = (*arrays, logits, scales)

    def log_ratios(self) -> Tensor:
        return self._log_ratios(np.zeros(len(self.tokens), np.int64), self.tokens.numpy(), 0.0)

    def log_ratio(self, at: Tensor, tokens: Tensor) -> Tensor:
        return self._log_ratios(at.numpy(), tokens.numpy()[:, None], math.inf).squeeze(1)

    def _log_ratios(self, first: np.ndarray, tokens: np.ndarray, undrafted: float) -> Tensor:
        out = np.empty(tokens.shape)
        if not kernels.log_ratios(*self._rows, first, tokens, undrafted, out):
            raise self._outside(tokens)
        return torch.from_numpy(out)

    def survival(self) -> Tensor:
        tokens, survival = self.tokens.numpy(), np.empty(self.tokens.shape)
        if not kernels.survival(*self._rows, tokens, survival):
            raise self._outside(tokens)
        return torch.from_numpy(survival)

    def _outside(self, tokens: np.ndarray) -> ValueError:
        size = self._rows[0].shape[2]
        return ValueError(f"draft tokens from {tokens.min()} to {tokens.max()}; expected 0 to {size - 1}")

    def longest_sub_block(self, survival: Tensor, coins: Tensor) -> tuple[Tensor, Excess]:
        chosen, edges, width = self._room()
        p = survival.numpy()
        accept, longest, summed = np.empty(p.shape), np.empty(len(p), np.int64), np.empty((*p.shape, edges.shape[1]))
        kernels.acceptance(*self._rows, p, (coins < survival).numpy(), accept, summed, width)
        passed = (coins < torch.from_numpy(accept)).numpy()
        stuck = kernels.behind_longest(*self._rows, passed, p, summed, longest, chosen, edges, width)
        return torch.from_numpy(longest), self._excess(stuck, longest, chosen, edges, width)

    def excess(self, at: Tensor, survival: Tensor) -> Excess:
        chosen, edges, width = self._room()
        stuck = kernels.excess(*self._rows, at.numpy(), survival.numpy(), chosen, edges, width)
        return self._excess(stuck, at.numpy(), chosen, edges, width)

    def _room(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return room for the terms of each block's weights and for their running sums, and the width of a chunk."""
        batch, _, size = self._rows[0].shape
        count, width = chunked(size)
        return np.empty((batch, 4), np.float32), np.empty((batch, count)), width

    def _excess(self, stuck: int, at: np.ndarray, chosen: np.ndarray, edges: np.ndarray, width: int) -> Excess:
        if stuck >= 0:
            raise ValueError(allows_nothing(stuck, at[stuck]))
        target, draft, logits = self._rows[:3]

        def in_chunk(chunk: Tensor) -> Tensor:
            out = np.empty((len(at), width))
            kernels.inside(target, draft, logits, at, chunk.numpy()[:, 0], chosen, out)
            return torch.from_numpy(out)

        return Excess(torch.from_numpy(edges), width, in_chunk)


def normalise_all(target: np.ndarray, draft: np.ndarray, scales: np.ndarray) -> None:
    """Run ``normalise`` for all rows, by several threads if that is worth it.

    Raises: ValueError if a row allows no token.
    """
    _, batch, gamma = scales.shape
    count = 2 * batch * gamma
    parts = count * draft.shape[2] // MIN_LOGITS_PER_THREAD
    parts = min(torch.get_num_threads(), parts) if parts > 1 else 1
    if parts == 1:
        bad = kernels.normalise(target, draft, 0, count, scales)
    else:
        edges = [count * part // parts for part in range(parts + 1)]
        bad = max(threads().map(lambda a, b: kernels.normalise(target, draft, a, b, scales), edges[:-1], edges[1:]))
    if bad >= 0:
        raise ValueError(allows_nothing(bad // gamma % batch, bad % gamma))


def allows_nothing(block: int, row: int) -> str:
    wrong = f"block {block}, row {row} allows no token, or holds NaN or +inf"
    return f"{wrong}; expected a probability row, or logits of one"


@cache
def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(torch.get_num_threads(), "draftproof")


if hasattr(os, "register_at_fork"):  # a forked child has the pool but not its threads
    os.register_at_fork(after_in_child=threads.cache_clear)
