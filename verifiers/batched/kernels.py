"""Loops over rows in float32, compiled by numba, for logits and for probabilities.

With logits they work in powers of two: the weight of a logit x is 2^(x log2(e) - shift) with a whole number for the
shift, so that going from one shift to another is exact; a row's probabilities are its weights over their sum, its mass.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Array = np.ndarray
Scalar = Any
"""float32 or float64: numba compiles for both."""

Terms = tuple[Scalar, Scalar, Scalar, Scalar]

PART_SIZE = 2048
"""Entries of a row that are summed in float32; the sums of parts are added in float64."""

MAX_PART_SUM = np.float32(2.0**60)
"""The largest sum of a part for which its shift stays: far from overflow, and from rounding to 0."""

F32 = np.float32
LOG2_E = F32(math.log2(math.e))
MIN_EXPONENT, MAX_EXPONENT = F32(-127), F32(127)
SERIES = np.polynomial.Chebyshev.interpolate(np.exp2, 6, [-0.5, 0.5]).convert(kind=np.polynomial.Polynomial).coef
C0, C1, C2, C3, C4, C5, C6 = map(F32, SERIES)

ROWS_TYPE = "float32[:, :, ::1]"
SCALES_TYPE = "boolean, float64[:, :, ::1]"
"""Type of the scales: whether the rows are logits; shifts and masses of the target's rows, then the draft's."""

ORDERED = {"contract", "nsz"}
"""Fused multiply-add. Infinities and NaN keep their meaning: a logit of -inf has weight exactly 0."""

REORDERED = ORDERED | {"reassoc"}
"""Sums in any order too, so that they vectorize; not where a difference has to cancel exactly."""


def kernel(*arguments: str) -> Callable[[Callable], Any]:
    """Compile a function for these arguments when the module is imported; cached on disk where that is possible."""

    def compiled(function):
        signature = f"({', '.join(arguments)})"
        try:
            return njit(signature, fastmath=ORDERED, nogil=True, cache=True)(function)
        except RuntimeError:  # numba has no folder to cache it in
            return njit(signature, fastmath=ORDERED, nogil=True)(function)

    return compiled


def _bits_as_single(typing, bits):
    return types.float32(types.int32), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.FloatType()
    )


# numba's stub has ``typing`` in the signature, which callers do not pass.
bits_as_single: Callable[[Scalar], Scalar] = intrinsic(_bits_as_single)  # pyright: ignore[reportAssignmentType]
"""The float32 of these 32 bits."""


def extreme(order: str, *flags: str) -> Callable[[Scalar, Scalar], Scalar]:
    """Return the larger (">") or smaller ("<") of two numbers: the first where it is NaN; as a single instruction."""

    @intrinsic
    def chosen(typing, a, b):
        def generate(context, builder, signature, args):
            return builder.select(builder.fcmp_unordered(order, *args, flags=flags), *args, flags=flags)

        return types.float32(types.float32, types.float32), generate

    return chosen  # pyright: ignore[reportReturnType]  # callers do not pass ``typing``


larger, smaller = extreme(">"), extreme("<")
largest_so_far = extreme(">", "nnan", "nsz")
"""A compiler of a running maximum, which vectorizes only if nothing is promised of NaN."""


@njit(fastmath=ORDERED)
def power_of_two(t: Scalar) -> Scalar:
    """Return 2^t to one unit in the last place; exactly 0 for t <= -127 and -inf; 2^127 for all above that; NaN of
    NaN.
    """
    t = smaller(larger(t, MIN_EXPONENT), MAX_EXPONENT)
    whole = np.int32(t + F32(127.5))
    f = t - (F32(whole) - F32(127))
    series = (((((C6 * f + C5) * f + C4) * f + C3) * f + C2) * f + C1) * f + C0
    return series * bits_as_single(np.int32(whole << 23))


@njit(fastmath=ORDERED)
def weight(x: Scalar, shift: Scalar, logits: bool) -> Scalar:
    """Return the weight of an entry of a row: 2^(x log2(e) - shift) for a logit, a probability itself."""
    return power_of_two(x * LOG2_E - shift) if logits else x


@njit(inline="always")
def whole_shift(logits: Array) -> Scalar:
    """Return the whole number next below log2 of the largest weight."""
    top = F32(-math.inf)
    for k in range(logits.size):
        top = largest_so_far(logits[k], top)
    return F32(math.floor(top * LOG2_E))


@njit(fastmath=REORDERED)
def mass_of(logits: Array, shift: Scalar) -> Scalar:
    total = F32(0)
    for k in range(logits.size):
        total += weight(logits[k], shift, True)
    return total


@kernel(ROWS_TYPE, ROWS_TYPE, "int64, int64, float64[:, :, ::1]")
def normalise(target: Array, draft: Array, first: int, end: int, scales: Array) -> int:
    """Compute shift and mass = sum_x 2^(x log2(e) - shift) of the first gamma rows of both models, into ``scales``.

    Rows are numbered, those of the draft behind the target's; here from ``first`` to ``end``. The shift is that of the
    largest logit of some part of the row; it has to move only if the others come near to overflow.
    Returns a row that allows no token, or holds NaN or +inf; -1 if there is none.
    """
    batch, gamma = draft.shape[0], draft.shape[1]
    for number in range(first, end):
        model, b, i = number // (batch * gamma), number // gamma % batch, number % gamma
        row, total = (draft if model else target)[b, i], 0.0
        base = whole_shift(row[:PART_SIZE])
        for start in range(0, row.size, PART_SIZE):
            part = row[start : start + PART_SIZE]
            some = mass_of(part, base)
            if some > MAX_PART_SUM:
                top = whole_shift(part)
                total *= 2.0 ** (base - top)
                base, some = top, mass_of(part, top)
            total += some if not some > MAX_PART_SUM else math.nan
        if not total > 0:
            return number
        scales[2 * model, b, i], scales[2 * model + 1, b, i] = base, total
    return -1


@njit
def log_probability(x: Scalar, shift: Scalar, mass: Scalar, logits: bool) -> Scalar:
    """Return the logarithm of an entry of a row, in float64. No fused multiply-add: equal rows must give equal
    numbers.
    """
    if logits:
        return (np.float64(x) * np.float64(LOG2_E) - shift) * math.log(2.0) - math.log(mass)
    return math.log(x) if x > 0 else -math.inf


@njit
def log_ratio(
    target: Array, draft: Array, logits: bool, scales: Array, b: int, i: int, x: int, undrafted: float
) -> Scalar:
    """Return log(M_b(x) / M_s(x)) at row i of block b; ``undrafted`` where only M_b allows x."""
    p = log_probability(target[b, i, x], scales[0, b, i], scales[1, b, i], logits)
    q = log_probability(draft[b, i, x], scales[2, b, i], scales[3, b, i], logits)
    if q == -math.inf:
        return -math.inf if p == -math.inf else undrafted
    return p - q


@kernel(ROWS_TYPE, ROWS_TYPE, SCALES_TYPE, "int64[::1], int64[:, :], float64, float64[:, ::1]")
def log_ratios(
    target: Array, draft: Array, logits: bool, scales: Array, first: Array, tokens: Array, undrafted: Scalar,
    out: Array,
) -> bool:  # fmt: skip
    """Write ``log_ratio`` of tokens [B, K] at K rows from ``first`` [B] on, into ``out``.

    Returns whether all tokens are in the vocabulary.
    """
    for b in range(tokens.shape[0]):
        for k in range(tokens.shape[1]):
            x = tokens[b, k]
            if not 0 <= x < target.shape[2]:
                return False
            out[b, k] = log_ratio(target, draft, logits, scales, b, first[b] + k, x, undrafted)
    return True


@njit
def ratio(target: Array, draft: Array, logits: bool, scales: Array, b: int, i: int, x: int) -> Scalar:
    """Return the same without the logarithm, 0 or 1 where the draft excludes x."""
    if not logits and draft[b, i, x] > 0:
        return np.float64(target[b, i, x]) / np.float64(draft[b, i, x])
    return math.exp(log_ratio(target, draft, logits, scales, b, i, x, 0.0))


@kernel(ROWS_TYPE, ROWS_TYPE, SCALES_TYPE, "int64[:, :], float64[:, ::1]")
def survival(target: Array, draft: Array, logits: bool, scales: Array, tokens: Array, survival: Array) -> bool:
    """Write ``BatchRows.survival`` into ``survival``. Returns whether all tokens are in the vocabulary."""
    for b in range(tokens.shape[0]):
        p = 1.0
        for i in range(tokens.shape[1]):
            x = tokens[b, i]
            if not 0 <= x < target.shape[2]:
                return False
            p = min(p * ratio(target, draft, logits, scales, b, i, x), 1.0)
            survival[b, i] = p
    return True


@njit(fastmath=ORDERED)
def left(more: Array, less: Array, terms: Terms, logits: bool) -> Scalar:
    """Return max(scale * weight of the target - share * weight of the draft, 0); terms: shift and scale, shift and
    share.
    """
    up, scale, down, share = terms
    return larger(scale * weight(more, up, logits) - share * weight(less, down, logits), F32(0))


@njit
def terms_of(scales: Array, b: int, i: int, p: Scalar, q: Scalar) -> Terms:
    """Return the terms of ``left`` at row i < gamma of block b for max(p M_b - q M_s, 0)."""
    up, mass, down, draft_mass = scales[0, b, i], scales[1, b, i], scales[2, b, i], scales[3, b, i]
    return F32(up), F32(p / mass), F32(down), F32(q / draft_mass)


@njit(fastmath=REORDERED)
def left_in_all(more: Array, less: Array, terms: Terms, logits: bool) -> Scalar:
    total = F32(0)
    for k in range(more.size):
        total += left(more[k], less[k], terms, logits)
    return total


@njit(fastmath=REORDERED)
def all_of(more: Array, terms: Terms, logits: bool) -> Scalar:
    """Return the same where nothing is taken; then the draft's row need not be read."""
    total = F32(0)
    for k in range(more.size):
        total += terms[1] * weight(more[k], terms[0], logits)
    return total


@njit
def sums_of(more: Array, less: Array, terms: Terms, logits: bool, width: int, edges: Array) -> Scalar:
    """Write running sums of ``left`` over chunks into ``edges`` [C]. Returns the sum over all."""
    total = 0.0
    for c in range(edges.size):
        k = c * width
        if terms[3] == 0:
            total += all_of(more[k : k + width], terms, logits)
        else:
            total += left_in_all(more[k : k + width], less[k : k + width], terms, logits)
        edges[c] = total
    return total


@kernel(ROWS_TYPE, ROWS_TYPE, SCALES_TYPE, "float64[:, ::1], boolean[:, :], float64[:, ::1], float64[:, :, ::1], int64")
def acceptance(
    target: Array, draft: Array, logits: bool, scales: Array, survival: Array, open_: Array, accept: Array,
    edges: Array, width: int,
) -> None:  # fmt: skip
    """Return h_i where it can decide (``BatchRows.longest_sub_block``), from the longest sub-block down to the first
    that is sure to be accepted; 0 elsewhere. Where S_i was summed, its running sums over chunks are left in ``edges``.
    """
    gamma = survival.shape[1]
    for b in range(survival.shape[0]):
        accept[b] = 0.0
        for i in range(gamma, 0, -1):
            p = survival[b, i - 1]
            if not open_[b, i - 1]:
                continue
            if i == gamma or p >= 1:
                accept[b, i - 1] = min(p, 1.0)
                break
            terms = terms_of(scales, b, i, p, 1.0)
            surplus = sums_of(target[b, i], draft[b, i], terms, logits, width, edges[b, i - 1])
            accept[b, i - 1] = surplus / (surplus + (1 - p))


@njit
def excess_of(
    target: Array, draft: Array, logits: bool, scales: Array, b: int, i: int, p: Scalar, chosen: Array, edges: Array,
    width: int,
) -> bool:  # fmt: skip
    """Write sums of ``BatchRows.excess`` at row i of block b over chunks into ``edges`` [C], terms into ``chosen`` [4].

    Row gamma is not normalised: nothing is taken from it, so its weights may have any scale.
    Returns whether the row allows a token.
    """
    gamma = draft.shape[1]
    j = min(i, gamma - 1)
    more, less = target[b, i], draft[b, j]
    top, scale, bottom, share = terms_of(scales, b, j, min(p, 1.0), 1 / max(p, 1.0))
    if i == gamma:
        top, scale, share = whole_shift(more) if logits else F32(0), F32(1), F32(0)
    total = sums_of(more, less, (top, scale, bottom, share), logits, width, edges)
    if not total > 0 and share > 0:
        share = F32(0)
        total = sums_of(more, less, (top, scale, bottom, share), logits, width, edges)
    chosen[0], chosen[1], chosen[2], chosen[3] = top, scale, bottom, share
    return total > 0


@kernel(ROWS_TYPE, ROWS_TYPE, SCALES_TYPE, "int64[::1], float64[:, ::1], float32[:, ::1], float64[:, ::1], int64")
def excess(
    target: Array, draft: Array, logits: bool, scales: Array, at: Array, survival: Array, chosen: Array, edges: Array,
    width: int,
) -> int:  # fmt: skip
    """Run ``excess_of`` at row ``at`` [B] of each block. Returns a block whose row allows no token, or -1."""
    for b in range(at.size):
        i = at[b]
        p = survival[b, i - 1] if i > 0 else 1.0
        if not excess_of(target, draft, logits, scales, b, i, p, chosen[b], edges[b], width):
            return b
    return -1


@kernel(
    ROWS_TYPE, ROWS_TYPE, SCALES_TYPE,
    "boolean[:, :], float64[:, ::1], float64[:, :, ::1], int64[::1], float32[:, ::1], float64[:, ::1], int64",
)  # fmt: skip
def behind_longest(
    target: Array, draft: Array, logits: bool, scales: Array, passed: Array, survival: Array, summed: Array,
    longest: Array, chosen: Array, edges: Array, width: int,
) -> int:  # fmt: skip
    """Run ``excess`` behind the longest sub-block that passed, whose length goes into ``longest`` [B].

    summed: the running sums that ``acceptance`` has left. It summed those of a sub-block that passed by a coin.
    """
    gamma = passed.shape[1]
    for b in range(longest.size):
        i = gamma
        while i > 0 and not passed[b, i - 1]:
            i -= 1
        longest[b] = i
        p = survival[b, i - 1] if i > 0 else 1.0
        if i < gamma and p < 1:
            chosen[b, 0], chosen[b, 1], chosen[b, 2], chosen[b, 3] = terms_of(scales, b, i, p, 1.0)
            edges[b] = summed[b, i - 1]
        elif not excess_of(target, draft, logits, scales, b, i, p, chosen[b], edges[b], width):
            return b
    return -1


@kernel(ROWS_TYPE, ROWS_TYPE, "boolean, int64[::1], int64[::1], float32[:, ::1], float64[:, ::1]")
def inside(target: Array, draft: Array, logits: bool, at: Array, chunk: Array, chosen: Array, edges: Array) -> None:
    """Write running sums of the same weights over one chunk of each block, into ``edges`` [B, W]."""
    width = edges.shape[1]
    for b in range(at.size):
        start = chunk[b] * width
        more = target[b, at[b], start : start + width]
        less = draft[b, min(at[b], draft.shape[1] - 1), start : start + width]
        terms, out, total = (chosen[b, 0], chosen[b, 1], chosen[b, 2], chosen[b, 3]), edges[b], 0.0
        for k in range(more.size):
            out[k] = left(more[k], less[k], terms, logits)
        out[more.size :] = 0
        for k in range(width):
            total += out[k]
            out[k] = total
