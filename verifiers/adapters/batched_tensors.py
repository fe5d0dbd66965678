"""draftproof's own batched tensor verifiers, called by the plain convention with a batch of one.

A second implementation of the algorithms, audited like third-party code. As in a decoding loop they get logits.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..batched.block_verification import block_verification
from ..batched.greedy_block_verification import greedy_block_verification
from ..batched.rows import rows_of
from ..batched.sampling import uniforms
from ..batched.token_verification import token_verification
from .calling_convention import declare


def softmax(probabilities: Tensor) -> Tensor:
    """The rows that are verified with: softmax of the logits, in float32 or in float64."""
    kind = torch.promote_types(probabilities.dtype, torch.float32)
    return probabilities.log().softmax(dim=-1, dtype=kind)


def as_plain(verify: Callable[..., Any]) -> Callable[..., Tensor]:
    """The plain calling convention around a batched verifier; logits are log-probabilities."""

    def called(target_probs, draft_probs, draft_tokens, generator):
        tokens = draft_tokens[None]
        rows = rows_of(target_probs.log()[None], draft_probs.log()[None], tokens, logits=True)
        given = verify(rows, uniforms(tokens, generator, generator))
        tokens, accepted = given[0] if verify is greedy_block_verification else given
        return tokens[0, : int(accepted[0]) + 1]

    return declare(called, array="torch", published=lambda: verify, rows_in_use=softmax)


token = as_plain(token_verification)
block = as_plain(block_verification)
greedy_block = as_plain(greedy_block_verification)
