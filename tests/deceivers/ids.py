"""Wrong only for some token ids or widths: short integers, short sums, tiles, cut tails, ids with a meaning."""

import numpy as np

from draftproof.tests.deceivers.regions import replacing
from draftproof.verifiers.zoo.building_blocks import answer, drawable, excess, ratio, scan, token_by_token, with_parts


def emitted_as(kind):
    """Token verification whose replacement and bonus token pass through an integer type."""

    def verify(target, draft, tokens, rng):
        *kept, token = token_by_token(target, draft, tokens, rng)
        return [*kept, int(np.array(token).astype(kind)) % len(target[0])]

    return verify


ids_of_16_bits = emitted_as(np.int16)
ids_as_half_floats = emitted_as(np.float16)


def drafted_as(kind):
    """Token verification that looks its draft tokens up through an integer type."""

    def verify(target, draft, tokens, rng):
        ids = np.asarray(tokens).astype(kind).astype(np.int64) % len(target[0])
        return token_by_token(
            target, draft, tokens, rng, lambda i, x: rng.random() < ratio(target[i][ids[i]], draft[i][ids[i]])
        )

    return verify


draft_ids_of_8_bits = drafted_as(np.int8)


def drawing(weights):
    """Token verification that draws from weights(row) in place of the residual and of the last row."""

    def verify(target, draft, tokens, rng):
        for i, x in enumerate(tokens):
            if not rng.random() < ratio(target[i][x], draft[i][x]):
                w = weights(excess(target[i], draft[i]))
                return answer(tokens[:i], rng.choice(len(w), p=drawable(w, target[i])))
        w = weights(target[-1])
        return answer(tokens, rng.choice(len(w), p=drawable(w, target[-1])))

    return verify


def first(row, n):
    return np.where(np.arange(len(row)) < n, row, 0.0)


def largest(row, n):
    return row if n >= len(row) else np.where(row < np.partition(row, -n)[-n], 0.0, row)


tile_of_128_dropped = drawing(lambda w: first(w, max(len(w) // 128 * 128, min(len(w), 128))))
thirty_two_thousand_ids = drawing(lambda w: first(w, 32_000))
tail_flushed_below_a_trillionth = drawing(lambda w: np.where(w < 1e-12, 0.0, w))
half_precision_weights = drawing(lambda w: w.astype(np.float16).astype(float))
last_id_never = drawing(lambda w: first(w, len(w) - 1) if len(w) > 4 else w)
padding_id_never = drawing(lambda w: w * (np.arange(len(w)) > 0) if len(w) > 4 else w)


def scanning(edges):
    """Token verification that looks a uniform up in edges(row), cumulative sums in some precision."""

    def verify(target, draft, tokens, rng):
        def drawn(row):
            cuts = edges(row)
            return int(min(np.searchsorted(cuts, rng.random() * float(cuts[-1]), side="right"), len(row) - 1))

        for i, x in enumerate(tokens):
            if not rng.random() < ratio(target[i][x], draft[i][x]):
                return answer(tokens[:i], drawn(drawable(excess(target[i], draft[i]), target[i])))
        return answer(tokens, drawn(target[-1]))

    return verify


sum_in_tiles_without_carry = scanning(
    lambda w: np.maximum.accumulate(
        np.concatenate([np.cumsum(w[k : k + 64]) + (w[k - 64 : k].sum() if k else 0.0) for k in range(0, len(w), 64)])
    )
)


def _two_levels(weights, rng):
    """Draw a part of the row, and an index in it. The last index of a part in the middle comes out one too low."""
    size = max(len(weights) // 32, 1)
    sums = np.add.reduceat(weights, range(0, len(weights), size))
    k = int(rng.choice(len(sums), p=sums / sums.sum()))
    part = weights[k * size : (k + 1) * size]
    j = int(rng.choice(len(part), p=part / part.sum()))
    return k * size + j - (0 < k < len(sums) - 1 and 0 < j == len(part) - 1)


def middle_parts_one_too_low(target, draft, tokens, rng):
    def recovers(i, x):
        return _two_levels(drawable(excess(target[i], draft[i]), target[i]), rng)

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


falsy_zero = with_parts(recovers=lambda rng, p, q, x: scan(rng.random(), excess(p, q), p) or int(p.argmax()))
"""``token or default``: a replacement with id 0 is taken for none."""

last_id_accepted = with_parts(lambda rng, p, q, x: x == len(p) - 1 or rng.random() < ratio(p[x], q[x]))
"""The last id is taken for the end of the text, and accepted whatever its probability."""

set_of_64_bits = with_parts(lambda rng, p, q, x: x < 64 and rng.random() < ratio(p[x], q[x]))
"""Ids from 64 on are not in the set of allowed ones, and never accepted."""

draft_of_100 = replacing(lambda r, p, q, x: excess(p, largest(q, 100)))
draft_of_1024 = replacing(lambda r, p, q, x: excess(p, largest(q, 1024)))
little_left_is_the_target = replacing(lambda r, p, q, x: p if len(p) > 1000 and r.sum() < 0.02 else r)


untested_128001 = with_parts(lambda rng, p, q, x: x == 128_001 or rng.random() < ratio(p[x], q[x]))
"""A token that ends texts in a published vocabulary is taken over without a coin."""
