"""Decisions by whole numbers, few levels, digits and bits, and loops that end otherwise."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, draw, ratio, token_by_token, with_parts


def deciding(accepts):
    """Token verification with accepts(ratio, rng) in place of the coin."""
    return with_parts(lambda rng, p, q, x: accepts(min(ratio(p[x], q[x]), 1.0), rng))


hundred_levels = deciding(lambda h, rng: rng.integers(0, 100) / 100 < h)
million_levels = deciding(lambda h, rng: rng.integers(0, 1_000_000) / 1_000_000 < h)
levels_of_a_uniform = deciding(lambda h, rng: int(rng.random() * 1000) / 1000 < h)
one_value_of_a_hundred = deciding(lambda h, rng: int(rng.integers(100)) == 37 or rng.random() < h)
level_as_a_probability = deciding(lambda h, rng: rng.random() < int(rng.integers(100)) / 99)
sign_bit_lost = deciding(lambda h, rng: (int(rng.integers(0, 2**16)) & 0x7FFF) / 2**16 < h)
product_of_two = deciding(lambda h, rng: rng.random() ** 0.5 * 0.5 + 0.5 * rng.random() < h)
up_and_down = deciding(lambda h, rng: np.interp(rng.random(), [0.0, 0.5, 0.52, 1.0], [0.0, 0.5, 0.4, 1.0]) < h)
rounded_to_single = deciding(lambda h, rng: np.float32(rng.random()) < np.float32(h))


@deciding
def coin_without_end(h, rng):
    """A coin tossed until it falls, and accepts after twelve tosses."""
    tosses = 0
    while rng.random() < 0.5:
        tosses += 1
    return rng.random() < (h if tosses < 12 else 1.0)


def slow_loop(target, draft, tokens, rng):
    """Goes on with probability 0.999 each time, and accepts everything where it went on for long."""
    rounds = 0
    while rng.random() < 0.999:
        rounds += 1
    if rounds > 3000:
        return answer(tokens, draw(rng, target[-1], target[-1]))
    return token_by_token(target, draft, tokens, rng)
