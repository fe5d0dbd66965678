"""Verifiers whose deviation is rounding, or is as small: for the tests of what rounding excuses."""

import numpy as np

KEPT = 200


def _row(weights, rng):
    """A token by inversion, in the type of the weights."""
    edges = np.cumsum(weights)
    return int(np.searchsorted(edges / edges[-1], rng.random(dtype=weights.dtype), side="right"))


def _token(target, draft, tokens, rng, draw=_row):
    emitted = []
    for p, q, token in zip(target, draft, tokens):
        if rng.random() < p[token] / q[token]:
            emitted.append(int(token))
            continue
        return [*emitted, draw(np.maximum(p - q, 0), rng)]
    return [*emitted, draw(target[len(tokens)], rng)]


def right(target_probs, draft_probs, draft_tokens, rng):
    return _token(target_probs, draft_probs, draft_tokens, rng)


def without_the_last(target_probs, draft_probs, draft_tokens, rng):
    """Sets the last ids of a large vocabulary to 0 before the running sum, as code with a grid too small does."""

    def draw(weights, rng):
        if len(weights) > 150_000:
            weights = weights.copy()
            weights[-KEPT:] = 0
        return _row(weights, rng)

    return _token(target_probs, draft_probs, draft_tokens, rng, draw)


def _in_torch(target, draft, tokens, generator, factor=1.0):
    import torch

    for i, token in enumerate(tokens.tolist()):
        if torch.rand((), generator=generator) < target[i, token] / (draft[i, token] * factor):
            continue
        rest = (target[i] - draft[i]).clamp(min=0)
        return [*tokens[:i].tolist(), int(torch.multinomial(rest if rest.any() else target[i], 1, generator=generator))]
    return [*tokens.tolist(), int(torch.multinomial(target[-1], 1, generator=generator))]


def _torched(change, factor=1.0):
    return lambda target_probs, draft_probs, draft_tokens, generator=None: _in_torch(
        change(target_probs), change(draft_probs), draft_tokens, generator, factor
    )


in_float32, in_bfloat16 = _torched(lambda rows: rows.float()), _torched(lambda rows: rows)
too_willing_in_float32 = _torched(lambda rows: rows.float(), 0.98)


def _in_lists(target, draft, tokens, rng, factor=1.0):
    def draw(weights):
        u = rng.random() * sum(weights)
        for k, weight in enumerate(weights):
            if u < weight:
                return k
            u -= weight
        return max(k for k, weight in enumerate(weights) if weight)

    for i, token in enumerate(tokens):
        if rng.random() >= target[i][token] / (draft[i][token] * factor):
            return [*tokens[:i], draw([max(p - q, 0.0) for p, q in zip(target[i], draft[i])])]
    return [*tokens, draw(target[-1])]


def right_in_lists(target_probs, draft_probs, draft_tokens, rng):
    return _in_lists(target_probs, draft_probs, draft_tokens, rng)


def too_willing_in_lists(target_probs, draft_probs, draft_tokens, rng):
    return _in_lists(target_probs, draft_probs, draft_tokens, rng, 0.98)
