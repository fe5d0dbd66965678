"""Sampling in the decoding loop: from logits to the law (temperature, top-k, top-p), and what draws from it, three
streams of random numbers a row or a ``Chance`` given for each."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...verifiers.batched.sampling import Uniforms, pick, running_sums
from ...verifiers.chance import Chance, RandomChance
from ..errors import InputError

Warp = Callable[[Tensor], Tensor]


def warp(temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Warp:
    """Return a function from logits [..., V] to the logarithms, up to a constant, of the law that is sampled.

    law = softmax(logits / T) restricted to the k most probable tokens and then to the fewest whose mass reaches top_p,
    in that order, as transformers has it. T = 0 is the limit: all mass on the largest logit, the first of equals.
    0 for top_k, and 1 for top_p, restrict nothing.
    Half precision is raised to float32 first; float64 stays. The row's largest logit is taken off before the division,
    so that no temperature makes it overflow.
    """
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    steps = []
    if temperature not in (0, 1):
        steps.append(TemperatureLogitsWarper(float(temperature)))
    if temperature != 0 and top_k > 0:
        steps.append(TopKLogitsWarper(top_k))
    if temperature != 0 and top_p < 1:
        steps.append(TopPLogitsWarper(top_p))

    def warped(logits: Tensor) -> Tensor:
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if temperature == 0:
            return torch.full_like(logits, -torch.inf).scatter_(-1, logits.argmax(-1, keepdim=True), 0.0)
        flat = logits.reshape(-1, logits.shape[-1])
        if temperature != 1:
            flat = flat - flat.amax(-1, keepdim=True)
        for step in steps:
            flat = step(None, flat)
        return flat.view(logits.shape)

    return warped


class Streams:
    """A set of three independent streams for each row of the batch: for draft tokens, for acceptance, for residual
    draws.

    Philox of NumPy, keyed by seed, row and stream, uniforms in float64. They are drawn on the CPU, so that a seed means
    the same on every device, and a row's numbers do not depend on the batch's other rows.
    """

    def __init__(self, seed: int, batch: int):
        made = [self.generators(seed, row) for row in range(batch)]
        self.drafts, self.acceptance, self.residual = map(list, zip(*made, strict=True))

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        """Return the draft's, acceptance's and residual's generator of one row."""
        keys = np.random.SeedSequence(seed, spawn_key=(row,)).generate_state(6, np.uint64).reshape(3, 2)
        return [np.random.Generator(np.random.Philox(key=key)) for key in keys]

    def draw(self, scores: Tensor) -> Tensor:
        """Draw one draft token for each row, [B]: k with probability softmax(scores)[k]. scores: [B, V]."""
        edges = running_sums(scores.softmax(-1))
        return pick(edges, uniform_draws(self.drafts, 1).to(scores.device)).squeeze(1)

    def uniforms(self, tokens: Tensor) -> Uniforms:
        """Return the uniforms of a batched verifier for draft tokens [B, gamma]."""
        coins, place = uniform_draws(self.acceptance, tokens.shape[1]), uniform_draws(self.residual, 2)
        return Uniforms(coins.to(tokens.device), place.to(tokens.device))

    def of_row(self, row: int) -> Chance:
        """Return the random choices of a verifier of one block."""
        return RowChance(self.acceptance[row], self.residual[row])

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch."""
        for name in ("drafts", "acceptance", "residual"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])


def uniform_draws(generators: Sequence[np.random.Generator], count: int) -> Tensor:
    """Draw ``count`` uniforms on [0, 1) from each generator, [B, count] float64."""
    return torch.from_numpy(np.stack([generator.random(count) for generator in generators]))


class RowChance:
    """A chance that flips with one generator and draws with another."""

    def __init__(self, acceptance: Any, residual: Any):
        self.flip, self.draw = RandomChance(acceptance).flip, RandomChance(residual).draw


class GivenChances:
    """A ``Chance`` for each row, for draft tokens and verification: the loop becomes a program over chance."""

    def __init__(self, chances: Sequence[Chance]):
        self.chances = list(chances)

    def draw(self, scores: Tensor) -> Tensor:
        rows = scores.softmax(-1).tolist()
        drawn = [chance.draw(row) for chance, row in zip(self.chances, rows, strict=True)]
        return torch.tensor(drawn, device=scores.device)

    def uniforms(self, tokens: Tensor) -> Uniforms:
        why = "a batched verifier draws uniforms, and a given chance has flips and draws only"
        raise InputError(f"{why}; expected a verifier of verifiers.registry")

    def of_row(self, row: int) -> Chance:
        return self.chances[row]

    def select(self, rows: Sequence[int]) -> None:
        self.chances = [self.chances[row] for row in rows]


BatchChance = Streams | GivenChances
"""Random choices for each row of a batch."""
