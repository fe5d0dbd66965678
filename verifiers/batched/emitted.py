"""The output of a batched verifier."""

from typing import NamedTuple

import torch
from torch import Tensor

PADDING = -1
"""Fills the places behind the tau + 1 tokens of a block."""


class Emitted(NamedTuple):
    """A batch of results: tokens X^tau, Y, then PADDING, [B, gamma + 1] int64; accepted, tau, [B] int64."""

    tokens: Tensor
    accepted: Tensor


def emitted(drafted: Tensor, accepted: Tensor, last: Tensor) -> Emitted:
    """Return X^tau of the draft tokens [B, gamma], then Y = last [B, 1]."""
    steps = torch.arange(drafted.shape[1] + 1, device=drafted.device)
    tau = accepted[:, None]
    tokens = torch.cat([drafted, last], 1).scatter_(1, tau, last).masked_fill_(steps > tau, PADDING)
    return Emitted(tokens, accepted)


class EmittedPaths(NamedTuple):
    """An output for several draft paths of each text, K rows of a batch in turn, equal in all rows of a text.

    tokens, accepted: as in ``Emitted``.
    rows: the row of the batch whose path was accepted, [B K].
    """

    tokens: Tensor
    accepted: Tensor
    rows: Tensor


def emitted_paths(drafted: Tensor, accepted: Tensor, path: Tensor, last: Tensor) -> EmittedPaths:
    """Return X^tau of the accepted path and Y, for all rows of a text.

    drafted: [B K, gamma].
    accepted, path: tau, and the index of the path that begins with X^tau, [B].
    last: Y, [B, 1].
    """
    paths = len(drafted) // len(path)
    first = torch.arange(0, len(drafted), paths, device=drafted.device)
    rows, accepted, last = (each.repeat_interleave(paths, 0) for each in (first + path, accepted, last))
    return EmittedPaths(*emitted(drafted[rows], accepted, last), rows)
