"""Residuals drawn by rejection, without a bound, by loops that are slightly wrong or end otherwise."""

import itertools

from draftproof.verifiers.zoo.building_blocks import draw, excess, with_parts


def rejecting(survives, rounds=itertools.count):
    """Token verification whose residual is drawn from the target until survives(n, y, rest, row, u) in round n."""

    def recovers(rng, p, q, x):
        rest, y = excess(p, q), 0
        for n in rounds():
            y = draw(rng, p, p)
            if survives(n, y, rest, p, rng.random()):
                break
        return y

    return with_parts(recovers=recovers)


def _right(n, y, rest, row, u):
    return u * row[y] < rest[y]


slightly_less_of_token_2 = rejecting(lambda n, y, rest, row, u: u * row[y] < rest[y] * (1 - 1e-6 * (y == 2)))
ratio_squared = rejecting(lambda n, y, rest, row, u: u < (rest[y] / row[y]) ** 2)
any_after_thirty = rejecting(lambda n, y, rest, row, u: u * row[y] < rest[y] or n > 30)
seven_tries = rejecting(_right, lambda: range(7))


def _not_twice(rng, p, q, x):
    rest, last = excess(p, q), -1
    while True:
        y = draw(rng, p, p)
        if y != last and rng.random() * p[y] < rest[y]:
            return y
        last = y


not_twice_the_same = with_parts(recovers=_not_twice)
"""Rejects what it has rejected in the round before: rounds have different laws."""
