"""The rows of both models along a batch of draft blocks, and what the batched verifiers compute from them."""

from functools import cache
from typing import Any, Protocol

import torch
from torch import Tensor

from .sampling import Excess, chunked, running_sums


@cache
def compiled_rows() -> Any:
    """Return the class for float32 rows on the CPU; None without numba, or with one that refuses the installed NumPy.

    All other rows, and these without it, are ``Probabilities``, in torch.
    """
    try:
        from .compiled import CompiledRows
    except ImportError:
        return None
    return CompiledRows


class BatchRows(Protocol):
    """A batch of B draft blocks of gamma tokens with the rows of both models. tokens: [B, gamma] int64."""

    tokens: Tensor

    def log_ratios(self) -> Tensor:
        """Return log(M_b(X_i) / M_s(X_i)) for all draft tokens, [B, gamma], float64.

        Where the draft excludes the token: -inf if the target does too, else 0 (see ``arithmetic.ratio``).
        """
        ...

    def log_ratio(self, at: Tensor, tokens: Tensor) -> Tensor:
        """Return the same for one token of each block at row ``at`` < gamma, all [B]; +inf where only the target
        allows it.

        Such a token is emitted, not drafted: what follows it owes the draft nothing.
        """
        ...

    def survival(self) -> Tensor:
        """Return p_i = min(p_{i-1} M_b(X_i) / M_s(X_i), 1) for i = 1..gamma, p_0 = 1, [B, gamma] float64; see
        ``log_ratios``.

        Source: Sun et al. 2025, Algorithm 2, line 4.
        """
        ...

    def longest_sub_block(self, survival: Tensor, coins: Tensor) -> tuple[Tensor, Excess]:
        """Return tau = max{i : eta_i < h_i} of each block, 0 if there is none, [B], and ``excess`` at row tau.

        h_i = S_i / (S_i + 1 - p_i), S_i = sum_x max(p_i M_b(x) - M_s(x), 0), and 1 where p_i >= 1;
        h_gamma = min(p_gamma, 1).
        survival: p_i, coins: eta_i, [B, gamma] both, float64. S_i <= p_i, so h_i <= p_i: rows are summed only where
        eta_i < p_i, and not below an i that is sure to be accepted.
        """
        ...

    def excess(self, at: Tensor, survival: Tensor) -> Excess:
        """Return max(p_i M_b - M_s, 0) at row i = ``at`` [B] of each block, up to a factor; M_b at row gamma.

        survival: p_1..p_gamma, [B, gamma] float64; p_0 = 1. Where rounding leaves nothing the weights
        are M_b, the limit of equal rows.
        """
        ...


def rows_of(target: Tensor, draft: Tensor, tokens: Tensor, *, logits: bool) -> BatchRows:
    """Return the rows of a batch of draft blocks.

    target: [B, gamma + 1, V], rows M_b(. | c, X^i) for i = 0..gamma; draft: [B, gamma, V], rows M_s(. | c, X^i) for
    i = 0..gamma-1; tokens: [B, gamma]; all on one device, of any floating type.
    logits: True for log-probabilities up to a constant a row, temperature and truncation already applied (-inf excludes
    a token); the softmax is taken in float32, of float64 logits in float64. False for probabilities.
    Raises: ValueError if the shapes do not fit. (Where it costs nothing, that is for float32 on the CPU, a row that
    allows no token is an error too, here or when it is drawn from.)
    """
    check_shapes(target, draft, tokens)
    kind = torch.float64 if torch.float64 in (target.dtype, draft.dtype) else torch.float32
    if kind == torch.float32 and target.device.type == "cpu" and (compiled := compiled_rows()):
        return compiled(target.to(kind), draft.to(kind), tokens.long(), logits)
    if logits:
        return Probabilities(target.softmax(-1, dtype=kind), draft.softmax(-1, dtype=kind), tokens.long())
    return Probabilities(target.to(kind), draft.to(kind), tokens.long())


def check_shapes(target: Tensor, draft: Tensor | None, tokens: Tensor) -> None:
    """Raise ValueError unless the rows are those of a batch of draft blocks, on one device. draft None: one-hot."""
    batch, gamma = tokens.shape if tokens.ndim == 2 else (0, 0)
    wanted = [batch, gamma + 1, target.shape[-1]], [batch, gamma, target.shape[-1]]
    given = list(target.shape), wanted[1] if draft is None else list(draft.shape)
    if 0 in (batch, gamma, target.shape[-1]) or given != wanted:
        needed = f"tokens {list(tokens.shape)} need target {wanted[0]} and draft {wanted[1]}, none of them empty"
        raise ValueError(f"{needed}; got {given[0]} and {given[1]}")
    devices = {str(given.device) for given in (target, draft, tokens) if given is not None}
    if len(devices) > 1:
        raise ValueError(f"rows and tokens on {', '.join(sorted(devices))}; expected one device")


class Probabilities:
    """A batch of rows given as probabilities, float32 or float64, on any device.

    waits: True if looking at a result would stop the device. Then nothing that is computed depends on one.
    """

    def __init__(self, target: Tensor, draft: Tensor, tokens: Tensor):
        self.target, self.draft, self.tokens = target, draft, tokens
        self.blocks = torch.arange(len(tokens), device=tokens.device)
        self.waits = tokens.device.type != "cpu"

    def log_ratios(self) -> Tensor:
        steps = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return self._log_ratio(0.0, self.blocks[:, None], steps, self.tokens)

    def survival(self) -> Tensor:
        """Return the survival: in logarithms a walk that is held at 0 from above, exactly 1 where it is held.

        It is the walk's sums, less the highest of them so far if that is above 0.
        """
        walk = self.log_ratios().cumsum(-1)
        return (walk - walk.cummax(-1).values.clamp_(min=0)).exp()

    def log_ratio(self, at: Tensor, tokens: Tensor) -> Tensor:
        return self._log_ratio(torch.inf, self.blocks, at, tokens)

    def _log_ratio(self, undrafted: float, *where: Tensor) -> Tensor:
        p, q = self.target[where].double(), self.draft[where].double()
        return torch.where(q > 0, (p / q).log(), torch.where(p > 0, undrafted, -torch.inf))

    def longest_sub_block(self, survival: Tensor, coins: Tensor) -> tuple[Tensor, Excess]:
        accept = self.acceptance(survival, coins < survival)
        steps = torch.arange(1, survival.shape[1] + 1, device=survival.device)
        longest = ((coins < accept) * steps).amax(-1)
        return longest, self.excess(longest, survival)

    def acceptance(self, survival: Tensor, open_: Tensor) -> Tensor:
        """Return h_i where ``open_``; elsewhere that or 0, [B, gamma]."""
        short = (1 - survival).clamp(min=0)
        surplus = self._surplus(survival, open_ & (short > 0))
        accept = torch.where(short > 0, surplus / (surplus + short), 1.0)
        accept[:, -1] = survival[:, -1].clamp(max=1)
        return accept

    def _surplus(self, survival: Tensor, wanted: Tensor) -> Tensor:
        """Return S_i, [B, gamma], 0 at gamma; if looking costs nothing only of the rows wanted, and 0 of the others."""
        gamma = survival.shape[1]
        surplus = torch.zeros_like(survival)
        if gamma == 1:
            return surplus
        p = survival[:, :-1].to(self.target.dtype).clamp(max=1)
        if self.waits:
            left = self.target[:, 1:-1] * p[..., None] - self.draft[:, 1:]
            surplus[:, :-1] = left.clamp_(min=0).sum(-1).double()
            return surplus
        blocks, i = (wanted[:, :-1] & ~wanted[:, -1:]).nonzero(as_tuple=True)
        left = row_of(self.target, blocks, i + 1).mul_(p[blocks, i, None]).sub_(row_of(self.draft, blocks, i + 1))
        surplus[blocks, i] = left.clamp_(min=0).sum(-1).double()
        return surplus

    def excess(self, at: Tensor, survival: Tensor) -> Excess:
        gamma = survival.shape[1]
        p = torch.where((at > 0) & (at < gamma), survival[self.blocks, at - 1], 1.0)  # of M_b alone, no factor rounds
        share = torch.where(at < gamma, 1 / p.clamp(min=1), 0.0).to(self.target.dtype)
        target, draft = row_of(self.target, self.blocks, at), row_of(self.draft, self.blocks, at.clamp(max=gamma - 1))
        left = (target * p.clamp(max=1).to(target.dtype)[:, None]).sub_(draft.mul_(share[:, None])).clamp_(min=0)
        empty = left.sum(-1, keepdim=True) <= 0
        return in_chunks(torch.where(empty, target, left), self.blocks)


def in_chunks(weights: Tensor, blocks: Tensor) -> Excess:
    """Return weights [B, V] of each of the blocks, 0 to B - 1."""
    count, width = chunked(weights.shape[1])
    missing = count * width - weights.shape[1]
    if missing:
        weights = torch.nn.functional.pad(weights, (0, missing))
    weights = weights.view(-1, count, width)
    edges = running_sums(weights.sum(-1))
    return Excess(edges, width, lambda chunk: running_sums(weights[blocks, chunk[:, 0]]))


def row_of(rows: Tensor, blocks: Tensor, at: Tensor) -> Tensor:
    """Return a copy of rows[blocks, at], [N, V]; several times faster on the CPU than by two indices."""
    return rows.flatten(0, 1).index_select(0, blocks * rows.shape[1] + at)
