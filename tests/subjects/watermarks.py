"""Token verification whose noise is decided by a key: right ones, and watermarks that change the law over keys."""

import numpy as np

from draftproof.verifiers.adapters.calling_convention import declare


def _pick(weights, uniform):
    below, total = 0.0, float(sum(weights))
    for token, weight in enumerate(weights):
        below += weight
        if uniform * total < below:
            return token
    return max(token for token, weight in enumerate(weights) if weight > 0)


def _verified(target, draft, tokens, coin, noise, residual=True):
    """coin, noise: the position and the token before it -> a uniform."""
    before = -1
    for i, x in enumerate(tokens):
        p, q = target[i], draft[i]
        if coin(i, before) * q[x] >= p[x]:
            return [*tokens[:i], _pick(np.maximum(p - q, 0.0) if residual else p, noise(i, before))]
        before = int(x)
    return [*tokens, _pick(target[-1], noise(len(tokens), before))]


def right(target_probs, draft_probs, draft_tokens, key):
    """A number of its own for each position and purpose."""
    coin, noise = (lambda i, before: key("coin", i)), (lambda i, before: key("token", i))
    return _verified(target_probs, draft_probs, draft_tokens, coin, noise)


def fresh_coin(target_probs, draft_probs, draft_tokens, key, rng):
    """The coin is fresh, as vLLM's is; the last token is keyed."""
    return _verified(target_probs, draft_probs, draft_tokens, lambda *_: rng.random(), lambda i, before: key(i))


def from_the_target(target_probs, draft_probs, draft_tokens, key):
    """The replacement is drawn from the target, not from what is left of it."""
    coin, noise = (lambda i, before: key("coin", i)), (lambda i, before: key("token", i))
    return _verified(target_probs, draft_probs, draft_tokens, coin, noise, residual=False)


def one_number(target_probs, draft_probs, draft_tokens, key):
    """The coin and the replacement have the same number."""
    return _verified(target_probs, draft_probs, draft_tokens, lambda i, before: key(i), lambda i, before: key(i))


def by_the_token_before(target_probs, draft_probs, draft_tokens, key):
    """Numbers by the token before alone: a context that comes again repeats its coin."""
    coin, noise = (lambda i, before: key("coin", before)), (lambda i, before: key("token", before))
    return _verified(target_probs, draft_probs, draft_tokens, coin, noise)


def _of_four(key, residual):
    def verify(target_probs, draft_probs, draft_tokens):
        coin, noise = (lambda *_: (key % 2 + 0.5) / 2), (lambda *_: (key // 2 + 0.5) / 2)
        return _verified(target_probs, draft_probs, draft_tokens, coin, noise, residual)

    return verify


def four_keys(target_probs, draft_probs, draft_tokens, key):
    """Four keys, enough for rows of halves: two numbers for the coin, two for the last token."""
    return _of_four(key, residual=True)(target_probs, draft_probs, draft_tokens)


def four_keys_from_the_target(target_probs, draft_probs, draft_tokens, key):
    """The same, drawing from the target where a draft is rejected."""
    return _of_four(key, residual=False)(target_probs, draft_probs, draft_tokens)


def one_key_of_many(target_probs, draft_probs, draft_tokens, key):
    """200 keys, 50 for each of the four; one of them draws from the target where a draft is rejected."""
    return _of_four(key // 50, residual=key != 77)(target_probs, draft_probs, draft_tokens)


for watermark, many in ((four_keys, 4), (four_keys_from_the_target, 4), (one_key_of_many, 200)):
    declare(watermark, keys=many)
