"""Wrong verifiers whose bug acts only where the two models have rows of a certain kind; right everywhere else."""

import numpy as np


def token_by_token(target, draft, tokens, rng, keeps=None, rest_of=None):
    """Token verification. keeps(p, q): True or False without a coin, or None; rest_of(target, draft): the residual."""
    for i, x in enumerate(tokens):
        decided = keeps(target[i], draft[i], x) if keeps else None
        if decided is None:
            decided = rng.random() * draft[i][x] < target[i][x]
        if not decided:
            rest = rest_of(target[i], draft[i]) if rest_of else np.maximum(target[i] - draft[i], 0)
            rest = rest if rest.sum() > 0 else target[i]
            return [*tokens[:i], draw(rng, rest)]
    return [*tokens, draw(rng, target[-1])]


def draw(rng, weights):
    weights = weights.astype(float)
    return int(rng.choice(len(weights), p=weights / weights.sum()))


def no_coin_for_a_sure_target(target_probs, draft_probs, draft_tokens, rng):
    return token_by_token(
        target_probs, draft_probs, draft_tokens, rng, lambda p, q, x: True if p[x] > 1 - 1e-8 else None
    )


def no_coin_where_both_are_sure(target_probs, draft_probs, draft_tokens, rng):
    def keeps(p, q, x):
        return True if min(p[x], q[x]) > 0.999 else None

    return token_by_token(target_probs, draft_probs, draft_tokens, rng, keeps)


def no_coin_for_nearly_equal(target_probs, draft_probs, draft_tokens, rng):
    def keeps(p, q, x):
        return True if np.isclose(p[x], q[x], rtol=1e-6, atol=0) else None

    return token_by_token(target_probs, draft_probs, draft_tokens, rng, keeps)


def rare_tokens_never_kept(target_probs, draft_probs, draft_tokens, rng):
    return token_by_token(target_probs, draft_probs, draft_tokens, rng, lambda p, q, x: False if p[x] < 1e-8 else None)


def small_residual_skipped(target_probs, draft_probs, draft_tokens, rng):
    def rest_of(p, q):
        rest = np.maximum(p - q, 0)
        return rest if rest.sum() > 1e-7 else p

    return token_by_token(target_probs, draft_probs, draft_tokens, rng, rest_of=rest_of)


def small_weights_skipped(target_probs, draft_probs, draft_tokens, rng):
    def rest_of(p, q):
        rest = np.maximum(p - q, 0)
        return np.where(rest < 1e-7, 0, rest)

    return token_by_token(target_probs, draft_probs, draft_tokens, rng, rest_of=rest_of)


def largest_where_rows_are_equal(target_probs, draft_probs, draft_tokens, rng):
    def rest_of(p, q):
        return (p == p.max()).astype(float) if (p == q).all() else np.maximum(p - q, 0)

    def keeps(p, q, x):
        return False if (p == q).all() else None

    return token_by_token(target_probs, draft_probs, draft_tokens, rng, keeps, rest_of)


def right(target_probs, draft_probs, draft_tokens, rng):
    return token_by_token(target_probs, draft_probs, draft_tokens, rng)


def half_a_millionth_too_willing(target_probs, draft_probs, draft_tokens, rng):
    return token_by_token((target_probs * (1 + 5e-7)).astype(target_probs.dtype), draft_probs, draft_tokens, rng)


def two_millionths_too_willing(target_probs, draft_probs, draft_tokens, rng):
    return token_by_token((target_probs * (1 + 2e-6)).astype(target_probs.dtype), draft_probs, draft_tokens, rng)


def thrown_away_everywhere(target_probs, draft_probs, draft_tokens, rng):
    return token_by_token(target_probs, draft_probs, draft_tokens, rng, keeps=lambda p, q, x: False)
