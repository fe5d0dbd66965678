"""The loop as a decoder: the text that it writes for one seed, or the texts of one batch."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...verifiers.batched.sampling import Uniforms
from .generate import generate
from .loop import DecodingLoop, PlainLoop
from .sampling import Streams


class OneGenerator(Streams):
    """A generator of torch in place of the three streams, made from the seed. Its numbers can be traced."""

    def __init__(self, seed: int, batch: int):
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, scores: Tensor) -> Tensor:
        return torch.multinomial(scores.softmax(-1), 1, generator=self.generator).squeeze(1)

    def uniforms(self, tokens: Tensor) -> Uniforms:
        rows = tokens.shape[0]
        coins = torch.rand(rows, tokens.shape[1], dtype=torch.float64, generator=self.generator)
        return Uniforms(coins, torch.rand(rows, 2, dtype=torch.float64, generator=self.generator))

    def select(self, rows: Sequence[int]) -> None:
        """Keep one generator for all rows."""


class Untimed:
    """A loop with that generator, and without a clock."""

    streams = OneGenerator

    def clock(self) -> float:
        return 0.0


class UntimedLoop(Untimed, DecodingLoop):
    """A loop with a draft, without its clock."""


class UntimedPlainLoop(Untimed, PlainLoop):
    """A loop without a draft and without its clock."""


@cache
def _model(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder).eval()


def decode(
    target: Path, draft: Path | None, start: int, tokens: int, gamma: int, seeds: Sequence[int], **settings: Any
) -> Iterator[Any]:
    """Yield for each seed the text behind the prompt, or, with ``together``, the texts of a batch of prompts.

    settings: ``temperature``, ``top_k``, ``top_p``, ``eos`` as of ``LoopSettings``. The verifier is token verification.
    """
    others = settings.pop("together", None) or []
    prompts = [[start, *one.get("prompt", ())] for one in (settings, *others)]
    settings.pop("prompt", None)
    if any(set(other) - {"prompt"} for other in others):
        raise ValueError("requests of one batch must have the same settings")
    models = _model(target), draft and _model(draft)
    given: dict[str, Any] = settings | {"gamma": gamma, "max_new_tokens": tokens}
    for seed in seeds:
        loop = UntimedPlainLoop if draft is None else UntimedLoop
        made = generate(*models, prompts, "token", loop=loop, seed=seed, **given)
        yield made.tokens if others else made.tokens[0]
