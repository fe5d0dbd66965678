"""The randomness of the batched verifiers: uniforms in float64, and draws by running sums in chunks."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK_WIDTH = 1024
"""Tokens in a chunk."""


class Excess(NamedTuple):
    """A batch of weights of tokens, at one row of each block: what is left of the target there.

    edges: [B, C] float64, the sum of the weights of chunks 0 to c.
    width: W; chunk c is tokens c * W to c * W + W - 1.
    inside: inside(chunk), [B, 1] -> [B, W] float64, running sums over the weights in one chunk of each block.
    Guarantee: neither kind of sum ever falls, nor rises where the weight is 0 (see ``sampling.pick``).
    """

    edges: Tensor
    width: int
    inside: Callable[[Tensor], Tensor]


def running_sums(weights: Tensor) -> Tensor:
    """Return sums of the first 1, 2, ... weights of each row, [..., N], in float64: they rise at positive weights only.

    A GPU may sum in another order at each index, so that a weight of 0 comes with a rise of one unit in the last place;
    such an entry is replaced by the highest sum so far at a positive weight.
    """
    sums = weights.cumsum(-1, dtype=torch.float64)
    return torch.where(weights > 0, sums, 0.0).cummax(-1).values


def chunked(size: int) -> tuple[int, int]:
    """Return the number of chunks and their width, for a vocabulary of that size."""
    width = min(CHUNK_WIDTH, size)
    return -(-size // width), width


class Uniforms(NamedTuple):
    """A set of all random numbers of one verification of a batch: independent, uniform on [0, 1), float64.

    acceptance: eta_i of the coins, [B, gamma].
    residual: for the chunk of the vocabulary and for the token in it, [B, 2].
    """

    acceptance: Tensor
    residual: Tensor


def uniforms(
    tokens: Tensor, acceptance: torch.Generator | None = None, residual: torch.Generator | None = None
) -> Uniforms:
    """Draw fresh uniforms for draft tokens [B, gamma], on their device, each kind from a generator of its own.

    float64, so that a coin or a draw is off by 2^-53 at most; a float32 uniform has 24 bits, and a vocabulary of
    128,000 tokens has probabilities below that.
    """
    kind = {"dtype": torch.float64, "device": tokens.device}
    batch, gamma = tokens.shape
    coins = torch.rand(batch, gamma, generator=acceptance, **kind)
    return Uniforms(coins, torch.rand(batch, 2, generator=residual, **kind))


def pick(edges: Tensor, uniform: Tensor) -> Tensor:
    """Draw one index for each row, [B, 1]: k with probability weights[k] / sum(weights).

    edges: [B, N] float64, running sums of weights that are not negative and not all zero; uniform: [B, 1] in [0, 1).
    Guarantee: weights[k] > 0 for every uniform, 0 included. The index is that of the first edge strictly above the
    point u * sum, and the point lies strictly below the sum: u <= 1 - 2^-53, and the sum less its 2^53th part, which is
    half a unit in its last place or more, never rounds back to it.
    """
    return torch.searchsorted(edges, uniform * edges[:, -1:], right=True)


def draw(excess: Excess, uniform: Tensor) -> Tensor:
    """Draw one token for each row, [B, 1]: first its chunk of the vocabulary, then the token in the chunk; uniform:
    [B, 2].

    Two short running sums in place of one over the vocabulary, which is serial and would be the longest step.
    """
    chunk = pick(excess.edges, uniform[:, :1])
    return chunk * excess.width + pick(excess.inside(chunk), uniform[:, 1:])
