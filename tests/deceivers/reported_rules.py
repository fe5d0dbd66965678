"""Verifiers with faults that users reported, wrong and right next to each other; ``reported.py`` has the threads."""

import numpy as np

from draftproof.verifiers.zoo.batched_rows import Batched
from draftproof.verifiers.zoo.building_blocks import (
    answer,
    draw,
    drawn_from,
    excess,
    normalised,
    scan,
    token_by_token,
    with_parts,
    with_rows,
)
from draftproof.verifiers.zoo.tree_building_blocks import misread

token = with_parts()


def sampled(rng, target, i):
    return draw(rng, target[i], target[i])


def kept_if_equal(expected=sampled, passing=0):
    """Keep a drafted token if it is the expected one, else emit that; so many others pass in a block."""

    def verify(target, draft, tokens, rng):
        left = passing
        for i, x in enumerate(tokens):
            y = expected(rng, target, i)
            if y != x and not left:
                return answer(tokens[:i], y)
            left -= y != x
        return answer(tokens, sampled(rng, target, -1))

    return verify


equal_to_a_sample = kept_if_equal()
one_mismatch_passes = kept_if_equal(passing=1)
likeliest_of_the_first_row = kept_if_equal(lambda rng, target, i: np.argsort(-target[0], kind="stable")[i])
likeliest_of_its_row = kept_if_equal(lambda rng, target, i: target[i].argmax())


def candidates(row):
    """The fewest likeliest tokens with three quarters of the mass."""
    order = np.argsort(-row, kind="stable")
    kept = np.zeros(len(row), bool)
    kept[order[: 1 + np.searchsorted(np.cumsum(row[order]), 0.75)]] = True
    return kept


kept_if_a_candidate = with_parts(
    lambda rng, p, q, x: candidates(p)[x], drawn_from(lambda p, q, x: np.where(candidates(p), p, 0.0))
)
kept_if_as_likely = with_parts(lambda rng, p, q, x: p[x] >= q[x])


def by_lookup(number):
    """Look each token up in the target's row by number(rng, u), u drawn once a step."""

    def verify(target, draft, tokens, rng):
        u = rng.random()
        return kept_if_equal(lambda rng, target, i: scan(number(rng, u), target[i], target[i]))(
            target, draft, tokens, rng
        )

    return verify


one_seed_a_step = by_lookup(lambda rng, u: u)
one_seed_a_token = by_lookup(lambda rng, u: rng.random())


def of_the_likeliest(k):
    """Take the target's k likeliest tokens for the row."""
    return with_rows(lambda rows, _: normalised(np.where(rows >= np.sort(rows)[:, -k:][:, :1], rows, 0.0)))


the_40_likeliest = of_the_likeliest(40)


def replaced_by(row):
    """Replace token i from the residual of another row."""

    def verify(target, draft, tokens, rng):
        def recovers(i, x):
            return draw(rng, excess(target[row(i)], draft[row(i)]), target[row(i)])

        return token_by_token(target, draft, tokens, rng, recovers=recovers)

    return verify


replaced_by_the_first_row = replaced_by(lambda i: 0)
replaced_by_its_row = replaced_by(lambda i: i)


def ruled_out(weights):
    """Cut the draft at a token that the grammar, a zero of the target's row, rules out; weights(p, q) replace it."""

    def verify(target, draft, tokens, rng):
        n = next((i for i, x in enumerate(tokens) if target[i][x] == 0), len(tokens))
        last = weights(target[n], draft[n]) if n < len(tokens) else target[n]
        return token_by_token([*target[:n], last], draft, tokens[:n], rng)

    return verify


ruled_out_and_drawn_anew = ruled_out(lambda p, q: p)
ruled_out_and_replaced = ruled_out(excess)


def ring(size):
    """Keep the rows of a block in a ring."""
    return with_rows(*[lambda rows, _: rows[np.arange(len(rows)) % size]] * 2)


ring_of_four, ring_of_sixteen = ring(4), ring(16)


def of_a_shard(choose):
    """Draw the replacement from one of two halves of the residual."""

    def recovers(rng, p, q, x):
        halves = np.array_split(excess(p, q), 2)
        k = choose(rng, [half.sum() for half in halves])
        return k * len(halves[0]) + draw(rng, halves[k], halves[k])

    return with_parts(recovers=recovers)


the_larger_shard = of_a_shard(lambda rng, sums: int(sums[1] > sums[0]))
a_shard_by_its_mass = of_a_shard(lambda rng, sums: draw(rng, np.array(sums), np.ones(2)))


def shortened(width):
    """Verify the first width(draft, tokens) tokens."""

    def verify(target, draft, tokens, rng):
        n = width(draft, tokens)
        return token_by_token(target[: n + 1], draft[:n], tokens[:n], rng)

    return verify


def until(unlikely):
    """How many tokens come before the first whose row and token are unlikely."""
    return lambda draft, tokens: next((i for i, x in enumerate(tokens) if unlikely(draft[i], x)), len(tokens))


def fastest(cost):
    """The width with the most tokens expected for its time, by the draft's confidence at all places."""

    def width(draft, tokens):
        kept = np.cumsum([1.0, *np.cumprod(draft.max(axis=1))])
        return int(np.argmax(kept / [1 + cost(n) for n in range(len(kept))]))

    return width


dropped_if_unlikely_itself = shortened(until(lambda row, x: row[x] < 0.4))
dropped_if_its_row_is_unsure = shortened(until(lambda row, x: row.max() < 0.5))
width_for_costs_in_steps = shortened(fastest(lambda n: 0.65 * -(-n // 2)))
width_for_even_costs = shortened(fastest(lambda n: 0.3 * n))
"""Right: once a token more does not pay, none does."""


def hung_on_neighbours(target, draft, tokens, parents):
    """Hang the nodes of the second depth on the neighbour of their parent."""
    return target, draft, tokens, np.where(parents > 0, parents - 1, parents)


node_on_its_neighbour = misread(hung_on_neighbours)
node_on_its_parent = misread(lambda *tree: tree)


@Batched
def seed_by_tokens_before(rows, k):
    """Find a request's seed by an index that counts tokens."""
    at = min(sum(len(row.tokens) for row in rows[:k]), len(rows) - 1)
    return rows[k]._replace(seed=rows[k].seed and rows[at].seed)


def in_a_batch(row_of):
    """Verify a batch; request b is tested by the target's rows of request row_of(b)."""

    def verify(target_probs, draft_probs, draft_tokens, rng):
        emitted = -np.ones((len(draft_tokens), draft_tokens.shape[1] + 1), dtype=int)
        for b, tokens in enumerate(draft_tokens):
            row = token(target_probs[row_of(b)], draft_probs[b], list(tokens), rng)
            emitted[b, : len(row)] = row
        return emitted

    return verify


two_slots_alone = in_a_batch(lambda b: min(b, 1))
every_slot = in_a_batch(lambda b: b)
