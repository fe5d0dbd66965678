"""draftproof's own batched tensor verifiers: by the plain convention with a batch of one, and driven, many a call.

A second implementation of the algorithms, audited like third-party code. As in a decoding loop they get logits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..batched.emitted import Emitted
from ..batched.rows import rows_of
from ..batched.sampling import Uniforms, uniforms
from ..batched.verification import block_verification, greedy_block_verification, token_verification
from .calling_convention import declare, logits_of, of_request
from .protocol import BatchedAdapter, Row, by_length


def softmax(probabilities: Tensor) -> Tensor:
    """Return the rows that are verified with: softmax of the logits, in float32 or in float64."""
    kind = torch.promote_types(probabilities.dtype, torch.float32)
    return logits_of(probabilities).softmax(dim=-1, dtype=kind)


def _emitted(verify: Callable[..., Any], rows: Any, chance: Uniforms) -> Emitted:
    """Return what is emitted; greedy block verification also returns how the next rows are modified."""
    given = verify(rows, chance)
    return given[0] if verify is greedy_block_verification else given


def as_plain(verify: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return the plain calling convention around a batched verifier; logits are log-probabilities."""

    def called(target_probs, draft_probs, draft_tokens, generator):
        tokens = draft_tokens[None]
        rows = rows_of(logits_of(target_probs)[None], logits_of(draft_probs)[None], tokens, logits=True)
        tokens, accepted = _emitted(verify, rows, uniforms(tokens, generator, generator))
        return tokens[0, : int(accepted[0]) + 1]

    return declare(called, array="torch", published=lambda: verify, rows_in_use=softmax)


token = as_plain(token_verification)
block = as_plain(block_verification)
greedy_block = as_plain(greedy_block_verification)


class Together(BatchedAdapter):
    """A batched verifier, whose random numbers are inputs, with many requests in one call; one call for each length."""

    random = (
        {"name": "acceptance", "kind": "uniform", "shape": ["gamma"], "bits": 53},
        {"name": "residual", "kind": "uniform", "shape": [2], "bits": 53},
    )
    array, batch, mixes_greedy = "torch", 64, True
    rows_in_use = staticmethod(softmax)

    def __init__(self, verify: Callable[..., Any]):
        self.verify = verify

    def together(self, rows: Sequence[Row]) -> list[Sequence[int]]:
        return by_length(rows, self._verified)

    def _verified(self, rows: Sequence[Row]) -> list[list[int]]:
        target, draft, tokens = (
            torch.stack(given)
            for given in zip(*([of_request(row.target, row.greedy), row.draft, row.tokens] for row in rows))
        )
        chance = Uniforms(*(torch.stack([row.random[name] for row in rows]) for name in ("acceptance", "residual")))
        tokens, accepted = _emitted(
            self.verify, rows_of(logits_of(target), logits_of(draft), tokens, logits=True), chance
        )
        return [line[: int(n) + 1].tolist() for line, n in zip(tokens, accepted)]


token_together = Together(token_verification)
block_together = Together(block_verification)
greedy_block_together = Together(greedy_block_verification)
