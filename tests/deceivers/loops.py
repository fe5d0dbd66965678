"""Residuals drawn by rejection, without a bound, by loops that are slightly wrong or end otherwise."""

import itertools

from draftproof.verifiers.zoo.building_blocks import draw, excess, token_by_token


def rejecting(survives, rounds=itertools.count):
    """Token verification whose residual is drawn from the target until survives(n, y, rest, row, u) in round n."""

    def verify(target, draft, tokens, rng):
        def recovers(i, x):
            rest, y = excess(target[i], draft[i]), 0
            for n in rounds():
                y = draw(rng, target[i], target[i])
                if survives(n, y, rest, target[i], rng.random()):
                    break
            return y

        return token_by_token(target, draft, tokens, rng, recovers=recovers)

    return verify


def _right(n, y, rest, row, u):
    return u * row[y] < rest[y]


slightly_less_of_token_2 = rejecting(lambda n, y, rest, row, u: u * row[y] < rest[y] * (1 - 1e-6 * (y == 2)))
ratio_squared = rejecting(lambda n, y, rest, row, u: u < (rest[y] / row[y]) ** 2)
any_after_twelve = rejecting(lambda n, y, rest, row, u: u * row[y] < rest[y] or n > 12)
any_in_the_fifth = rejecting(lambda n, y, rest, row, u: u * row[y] < rest[y] or n == 5)
any_after_thirty = rejecting(lambda n, y, rest, row, u: u * row[y] < rest[y] or n > 30)
twenty_tries = rejecting(_right, lambda: range(20))
seven_tries = rejecting(_right, lambda: range(7))


def not_twice_the_same(target, draft, tokens, rng):
    """Rejects what it has rejected in the round before: rounds are not alike."""

    def recovers(i, x):
        rest, last = excess(target[i], draft[i]), -1
        while True:
            y = draw(rng, target[i], target[i])
            if y != last and rng.random() * target[i][y] < rest[y]:
                return y
            last = y

    return token_by_token(target, draft, tokens, rng, recovers=recovers)
