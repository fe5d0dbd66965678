"""Rows in float32 on the CPU: each is read once, and nothing of the size of all rows is written.

Kernels compiled by numba, for logits and for probabilities. With logits they work in powers of two: the weight of a
logit x is 2^(x log2(e) - shift) with a whole number for the shift, so that going from one shift to another is exact;
a row's probabilities are its weights over their sum, its mass.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from torch import Tensor

from .rows import Excess, chunked

PART = 2048
"""Entries of a row that are summed in float32; the sums of parts are added in float64."""

FAR = np.float32(2.0**60)
"""Times the largest weight that was expected: beyond it the shift is moved. Far from overflow, and from rounding to 0."""

WORTH_A_THREAD = 2**20
"""Logits below which handing a part to another thread costs more than it saves."""

SINGLE = np.float32
LOG2_E = SINGLE(math.log2(math.e))
LOWEST, HIGHEST = SINGLE(-127), SINGLE(127)
SERIES = np.polynomial.Chebyshev.interpolate(np.exp2, 6, [-0.5, 0.5]).convert(kind=np.polynomial.Polynomial).coef
C0, C1, C2, C3, C4, C5, C6 = map(SINGLE, SERIES)

ROWS = "float32[:, :, ::1]"
SCALES = "boolean, float64[:, :, ::1]"
"""Whether the rows are logits; the shifts and masses of the target's rows, then of the draft's, [4, B, gamma]."""

ORDERED = {"contract", "nsz"}
"""Fused multiply-add. Infinities and NaN keep their meaning: a logit of -inf has weight exactly 0."""

FLAGS = ORDERED | {"reassoc"}
"""Sums in any order besides, so that they vectorize; not where a difference has to cancel exactly."""


def kernel(*arguments: str):
    """A function compiled for these arguments when the module is imported; kept on disk where that is possible."""

    def compiled(function):
        signature = f"({', '.join(arguments)})"
        try:
            return njit(signature, fastmath=ORDERED, nogil=True, cache=True)(function)
        except RuntimeError:  # no folder that numba could keep it in
            return njit(signature, fastmath=ORDERED, nogil=True)(function)

    return compiled


@intrinsic
def bits_as_single(typing, bits):
    """The float32 of these 32 bits."""
    return types.float32(types.int32), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.FloatType()
    )


def extreme(order: str, *flags: str):
    """The larger (">") or smaller ("<") of two numbers: the first where it is NaN; as a single instruction."""

    @intrinsic
    def chosen(typing, a, b):
        def generate(context, builder, signature, args):
            return builder.select(builder.fcmp_unordered(order, *args, flags=flags), *args, flags=flags)

        return types.float32(types.float32, types.float32), generate

    return chosen


larger, smaller = extreme(">"), extreme("<")
largest_so_far = extreme(">", "nnan", "nsz")
"""Of a running maximum, which vectorizes only if nothing is promised of NaN."""


@njit(fastmath=ORDERED)
def power_of_two(t):
    """2^t to one unit in the last place; exactly 0 for t <= -127, -inf included; 2^127 for all above that; NaN of NaN."""
    t = smaller(larger(t, LOWEST), HIGHEST)
    whole = np.int32(t + SINGLE(127.5))
    f = t - (SINGLE(whole) - SINGLE(127))
    series = (((((C6 * f + C5) * f + C4) * f + C3) * f + C2) * f + C1) * f + C0
    return series * bits_as_single(np.int32(whole << 23))


@njit(fastmath=ORDERED)
def weight(x, shift, logits):
    """Of an entry of a row: 2^(x log2(e) - shift) of a logit, a probability as it is."""
    return power_of_two(x * LOG2_E - shift) if logits else x


@njit(inline="always")
def whole_shift(logits):
    """The whole number next below log2 of the largest weight."""
    top = SINGLE(-math.inf)
    for k in range(logits.size):
        top = largest_so_far(logits[k], top)
    return SINGLE(math.floor(top * LOG2_E))


@njit(fastmath=FLAGS)
def mass_of(logits, shift):
    total = SINGLE(0)
    for k in range(logits.size):
        total += weight(logits[k], shift, True)
    return total


@kernel(ROWS, ROWS, "int64, int64, float64[:, :, ::1]")
def normalise(target, draft, first, end, scales):
    """Shift and mass = sum_x 2^(x log2(e) - shift) of the first gamma rows of both models, into ``scales``.

    Rows are numbered, those of the draft behind the target's; here from ``first`` to ``end``. The shift is that of the
    largest logit of some part of the row; it has to move only if the others come near to overflow.
    Returns a row that allows no token, or holds NaN or +inf; -1 if there is none.
    """
    batch, gamma = draft.shape[0], draft.shape[1]
    for number in range(first, end):
        model, b, i = number // (batch * gamma), number // gamma % batch, number % gamma
        row, total = (draft if model else target)[b, i], 0.0
        base = whole_shift(row[:PART])
        for start in range(0, row.size, PART):
            part = row[start : start + PART]
            some = mass_of(part, base)
            if some > FAR:
                top = whole_shift(part)
                total *= 2.0 ** (base - top)
                base, some = top, mass_of(part, top)
            total += some if not some > FAR else math.nan
        if not total > 0:
            return number
        scales[2 * model, b, i], scales[2 * model + 1, b, i] = base, total
    return -1


@njit
def log_probability(x, shift, mass, logits):
    """Of an entry of a row, in float64. No fused multiply-add: equal rows must give equal numbers."""
    if logits:
        return (np.float64(x) * np.float64(LOG2_E) - shift) * math.log(2.0) - math.log(mass)
    return math.log(x) if x > 0 else -math.inf


@kernel(ROWS, ROWS, SCALES, "int64[::1], int64[:, :], float64, float64[:, ::1]")
def log_ratio(target, draft, logits, scales, first, tokens, undrafted, found):
    """log(M_b(x) / M_s(x)) for tokens x [B, K] at K rows from ``first`` [B] on; ``undrafted`` where only M_b allows x.

    Returns whether all tokens are in the vocabulary.
    """
    for b in range(tokens.shape[0]):
        for k in range(tokens.shape[1]):
            i, x = first[b] + k, tokens[b, k]
            if not 0 <= x < target.shape[2]:
                return False
            p = log_probability(target[b, i, x], scales[0, b, i], scales[1, b, i], logits)
            q = log_probability(draft[b, i, x], scales[2, b, i], scales[3, b, i], logits)
            if q == -math.inf:
                found[b, k] = -math.inf if p == -math.inf else undrafted
            else:
                found[b, k] = p - q
    return True


@njit(fastmath=ORDERED)
def left(more, less, terms, logits):
    """max(scale * weight of the target - share * weight of the draft, 0); terms: shift and scale, shift and share."""
    up, scale, down, share = terms
    return larger(scale * weight(more, up, logits) - share * weight(less, down, logits), SINGLE(0))


@njit
def terms_of(scales, b, i, p, q):
    """The terms of ``left`` at row i < gamma of block b for max(p M_b - q M_s, 0)."""
    up, mass, down, draft_mass = scales[0, b, i], scales[1, b, i], scales[2, b, i], scales[3, b, i]
    return SINGLE(up), SINGLE(p / mass), SINGLE(down), SINGLE(q / draft_mass)


@njit(fastmath=FLAGS)
def left_in_all(more, less, terms, logits):
    total = SINGLE(0)
    for k in range(more.size):
        total += left(more[k], less[k], terms, logits)
    return total


@kernel(ROWS, ROWS, SCALES, "float64[:, ::1], boolean[:, ::1], float64[:, ::1]")
def acceptance(target, draft, logits, scales, kept, open_, accept):
    """``Rows.acceptance``, from the longest sub-block down, up to the first that is sure to be accepted."""
    gamma = kept.shape[1]
    for b in range(kept.shape[0]):
        accept[b] = 0.0
        for i in range(gamma, 0, -1):
            p = kept[b, i - 1]
            if not open_[b, i - 1]:
                continue
            if i == gamma or p >= 1:
                accept[b, i - 1] = min(p, 1.0)
                break
            more, less, surplus = target[b, i], draft[b, i], 0.0
            terms = terms_of(scales, b, i, p, 1.0)
            for k in range(0, more.size, PART):
                surplus += left_in_all(more[k : k + PART], less[k : k + PART], terms, logits)
            accept[b, i - 1] = surplus / (surplus + (1 - p))


@kernel(ROWS, ROWS, SCALES, "int64[::1], float64[:, ::1], int64, float32[:, ::1], float64[:, ::1]")
def excess(target, draft, logits, scales, at, kept, width, chosen, edges):
    """Running sums of ``Rows.excess`` over chunks into ``edges`` [B, C], the terms of each block into ``chosen`` [B, 4].

    Row gamma is not normalised: nothing is taken from it, so its weights may have any scale.
    Returns a block whose row allows no token, or -1.
    """
    gamma = draft.shape[1]
    for b in range(at.size):
        i, j = at[b], min(at[b], gamma - 1)
        more, less, total = target[b, i], draft[b, j], 0.0
        p = kept[b, i - 1] if i > 0 else 1.0
        top, scale, bottom, share = terms_of(scales, b, j, min(p, 1.0), 1 / max(p, 1.0))
        if i == gamma:
            top, scale, share = whole_shift(more) if logits else SINGLE(0), SINGLE(1), SINGLE(0)
        while True:
            terms = top, scale, bottom, share
            for c in range(edges.shape[1]):
                k = c * width
                total += left_in_all(more[k : k + width], less[k : k + width], terms, logits)
                edges[b, c] = total
            if total > 0 or share == 0:
                break
            share = SINGLE(0)
        chosen[b, 0], chosen[b, 1], chosen[b, 2], chosen[b, 3] = terms
        if not total > 0:
            return b
    return -1


@kernel(ROWS, ROWS, "boolean, int64[::1], int64[::1], float32[:, ::1], float64[:, ::1]")
def inside(target, draft, logits, at, chunk, chosen, edges):
    """Running sums of the same weights over one chunk of each block, into ``edges`` [B, W]."""
    width = edges.shape[1]
    for b in range(at.size):
        start = chunk[b] * width
        more = target[b, at[b], start : start + width]
        less = draft[b, min(at[b], draft.shape[1] - 1), start : start + width]
        terms, found, total = (chosen[b, 0], chosen[b, 1], chosen[b, 2], chosen[b, 3]), edges[b], 0.0
        for k in range(more.size):
            found[k] = left(more[k], less[k], terms, logits)
        found[more.size :] = 0
        for k in range(width):
            total += found[k]
            found[k] = total


class Compiled:
    """Rows in float32 on the CPU, logits or probabilities."""

    def __init__(self, target: Tensor, draft: Tensor, tokens: Tensor, logits: bool):
        self.tokens = tokens
        target, draft = (rows.detach().contiguous().numpy() for rows in (target, draft))
        scales = np.empty((4, *tokens.shape))
        if logits:
            normalise_all(target, draft, scales)
        else:
            scales[0::2], scales[1::2] = 0, 1
        self._rows = (target, draft, logits, scales)

    def log_ratios(self) -> Tensor:
        return self._log_ratio(np.zeros(len(self.tokens), np.int64), self.tokens.numpy(), 0.0)

    def log_ratio(self, at: Tensor, tokens: Tensor) -> Tensor:
        return self._log_ratio(at.numpy(), tokens.numpy()[:, None], math.inf).squeeze(1)

    def _log_ratio(self, first: np.ndarray, tokens: np.ndarray, undrafted: float) -> Tensor:
        found = np.empty(tokens.shape)
        if not log_ratio(*self._rows, first, tokens, undrafted, found):
            size = self._rows[0].shape[2]
            raise ValueError(f"draft tokens from {tokens.min()} to {tokens.max()}; expected 0 to {size - 1}")
        return torch.from_numpy(found)

    def acceptance(self, kept: Tensor, open_: Tensor) -> Tensor:
        accept = np.empty(kept.shape)
        acceptance(*self._rows, kept.numpy(), open_.numpy(), accept)
        return torch.from_numpy(accept)

    def excess(self, at: Tensor, kept: Tensor) -> Excess:
        target, draft, logits = self._rows[:3]
        count, width = chunked(target.shape[2])
        at, chosen, edges = at.numpy(), np.empty((len(at), 4), SINGLE), np.empty((len(at), count))
        stuck = excess(*self._rows, at, kept.numpy(), width, chosen, edges)
        if stuck >= 0:
            raise ValueError(allows_nothing(stuck, at[stuck]))

        def in_chunk(chunk: Tensor) -> Tensor:
            found = np.empty((len(at), width))
            inside(target, draft, logits, at, chunk.numpy()[:, 0], chosen, found)
            return torch.from_numpy(found)

        return Excess(torch.from_numpy(edges), width, in_chunk)


def normalise_all(target: np.ndarray, draft: np.ndarray, scales: np.ndarray) -> None:
    """``normalise`` for all rows, by several threads where that is worth it.

    Raises: ValueError if a row allows no token.
    """
    _, batch, gamma = scales.shape
    count = 2 * batch * gamma
    parts = min(torch.get_num_threads(), count * draft.shape[2] // WORTH_A_THREAD)
    if parts <= 1:
        bad = normalise(target, draft, 0, count, scales)
    else:
        edges = [count * part // parts for part in range(parts + 1)]
        bad = max(threads().map(lambda a, b: normalise(target, draft, a, b, scales), edges[:-1], edges[1:]))
    if bad >= 0:
        raise ValueError(allows_nothing(bad // gamma % batch, bad % gamma))


def allows_nothing(block: int, row: int) -> str:
    return (
        f"block {block}, row {row} allows no token, or holds NaN or +inf; expected a probability row, or logits of one"
    )


@cache
def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(torch.get_num_threads(), "draftproof")


if hasattr(os, "register_at_fork"):  # a forked child has the pool but not its threads
    os.register_at_fork(after_in_child=threads.cache_clear)
