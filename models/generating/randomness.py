"""The randomness of the decoding loop: three streams of random numbers a row, or a ``Chance`` given for each row."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ...verifiers.batched.sampling import Uniforms, pick, running_sums
from ...verifiers.chance import Chance, RandomChance
from ..errors import InputError


class BatchChance(Protocol):
    """The random choices of a batch, one source a row."""

    def draw(self, scores: Tensor) -> Tensor:
        """One draft token for each row, [B]: k with probability softmax(scores)[k]. scores: [B, V]."""
        ...

    def uniforms(self, tokens: Tensor) -> Uniforms:
        """The uniforms of a batched verifier for draft tokens [B, gamma]."""
        ...

    def of_row(self, row: int) -> Chance:
        """The random choices of a verifier of one block."""
        ...

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch."""
        ...


class Streams:
    """Three independent streams for each row of the batch: for draft tokens, for acceptance, for residual draws.

    Philox of NumPy, keyed by seed, row and stream, uniforms in float64. They are drawn on the CPU, so that a seed means
    the same on every device, and a row's numbers do not depend on the rows beside it.
    """

    def __init__(self, seed: int, batch: int):
        made = [self.generators(seed, row) for row in range(batch)]
        self.drafts, self.acceptance, self.residual = map(list, zip(*made, strict=True))

    def generators(self, seed: int, row: int) -> list[np.random.Generator]:
        """The draft's, acceptance's and residual's generator of one row."""
        keys = np.random.SeedSequence(seed, spawn_key=(row,)).generate_state(6, np.uint64).reshape(3, 2)
        return [np.random.Generator(np.random.Philox(key=key)) for key in keys]

    def draw(self, scores: Tensor) -> Tensor:
        edges = running_sums(scores.softmax(-1))
        return pick(edges, uniform_draws(self.drafts, 1).to(scores.device)).squeeze(1)

    def uniforms(self, tokens: Tensor) -> Uniforms:
        coins, place = uniform_draws(self.acceptance, tokens.shape[1]), uniform_draws(self.residual, 2)
        return Uniforms(coins.to(tokens.device), place.to(tokens.device))

    def of_row(self, row: int) -> Chance:
        return RowChance(self.acceptance[row], self.residual[row])

    def select(self, rows: Sequence[int]) -> None:
        for name in ("drafts", "acceptance", "residual"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])


def uniform_draws(generators: Sequence[np.random.Generator], count: int) -> Tensor:
    """``count`` uniforms on [0, 1) from each generator, [B, count] float64."""
    return torch.from_numpy(np.stack([generator.random(count) for generator in generators]))


class RowChance:
    """Chance that flips with one generator and draws with another."""

    def __init__(self, acceptance: Any, residual: Any):
        self.flip, self.draw = RandomChance(acceptance).flip, RandomChance(residual).draw


class GivenChances:
    """One ``Chance`` for each row, for draft tokens and verification alike: the loop becomes a program over chance."""

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
