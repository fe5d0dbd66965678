"""The output of a batched verifier."""

from typing import NamedTuple

import torch
from torch import Tensor

PADDING = -1
"""Fills the places behind the tau + 1 tokens of a block."""


class Emitted(NamedTuple):
    """tokens: X^tau, Y, then PADDING, [B, gamma + 1] int64; accepted: tau of each block, [B] int64."""

    tokens: Tensor
    accepted: Tensor


def emitted(drafted: Tensor, accepted: Tensor, last: Tensor) -> Emitted:
    """X^tau of the draft tokens [B, gamma], then Y = last [B, 1]."""
    steps = torch.arange(drafted.shape[1] + 1, device=drafted.device)
    tau = accepted[:, None]
    tokens = torch.cat([drafted, last], 1).scatter_(1, tau, last).masked_fill_(steps > tau, PADDING)
    return Emitted(tokens, accepted)
