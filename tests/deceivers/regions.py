"""Wrong only in a region: of p, of q, of their ratio, of the surviving probability, of the residual, of ties."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import (
    answer,
    block_by_block,
    drawn_from,
    excess,
    ratio,
    share,
    survivals,
    token_by_token,
    with_parts,
)  # fmt: skip


def accepting(chance):
    """Token verification that accepts x with chance(p, q, x) for the rows p and q."""
    return with_parts(lambda rng, p, q, x: rng.random() < chance(p, q, x))


def shortcut(where, chance=1.0):
    """... that takes a short way, ``chance``, where the probabilities of x are in a region."""
    return accepting(lambda p, q, x: chance if where(p[x], q[x]) else ratio(p[x], q[x]))


all_but_certain = shortcut(lambda p, q: p > 1 - 1e-6)
draft_very_rare = shortcut(lambda p, q: q < 1e-6)
target_very_rare = shortcut(lambda p, q: 0 < p < 1e-7, 0.0)
ratio_very_close_to_one = shortcut(lambda p, q: 1 - 1e-5 < p / q < 1)
never_below_a_millionth = accepting(lambda p, q, x: max(ratio(p[x], q[x]), 1e-6) if p[x] > 0 else 0.0)
epsilon_in_the_ratio = accepting(lambda p, q, x: p[x] / (q[x] + 1e-9))
ratio_of_nine_digits = accepting(lambda p, q, x: round(ratio(p[x], q[x]), 9))
rows_taken_for_equal_closely = accepting(lambda p, q, x: 1.0 if np.allclose(p, q) else ratio(p[x], q[x]))
tie_accepted = accepting(lambda p, q, x: 1.0 if (p == p[x]).sum() > 1 else ratio(p[x], q[x]))


def replacing(weights):
    """Token verification that draws the replacement from weights(residual, p, q, x), not normalised."""
    return with_parts(recovers=drawn_from(lambda p, q, x: weights(excess(p, q), p, q, x)))


very_small_residual_is_the_target = replacing(lambda r, p, q, x: r if r.sum() > 1e-7 else p)
residual_cut_absolutely = replacing(lambda r, p, q, x: np.where(r < 1e-6, 0.0, r) if r.max() > 1e-6 else r)
residual_plus_epsilon = replacing(lambda r, p, q, x: r + 1e-10)
residual_in_half_precision = replacing(lambda r, p, q, x: np.maximum(p.astype(np.float16) - q.astype(np.float16), 0.0))


def surviving(change, h=share):
    """Block verification with the surviving probabilities changed, and h(surplus, rest) in place of Eq. (5)."""

    def verify(target, draft, tokens, rng):
        p = [1.0, *map(change, survivals(target, draft, tokens)[1:])]

        def accept(i):
            return h(excess(target[i], draft[i], p[i]).sum(), 1.0 - p[i])

        return block_by_block(target, draft, tokens, rng, p, accept=accept)

    return verify


survival_very_close_to_nothing = surviving(lambda p: 0.0 if p < 1e-5 else p)
survival_of_six_digits = surviving(lambda p: round(p, 6))
small_share_taken_for_zero = surviving(lambda p: p, lambda s, rest: share(s, rest) if share(s, rest) > 0.01 else 0.0)
epsilon_in_the_share = surviving(lambda p: p, lambda s, rest: s / (s + rest + 1e-8))


def bonus_greedy_when_peaked(target, draft, tokens, rng):
    """The bonus token is the most likely one where that has more than 99 percent."""
    ends = token_by_token(target, draft, tokens, rng)
    if len(ends) > len(tokens) and target[-1].max() > 0.99:
        return answer(tokens, target[-1].argmax())
    return ends
