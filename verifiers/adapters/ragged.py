"""Requests of different lengths as engines of vLLM's kind want them: one after the other, with their ends."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .protocol import PLACEHOLDER, Row

UNIFORM = {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53}
NOISE = {"name": "noise", "kind": "exponential", "shape": ["V"]}
BONUS = {"name": "bonus", "kind": "exponential", "shape": ["V"]}
"""vLLM's numbers: float64 uniforms, one row of noise for a request's replacement, one for the bonus token."""


class Ragged(NamedTuple):
    """B requests, N draft tokens in all.

    tokens [N]; lengths: gamma of each; ends [B]: running sums of them; target, draft [N, V] float32; uniforms [N];
    noise [B, V]; bonus [B, 1]: token of the row after the last draft; temperature [B]: 0 where a request is greedy.
    """

    tokens: Tensor
    lengths: list[int]
    ends: Tensor
    target: Tensor
    draft: Tensor
    uniforms: Tensor
    noise: Tensor
    bonus: Tensor
    temperature: Tensor

    @property
    def metadata(self) -> "Sampling":
        """What vLLM's functions read of its SamplingMetadata."""
        greedy = [bool(t == 0) for t in self.temperature]
        return Sampling(self.temperature, all(greedy), not any(greedy), {})


class Sampling(NamedTuple):
    """Of vLLM's SamplingMetadata what its verifiers read."""

    temperature: Tensor
    all_greedy: bool
    all_random: bool
    generators: dict[int, Any]


def ragged(rows: Sequence[Row]) -> Ragged:
    """The rows as one batch, with the bonus token drawn as the engine's sampler does: argmax(p / E)."""
    lengths = [len(row.tokens) for row in rows]
    last = torch.stack([row.target[-1] for row in rows]).float()
    greedy = torch.tensor([row.greedy for row in rows])
    bonus = last.div(torch.stack([row.random["bonus"] for row in rows]).float()).argmax(dim=-1)
    return Ragged(
        torch.cat([row.tokens for row in rows]).to(torch.int32),
        lengths,
        torch.tensor(lengths).cumsum(0).to(torch.int32),
        torch.cat([row.target[:-1] for row in rows]).float(),
        torch.cat([row.draft for row in rows]).float().contiguous(),
        torch.cat([row.random["accept"] for row in rows]),
        torch.stack([row.random["noise"] for row in rows]).float(),
        torch.where(greedy, last.argmax(dim=-1), bonus)[:, None].to(torch.int32),
        torch.where(greedy, 0.0, 1.0),
    )


def emitted(output: Tensor) -> list[list[int]]:
    """The tokens before the first placeholder of each row."""
    rows = output.tolist()
    return [row[: row.index(PLACEHOLDER)] if PLACEHOLDER in row else row for row in rows]


class RaggedAdapter:
    """What adapters of vLLM's convention share. verify: Ragged -> output [B, longest + 1], padded with -1."""

    random = (UNIFORM, NOISE, BONUS)
    array, batch = "torch", 256
    placeholders = mixes_greedy = True

    def verify(self, given: Ragged) -> Tensor:
        raise NotImplementedError

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        return emitted(self.verify(ragged(rows)))

    def __call__(self, target: Any, draft: Any, tokens: Any, random: Any) -> list[int]:
        return self.together([Row(target, draft, tokens, random)])[0]


def softmax(probabilities: Tensor) -> Tensor:
    """The rows that these engines verify with: softmax of the logits, in float32."""
    return probabilities.log().softmax(dim=-1, dtype=torch.float32)
