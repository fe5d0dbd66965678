"""Random numbers of the kernels: given as inputs, or made inside them by Philox (keys: ``batched.keyed_uniforms``)."""

from ..batched import keyed_uniforms
from .runtime import jit, tl

TILE_PLACE, TOKEN_PLACE, FIRST_COIN = tl.constexpr(0), tl.constexpr(1), tl.constexpr(keyed_uniforms.FIRST_COIN)
PURPOSE = tl.constexpr(keyed_uniforms.PURPOSE)


@jit
def keyed_uniform(seed, call, place):
    """The uniform on k / 2^53 of [0, 1) of a key, [ROWS] float64."""
    low, high = (call & 0xFFFFFFFF).to(tl.uint32), ((call >> 32) & 0xFFFFFFFF).to(tl.uint32)
    zero = low * 0
    first, second, _, _ = tl.philox(seed, zero + place, low, high, zero + PURPOSE)
    bits = (first.to(tl.int64) << 21) | (second.to(tl.int64) >> 11)
    return bits.to(tl.float64) * 1.1102230246251565e-16  # 2^-53


@jit
def uniform(coins, picks, seeds, b, place, GAMMA: tl.constexpr, DRAW: tl.constexpr):
    """The random number of a place for requests ``b``, [ROWS] float64.

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
