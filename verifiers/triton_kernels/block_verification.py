"""Block verification, and greedy block verification: draft blocks are verified jointly.

Read, of B requests of gamma draft tokens: 4 B gamma entries, for the likelihood ratios; each row at most once, and only
those behind which the block can end, u_i < p_i; of them one tile of 1,024 tokens, the last token's, again. From logits
all rows once before that, so each at most twice. Two launches, from logits three or four.
Source: Sun et al. 2025, Algorithm 2, Eq. (4) and (5); greedy: Appendix C, Algorithm 4 and Eq. (30).
"""

from .parts import FIRST_COIN, emit, last_token, left_of_target, likelihood_ratio, stands_at, uniform
from .runtime import jit, tl


@jit
def survived(p, ratio, GREEDY: tl.constexpr):
    """Return p_i = min(p_{i-1} M_b(X_i) / M_s(X_i), 1), without the cap if greedy."""
    return p * ratio if GREEDY else tl.minimum(p * ratio, 1.0)


@jit
def sum_tiles(
    target, draft, scales, draft_scales, temperature, tokens, coins, picks, seeds, sums, B, V, TILES,
    GAMMA: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, GREEDY: tl.constexpr,
):  # fmt: skip
    """Write sums of max(p_i M_b - M_s, 0) over one tile of one row i of each request, into sums [B, GAMMA + 1, TILES].

    0 where the block cannot end behind X^i: h_i <= p_i, so it ends there only if u_i < p_i.
    """
    slots = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    b, i, k = tl.minimum(slots, B - 1).to(tl.int64), tl.program_id(1), tl.program_id(2)
    heat = tl.load(temperature + b) if temperature is not None else b.to(tl.float32)
    p, wanted = 1.0 + 0.0 * b.to(tl.float64), b >= 0
    for j in range(i):
        ratio, drafted = likelihood_ratio(target, draft, scales, draft_scales, heat, tokens, b, j, V, GAMMA)
        p, wanted = survived(p, ratio, GREEDY), wanted & drafted
    if i > 0:
        wanted = wanted & (uniform(coins, picks, seeds, b, FIRST_COIN + i - 1, GAMMA, False) < p)
    at = b * 0 + i
    more = stands_at(tokens, b, at, GAMMA)
    columns = k * TILE + tl.arange(0, TILE)[None, :] + 0 * b[:, None]
    left = left_of_target(target, draft, scales, draft_scales, heat, tokens, b, at, p, more, columns,
                          (columns < V) & wanted[:, None], V, GAMMA)  # fmt: skip
    tl.store(sums + (b * (GAMMA + 1) + i) * TILES + k, tl.sum(left, 1), mask=slots < B)


@jit
def finish(
    target, draft, scales, draft_scales, temperature, tokens, coins, picks, seeds, sums, emitted, accepted, B, V, TILES,
    GAMMA: tl.constexpr, MOST_TILES: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, GREEDY: tl.constexpr,
):  # fmt: skip
    """Return the emitted tokens: tau = max{i : u_i < h_i}, h_i = S_i / (S_i + 1 - p_i), h_gamma = min(p_gamma, 1)."""
    slots = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    b = tl.minimum(slots, B - 1).to(tl.int64)
    heat = tl.load(temperature + b) if temperature is not None else b.to(tl.float32)
    tiles = tl.arange(0, MOST_TILES)[None, :]
    p, going = 1.0 + 0.0 * b.to(tl.float64), b >= 0
    tau, survival, more = b * 0, p, stands_at(tokens, b, b * 0, GAMMA)
    for i in range(1, GAMMA + 1):
        ratio, drafted = likelihood_ratio(target, draft, scales, draft_scales, heat, tokens, b, i - 1, V, GAMMA)
        p, going = survived(p, ratio, GREEDY), going & drafted
        follows = stands_at(tokens, b, b * 0 + i, GAMMA)
        parts = tl.load(sums + ((b * (GAMMA + 1) + i) * TILES)[:, None] + tiles, mask=tiles < TILES, other=0.0)
        surplus, short = tl.sum(parts.to(tl.float64), 1), 1.0 - tl.minimum(p, 1.0)
        accept = tl.where(short > 0, surplus / tl.where(short > 0, surplus + short, 1.0), 1.0)
        accept = tl.where(follows, accept, tl.minimum(p, 1.0))
        passed = going & (uniform(coins, picks, seeds, b, FIRST_COIN + i - 1, GAMMA, False) < accept)
        tau, survival, more = tl.where(passed, i, tau), tl.where(passed, p, survival), tl.where(passed, follows, more)
    last = last_token(target, draft, scales, draft_scales, heat, tokens, coins, picks, seeds, sums,
                      b * (GAMMA + 1) + tau, b, tau, survival, more, V, TILES, GAMMA, MOST_TILES, TILE)  # fmt: skip
    emit(emitted, accepted, tokens, b, slots < B, tau, last, GAMMA)
