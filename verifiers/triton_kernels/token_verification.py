"""Token verification: each draft token is accepted or rejected on its own.

Read, of B requests of gamma draft tokens: 2 B gamma entries, for the likelihood ratios; the two rows at tau once; of
them one tile of 1,024 tokens, the last token's, again. From logits all rows once before that. Two launches, from logits
three or four.
Source: Leviathan et al. 2023, Algorithm 1; Sun et al. 2025, Algorithm 1 and Eq. (3).
"""

from .parts import FIRST_COIN, emit, last_token, left_of_target, likelihood_ratio, uniform
from .runtime import jit, tl


@jit
def accepted_tokens(target, draft, scales, draft_scales, heat, tokens, coins, picks, seeds, b, V, GAMMA: tl.constexpr):
    """Return tau, the tokens with u < M_b(X) / M_s(X) before the first rejected one, and if there is one, [ROWS]."""
    tau, going, rejected = b * 0, b >= 0, b < 0
    for i in range(GAMMA):
        ratio, drafted = likelihood_ratio(target, draft, scales, draft_scales, heat, tokens, b, i, V, GAMMA)
        passed = uniform(coins, picks, seeds, b, FIRST_COIN + i, GAMMA, False) < ratio
        rejected = rejected | (going & drafted & ~passed)
        going = going & drafted & passed
        tau += going.to(tl.int64)
    return tau, rejected


@jit
def sum_tiles(
    target, draft, scales, draft_scales, temperature, tokens, coins, picks, seeds, sums, B, V, TILES,
    GAMMA: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Write sums of max(M_b - M_s, 0) over one tile of row tau of each request, into sums [B, TILES]."""
    slots = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    b, k = tl.minimum(slots, B - 1).to(tl.int64), tl.program_id(1)
    heat = tl.load(temperature + b) if temperature is not None else b.to(tl.float32)
    tau, rejected = accepted_tokens(target, draft, scales, draft_scales, heat, tokens, coins, picks, seeds, b, V, GAMMA)
    columns = k * TILE + tl.arange(0, TILE)[None, :] + 0 * b[:, None]
    left = left_of_target(target, draft, scales, draft_scales, heat, tokens, b, tau, 1.0 + 0.0 * b, rejected, columns,
                          columns < V, V, GAMMA)  # fmt: skip
    tl.store(sums + b * TILES + k, tl.sum(left, 1), mask=slots < B)


@jit
def finish(
    target, draft, scales, draft_scales, temperature, tokens, coins, picks, seeds, sums, emitted, accepted, B, V, TILES,
    GAMMA: tl.constexpr, MOST_TILES: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Return the emitted tokens of each request."""
    slots = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    b = tl.minimum(slots, B - 1).to(tl.int64)
    heat = tl.load(temperature + b) if temperature is not None else b.to(tl.float32)
    tau, rejected = accepted_tokens(target, draft, scales, draft_scales, heat, tokens, coins, picks, seeds, b, V, GAMMA)
    last = last_token(target, draft, scales, draft_scales, heat, tokens, coins, picks, seeds, sums, b, b, tau,
                      1.0 + 0.0 * b, rejected, V, TILES, GAMMA, MOST_TILES, TILE)  # fmt: skip
    emit(emitted, accepted, tokens, b, slots < B, tau, last, GAMMA)
