"""Decisions by whole numbers, few levels, digits and bits, and loops that end too early."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, draw, excess, ratio, token_by_token


def deciding(accepts):
    """Token verification with accepts(ratio, rng) in place of the coin."""

    def verify(target, draft, tokens, rng):
        return token_by_token(
            target, draft, tokens, rng, lambda i, x: accepts(min(ratio(target[i][x], draft[i][x]), 1.0), rng)
        )

    return verify


hundred_levels = deciding(lambda h, rng: rng.integers(0, 100) / 100 < h)
hundred_and_one_levels = deciding(lambda h, rng: rng.integers(0, 101) / 100 <= h)
million_levels = deciding(lambda h, rng: rng.integers(0, 1_000_000) / 1_000_000 < h)
levels_of_32_bits = deciding(lambda h, rng: int(rng.integers(0, 2**32)) < int(h * 2**32))
sign_bit_lost = deciding(lambda h, rng: (int(rng.integers(0, 2**16)) & 0x7FFF) / 2**16 < h)
remainder = deciding(lambda h, rng: int(rng.integers(0, 256)) % 100 < h * 100)
exclusive_or = deciding(lambda h, rng: (int(rng.integers(0, 256)) ^ 0x55) / 255 < h)
table_of_levels = deciding(lambda h, rng: LEVELS[rng.integers(0, 256)] < h)
LEVELS = np.sort(np.random.default_rng(3).random(256))
digits = deciding(lambda h, rng: sum(int(rng.integers(0, 10)) * 10.0**-k for k in (1, 2)) < h)
product_of_two = deciding(lambda h, rng: rng.random() ** 0.5 * 0.5 + 0.5 * rng.random() < h)
interpolated = deciding(lambda h, rng: np.interp(rng.random(), [0.0, 0.5, 0.9, 1.0], [0.0, 0.5, 0.8, 1.0]) < h)
up_and_down = deciding(lambda h, rng: np.interp(rng.random(), [0.0, 0.5, 0.52, 1.0], [0.0, 0.5, 0.4, 1.0]) < h)
fraction_of_a_multiple = deciding(lambda h, rng: np.modf(rng.random() * 1.01)[0] < h)
rounded_to_single = deciding(lambda h, rng: np.float32(rng.random()) < np.float32(h))


def tries(most, otherwise):
    """Draws the replacement from the target until the coin of the residual accepts it, ``most`` times."""

    def verify(target, draft, tokens, rng):
        def recovers(i, x):
            rest = excess(target[i], draft[i])
            for _ in range(most):
                y = draw(rng, target[i], target[i])
                if rng.random() * target[i][y] < rest[y]:
                    return y
            return otherwise(target[i], x)

        return token_by_token(target, draft, tokens, rng, recovers=recovers)

    return verify


ten_tries = tries(10, lambda p, x: x)
forty_tries = tries(40, lambda p, x: p.argmax())


def coin_without_end(target, draft, tokens, rng):
    """A coin tossed until it falls, with a bias of one in a thousand after the thirtieth toss."""

    def accepts(i, x):
        h, tosses = min(ratio(target[i][x], draft[i][x]), 1.0), 0
        while rng.random() < 0.5:
            tosses += 1
        return rng.random() < (h if tosses < 12 else 1.0)

    return token_by_token(target, draft, tokens, rng, accepts)


def slow_loop(target, draft, tokens, rng):
    """Goes on with probability 0.999 each time, and accepts everything where it went on for long."""
    rounds = 0
    while rng.random() < 0.999:
        rounds += 1
    if rounds > 3000:
        return answer(tokens, draw(rng, target[-1], target[-1]))
    return token_by_token(target, draft, tokens, rng)
