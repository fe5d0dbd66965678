"""What a batched verifier gives back."""

from typing import NamedTuple

import torch
from torch import Tensor

PADDING = -1
"""Stands behind the tau + 1 tokens of a block that did not accept all gamma."""


class Emitted(NamedTuple):
    """tokens: [B, gamma + 1] int64, X^tau, Y, then PADDING; accepted: [B] int64, tau of each block."""

    tokens: Tensor
    accepted: Tensor


def emitted(drafted: Tensor, accepted: Tensor, last: Tensor) -> Emitted:
    """X^tau of the draft tokens [B, gamma], then Y = last [B, 1]."""
    steps = torch.arange(drafted.shape[1] + 1, device=drafted.device)
    tau = accepted[:, None]
    tokens = torch.cat([drafted, last], 1).scatter_(1, tau, last).masked_fill_(steps > tau, PADDING)
    return Emitted(tokens, accepted)
