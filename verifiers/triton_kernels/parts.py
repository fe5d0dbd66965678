"""What the kernels share: probabilities of a tile of tokens, likelihood ratios, the draw of the last token.

A program works on ROWS requests ``b`` at once, [ROWS]; GAMMA, V: draft tokens a request, vocabulary; a tile is TILE
tokens. Sums over a tile are float32, in the order of its reduction; sums of tiles float64, from the first to the last:
neither depends on the batch or on a request's slot in it.
"""

from ..batched import keyed_uniforms
from .runtime import jit, tl

TILE_PLACE, TOKEN_PLACE, FIRST_COIN = tl.constexpr(0), tl.constexpr(1), tl.constexpr(keyed_uniforms.FIRST_COIN)
PURPOSE = tl.constexpr(keyed_uniforms.PURPOSE)


@jit
def keyed_uniform(seed, call, place):
    """Return the uniform on k / 2^53 of [0, 1) of a key, [ROWS] float64."""
    low, high = (call & 0xFFFFFFFF).to(tl.uint32), ((call >> 32) & 0xFFFFFFFF).to(tl.uint32)
    zero = low * 0
    first, second, _, _ = tl.philox(seed, zero + place, low, high, zero + PURPOSE)
    bits = (first.to(tl.int64) << 21) | (second.to(tl.int64) >> 11)
    return bits.to(tl.float64) * 1.1102230246251565e-16  # 2^-53


@jit
def uniform(coins, picks, seeds, b, place, GAMMA: tl.constexpr, DRAW: tl.constexpr):
    """Return the random number of a place for requests ``b``, [ROWS] float64.

    coins [B, GAMMA], picks [B, 2] float64: given; or None, and seeds [B, 2] int64: seed and call of each request.
    DRAW: whether the place is one of the last token's.
    """
    if seeds is not None:
        number = keyed_uniform(tl.load(seeds + 2 * b), tl.load(seeds + 2 * b + 1), place)
    elif DRAW:
        number = tl.load(picks + 2 * b + place)
    else:
        number = tl.load(coins + GAMMA * b + (place - FIRST_COIN))
    return number


@jit
def exponential(gap, heat):
    """Return exp(gap / heat); at temperature 0 its limit, 1 for the largest logit and 0 for all others."""
    return tl.where(heat > 0, tl.exp(gap / tl.where(heat > 0, heat, 1.0)), (gap == 0).to(tl.float32))


@jit
def normalise(rows, scales, temperature, B, V, COUNT: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr):
    """Write each row's largest logit and its sum of exp((x - largest) / T) into scales [B, COUNT, 2], in one pass."""
    slots = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    b = tl.minimum(slots, B - 1).to(tl.int64)
    at, heat = b * COUNT + tl.program_id(1), tl.load(temperature + b)[:, None]
    top, mass = tl.full([ROWS], -float("inf"), tl.float32), tl.zeros([ROWS], tl.float64)
    for start in range(0, V, TILE):
        columns = start + tl.arange(0, TILE)[None, :]
        x = tl.load(rows + at[:, None] * V + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x, 1))
        shift = tl.where(higher > -float("inf"), higher, 0.0)[:, None]
        earlier = exponential(top[:, None] - shift, heat).to(tl.float64)
        mass = mass * tl.sum(earlier, 1) + tl.sum(exponential(x - shift, heat), 1).to(tl.float64)
        top = higher
    tl.store(scales + 2 * at, tl.where(top > -float("inf"), top, 0.0), mask=slots < B)
    tl.store(scales + 2 * at + 1, tl.where(mass > 0, mass, 1.0).to(tl.float32), mask=slots < B)


@jit
def probability(rows, scales, heat, at, columns, inside, V):
    """Return probabilities of ``columns`` in rows ``at``, 0 if not ``inside``. scales: of ``normalise``, or None."""
    if scales is None:
        p = tl.load(rows + at * V + columns, mask=inside, other=0.0).to(tl.float32)
    else:
        x = tl.load(rows + at * V + columns, mask=inside, other=-float("inf")).to(tl.float32)
        p = exponential(x - tl.load(scales + 2 * at), heat) / tl.load(scales + 2 * at + 1)
    return p


@jit
def stands_at(tokens, b, at, GAMMA: tl.constexpr):
    """Return whether a draft token stands at row ``at``, [ROWS]: not behind the block, and no placeholder."""
    return (at < GAMMA) & (tl.load(tokens + b * GAMMA + tl.minimum(at, GAMMA - 1)) >= 0)


@jit
def likelihood_ratio(target, draft, scales, draft_scales, heat, tokens, b, i, V, GAMMA: tl.constexpr):
    """Return M_b(X) / M_s(X) of draft token i, [ROWS] float64, and whether there is one: a placeholder is none.

    Where the draft excludes X: 0 if the target does too, else 1. draft None: one-hot, M_s(X) = 1.
    """
    token = tl.load(tokens + b * GAMMA + i)
    drafted = (token >= 0) & (token < V)
    p = probability(target, scales, heat, b * (GAMMA + 1) + i, token, drafted, V).to(tl.float64)
    if draft is not None:
        q = probability(draft, draft_scales, heat, b * GAMMA + i, token, drafted, V).to(tl.float64)
        p = tl.where(q > 0, p / tl.where(q > 0, q, 1.0), (p > 0).to(tl.float64))
    return p, drafted


@jit
def left_of_target(
    target, draft, scales, draft_scales, heat, tokens, b, at, survival, drafted, columns, inside, V, GAMMA: tl.constexpr
):
    """Return max(p M_b - M_s, 0) at row ``at``, [ROWS, TILE] float32, over max(p, 1); M_b where no token was drafted
    there.

    survival: p, [ROWS] float64. columns, inside: [ROWS, TILE]; nothing is read where not inside.
    """
    hot = heat[:, None]
    more = probability(target, scales, hot, (b * (GAMMA + 1) + at)[:, None], columns, inside, V)
    place = tl.minimum(at, GAMMA - 1)
    both = inside & drafted[:, None]
    if draft is None:
        token = tl.load(tokens + b * GAMMA + place)
        less = ((columns == token[:, None]) & both).to(tl.float32)
    else:
        less = probability(draft, draft_scales, hot, (b * GAMMA + place)[:, None], columns, both, V)
    share = tl.where(drafted, tl.minimum(survival, 1.0), 1.0).to(tl.float32)[:, None]
    other = (1.0 / tl.maximum(survival, 1.0)).to(tl.float32)[:, None]
    return tl.maximum(more * share - less * other, 0.0)


@jit
def pick(weights, point):
    """Return the first index of positive weight whose running sum is above point * sum, [ROWS]; N if all are 0."""
    count: tl.constexpr = weights.shape[1]
    edges = tl.where(weights > 0, tl.cumsum(weights, 1), 0.0)
    above = (weights > 0) & (edges > (point * tl.max(edges, 1))[:, None])
    return tl.min(tl.where(above, tl.arange(0, count)[None, :], count), 1)


@jit
def last_token(
    target, draft, scales, draft_scales, heat, tokens, coins, picks, seeds, sums, at_sums, b, at, survival, drafted, V,
    TILES, GAMMA: tl.constexpr, MOST_TILES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Return the token Y behind X^at, [ROWS]: a tile by its sum, then a token in it. -1 if the target's row allows
    none.

    sums: of each tile of ``left_of_target``, [.., TILES], at row ``at_sums``. Where rounding leaves nothing, M_b, the
    limit of equal rows.
    """
    tiles, inner = tl.arange(0, MOST_TILES)[None, :], tl.arange(0, TILE)[None, :]
    parts = tl.load(sums + at_sums[:, None] * TILES + tiles, mask=tiles < TILES, other=0.0).to(tl.float64)
    empty = tl.max(parts, 1) <= 0  # pyright: ignore[reportOperatorIssue]
    drafted = drafted & ~empty
    if tl.max(empty.to(tl.int32), 0) > 0:  # pyright: ignore[reportOperatorIssue]
        for k in range(TILES):
            columns = k * TILE + inner + 0 * b[:, None]
            inside = (columns < V) & empty[:, None]
            whole = left_of_target(target, draft, scales, draft_scales, heat, tokens, b, at, survival, drafted,
                                   columns, inside, V, GAMMA)  # fmt: skip
            parts = tl.where(empty[:, None] & (tiles == k), tl.sum(whole, 1).to(tl.float64)[:, None], parts)
    tile = pick(parts, uniform(coins, picks, seeds, b, TILE_PLACE, GAMMA, True))
    columns = tile[:, None] * TILE + inner
    left = left_of_target(target, draft, scales, draft_scales, heat, tokens, b, at, survival, drafted, columns,
                          columns < V, V, GAMMA).to(tl.float64)  # fmt: skip
    token = tile * TILE + pick(left, uniform(coins, picks, seeds, b, TOKEN_PLACE, GAMMA, True))
    return tl.where(token < V, token, -1)


@jit
def emit(emitted, accepted, tokens, b, live, tau, last, GAMMA: tl.constexpr):
    """Write X^tau, Y, then -1, into emitted [B, GAMMA + 1]; tau into accepted [B]."""
    for i in range(GAMMA + 1):
        drafted = tl.load(tokens + b * GAMMA + i, mask=i < tau, other=-1)
        tl.store(emitted + b * (GAMMA + 1) + i, tl.where(i == tau, last.to(tl.int64), drafted), mask=live)
    tl.store(accepted + b, tau.to(tl.int64), mask=live)
