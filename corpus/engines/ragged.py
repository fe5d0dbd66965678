"""Requests of different lengths as engines of vLLM's kind want them: one after the other, with their ends."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from draftproof.verifiers.adapters.calling_convention import float32_softmax
from draftproof.verifiers.adapters.protocol import PLACEHOLDER, Row
from draftproof_engines.lifted import Edit, Lifted, LiftedAdapter, require_parameters

UNIFORM = {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53}
NOISE = {"name": "noise", "kind": "exponential", "shape": ["V"]}
BONUS = {"name": "bonus", "kind": "exponential", "shape": ["V"]}
"""vLLM's numbers: float64 uniforms, one row of noise for a request's replacement, one for the bonus token."""


class Ragged(NamedTuple):
    """B requests, N draft tokens in all.

    tokens [N]; lengths: gamma of each; ends [B]: running sums of them; target, draft [N, V] float32; uniforms [N];
    noise [B, V]; bonus [B, 1]: token of the row after the last draft; temperature [B]: 0 where a request is greedy.
    seeds [B]: of each request's own generator, None where it has none.
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
    seeds: list[int | None]

    def metadata(self, greedy_temperature: float) -> "Sampling":
        """Return what vLLM's functions read of its SamplingMetadata, with new generators each time."""
        greedy = self.temperature == 0
        own = {k: torch.Generator().manual_seed(seed) for k, seed in enumerate(self.seeds) if seed is not None}
        temperature = torch.where(greedy, greedy_temperature, self.temperature)
        return Sampling(temperature, bool(greedy.all()), not greedy.any(), own)


class Sampling(NamedTuple):
    """The part of vLLM's SamplingMetadata that its verifiers read."""

    temperature: Tensor
    all_greedy: bool
    all_random: bool
    generators: dict[int, Any]


def ragged(rows: Sequence[Row]) -> Ragged:
    """Return the rows as one batch, with the bonus token drawn as the engine's sampler does: argmax(p / E)."""
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
        [row.seed for row in rows],
    )


def emitted(output: Tensor) -> list[list[int]]:
    """Return the tokens before the first placeholder of each row."""
    rows = output.tolist()
    return [row[: row.index(PLACEHOLDER)] if PLACEHOLDER in row else row for row in rows]


UNIFORMS_DRIVEN = Edit(
    """torch.rand(
        (num_tokens,),
        dtype=torch.float64,
        device=device,
    )""",
    "DRIVEN.uniforms.clone()",
    "the uniforms are an input, but for requests with a generator of their own",
)
"""Signature of vLLM's ``generate_uniform_probs``, which vllm-ascend calls too."""

UNIFORMS_FILE, UNIFORMS_NAME = "vllm/v1/sample/rejection_sampler.py", "generate_uniform_probs"


class RaggedAdapter(LiftedAdapter):
    """What adapters of vLLM's ``rejection_sample`` share.

    driven: where the lifted functions find the numbers of a call. greedy_temperature: what marks a greedy request.
    """

    random = (UNIFORM, NOISE, BONUS)
    batch = 256
    placeholders = mixes_greedy = seeded = True
    rows_in_use = staticmethod(float32_softmax)
    greedy_temperature = 0.0
    function: Callable[..., Tensor]

    def __init__(self) -> None:
        self.driven: Any = SimpleNamespace(noise=None, uniforms=None)

    def uses(self, lifted: Lifted) -> None:
        """Take ``rejection_sample`` of what was lifted."""
        self.function = lifted.functions["rejection_sample"]
        expected = ("draft_token_ids", "num_draft_tokens", "max_spec_len", "cu_num_draft_tokens", "draft_probs")
        require_parameters(self.function, expected, f"{lifted.record['engine']}: rejection_sample")

    def target(self, rows: Tensor) -> Any:
        """Return the target's rows as ``rejection_sample`` wants them."""
        return rows.log()

    def together(self, rows: Sequence[Row]) -> list[list[int]]:
        given = ragged(rows)
        self.driven.noise, self.driven.uniforms = given.noise, given.uniforms
        output = self.function(
            given.tokens, given.lengths, max(given.lengths), given.ends, given.draft, self.target(given.target),
            given.bonus, given.metadata(self.greedy_temperature),
        )  # fmt: skip
        return emitted(output)
