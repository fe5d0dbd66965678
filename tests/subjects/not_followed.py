"""Verifiers in styles that have no law on wide rows, right ones and wrong ones, and what is said of each."""

import math
import random
from fractions import Fraction

import numpy as np

from draftproof.tests.subjects.wide import verifying


def _verifying(pick):
    """Make a verifier of pick(weights, rng), whose weights sum to 1."""
    return verifying(lambda weights, rng: pick(weights / weights.sum(), rng))


def _scan(weights, u, skips=None):
    total = 0.0
    for token, weight in enumerate(weights):
        total += weight
        if u < total and token != skips:
            return token
    return len(weights) - 1


scan_of_sums = _verifying(lambda weights, rng: _scan(weights.tolist(), rng.random()))
scan_up_to_999 = _verifying(lambda weights, rng: _scan(weights.tolist(), 0.999 * rng.random()))
scan_that_skips = _verifying(lambda weights, rng: _scan(weights.tolist(), rng.random(), 40))


def _winner(weights, score):
    """Return the winner of a race that is run one score after the other."""
    best, winner = -math.inf, 0
    for token, p in enumerate(weights.tolist()):
        if p > 0 and (own := score(p)) > best:
            best, winner = own, token
    return winner


def _gumbel(p, rng):
    return math.log(p) - math.log(-math.log(rng.random()))


race_loop = _verifying(lambda weights, rng: _winner(weights, lambda p: _gumbel(p, rng)))
race_of_powers = _verifying(lambda weights, rng: _winner(weights, lambda p: _gumbel(p**1.01, rng)))


def _in_two_levels(within):
    """Draw one of twenty chunks by its weight, and a token in it by within(weights, rng)."""

    @_verifying
    def verify(weights, rng):
        size = -(-len(weights) // 20)
        chunks = np.array([weights[k : k + size].sum() for k in range(0, len(weights), size)])
        start = size * int(rng.choice(len(chunks), p=chunks / chunks.sum()))
        inside = weights[start : start + size]
        return start + int(within(inside / inside.sum(), rng))

    return verify


two_levels = _in_two_levels(lambda inside, rng: rng.choice(len(inside), p=inside))
two_levels_evenly_inside = _in_two_levels(lambda inside, rng: rng.choice(np.flatnonzero(inside)))


def two_levels_that_drop_a_draft(target, draft, tokens, rng):
    """Return the draft's last token alone in place of a block that ends with one of three rare ids."""
    emitted = two_levels(target, draft, tokens, rng)
    return emitted[:-1] if len(emitted) > len(tokens) and emitted[-1] in (4011, 4012, 4013) else emitted


@_verifying
def pairs_and_a_number_that_decides_nothing(weights, rng):
    """Draw a pair of tokens by its weight, and one of the two; behind id 6 one more number, which is right."""
    sums = np.add.reduceat(weights, range(0, len(weights), 2))
    start = 2 * int(rng.choice(len(sums), p=sums / sums.sum()))
    inside = weights[start : start + 2]
    token = start + int(rng.choice(len(inside), p=inside / inside.sum()))
    if token == 6 and rng.random() < 0.5:
        return token
    return token


def _sorting(mistaken=lambda token: token):
    @_verifying
    def verify(weights, rng):
        order = np.argsort(-weights, kind="stable")
        edges = np.cumsum(weights[order])
        return mistaken(int(order[min(np.searchsorted(edges, rng.random(), "right"), np.count_nonzero(weights) - 1)]))

    return verify


sorted_row = _sorting()
sorted_row_but_one_id = _sorting(lambda token: 7 if token == 1 else token)


def lenient_fractions(target_probs, draft_probs, draft_tokens):
    p, q = ([[Fraction(float(x)) for x in row] for row in rows] for rows in (target_probs, draft_probs))
    for i, x in enumerate(draft_tokens):
        if not Fraction(random.random()) * q[i][x] < p[i][x] * Fraction(1001, 1000):
            rest = [max(a - b, Fraction(0)) for a, b in zip(p[i], q[i])]
            return [*draft_tokens[:i], _scan(rest, Fraction(random.random()) * sum(rest))]
    return [*draft_tokens, _scan(p[-1], Fraction(random.random()) * sum(p[-1]))]


def _levels(rounded):
    """A coin of 256 levels as a plain float, right where ratios are whole 256ths."""

    def verify(target, draft, tokens, rng):
        uniform = lambda: float(rounded(rng.random() * 256) / 256)  # noqa: E731
        return [0 if uniform() < target[0][0] else 1]

    return verify


levels_as_floats = _levels(np.floor)
levels_off_by_one = _levels(np.ceil)


HOLDS, REFUTED, NO_LAW = "holds", "refuted", "no-evidence"

SAID = {
    "scan_of_sums": (HOLDS, NO_LAW), "scan_up_to_999": (REFUTED, NO_LAW), "scan_that_skips": (HOLDS, NO_LAW),
    "race_loop": (NO_LAW, NO_LAW), "race_of_powers": (NO_LAW, NO_LAW),
    "two_levels": (HOLDS, HOLDS), "two_levels_evenly_inside": (HOLDS, REFUTED),
    "sorted_row": (HOLDS, NO_LAW), "sorted_row_but_one_id": (REFUTED, NO_LAW),
    "lenient_fractions": (NO_LAW, NO_LAW),
    "levels_as_floats": (NO_LAW, NO_LAW), "levels_off_by_one": (NO_LAW, NO_LAW),
}  # fmt: skip
"""Verifier -> what its law says of a small problem, and of a wide one."""
