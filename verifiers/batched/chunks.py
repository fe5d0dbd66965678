"""Sums of weights over a vocabulary in chunks: short running sums in place of a long one."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK_WIDTH = 1024
"""Tokens in a chunk."""


class Excess(NamedTuple):
    """Weights of tokens, at one row of each block: what is left of the target there.

    edges: [B, C] float64, the sum of the weights of chunks 0 to c.
    width: W; chunk c is tokens c * W to c * W + W - 1.
    inside: inside(chunk), [B, 1] -> [B, W] float64, running sums over the weights in one chunk of each block.
    Guarantee: neither kind of sum ever falls, nor rises where the weight is 0 (see ``sampling.pick``).
    """

    edges: Tensor
    width: int
    inside: Callable[[Tensor], Tensor]


def running_sums(weights: Tensor) -> Tensor:
    """Sums of the first 1, 2, ... weights of each row, [..., N], in float64: they rise at positive weights only.

    A GPU may sum in another order at each index, so that a weight of 0 comes with a rise of one unit in the last place;
    such an entry is replaced by the highest sum so far at a positive weight.
    """
    sums = weights.cumsum(-1, dtype=torch.float64)
    return torch.where(weights > 0, sums, 0.0).cummax(-1).values


def chunked(size: int) -> tuple[int, int]:
    """The number of chunks and their width, for a vocabulary of that size."""
    width = min(CHUNK_WIDTH, size)
    return -(-size // width), width
