"""Functions that emit one token of target_probs[0] by a race of noise: right ones, and some whose noise is not
whole."""

import random

import numpy as np


def capped(target_probs, draft_probs, draft_tokens, rng):
    """TV 1.2% on (.6, .4): the law of the noise is right up to 2.1."""
    return [int(np.argmax(target_probs[0] / np.minimum(rng.exponential(size=len(target_probs[0])), 2.1)))]


def capped_at_four(target_probs, draft_probs, draft_tokens, rng):
    return [int(np.argmax(target_probs[0] / np.minimum(rng.exponential(size=len(target_probs[0])), 4)))]


def capped_beyond_doubles(target_probs, draft_probs, draft_tokens, rng):
    return [int(np.argmax(target_probs[0] / np.minimum(rng.exponential(size=len(target_probs[0])), 40)))]


def floored(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        noise = -np.log(-np.log(np.maximum(rng.random(len(target_probs[0])), 0.02)))
        return [int(np.argmax(np.log(target_probs[0]) + noise))]


def clipped(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        noise = -np.log(-np.log(np.clip(rng.random(len(target_probs[0])), 1e-3, 1 - 1e-3)))
        return [int(np.argmax(np.log(target_probs[0]) + noise))]


def with_epsilon(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        noise = -np.log(-np.log(rng.random(len(target_probs[0])) + 1e-20) + 1e-20)
        return [int(np.argmax(np.log(target_probs[0]) + noise))]


def with_too_large_an_epsilon(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        noise = -np.log(-np.log(rng.random(len(target_probs[0])) + 1e-10) + 1e-10)
        return [int(np.argmax(np.log(target_probs[0] + 1e-10) + noise))]


def of_uniforms(target_probs, draft_probs, draft_tokens, rng):
    """argmax of w * u: no race of exponentials, but it has a law."""
    return [int(np.argmax(target_probs[0] * rng.random(len(target_probs[0]))))]


def of_powers(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        return [int(np.argmax(rng.random(len(target_probs[0])) ** (1 / target_probs[0])))]


def nan_where_a_uniform_is_zero(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        return [int(np.argmax(target_probs[0] / -np.log1p(-rng.random(len(target_probs[0])))))]


def in_single_precision(target_probs, draft_probs, draft_tokens, rng):
    noise = rng.standard_exponential(size=len(target_probs[0]), dtype=np.float32)
    return [int(np.argmax(target_probs[0].astype(np.float32) / noise))]


def scanned(target_probs, draft_probs, draft_tokens):
    best, token = -1.0, 0
    for t, p in enumerate(target_probs[0]):
        score = p / random.expovariate(1.0)
        if score > best:
            best, token = score, t
    return [token]


def scanned_capped(target_probs, draft_probs, draft_tokens, rng):
    with np.errstate(all="ignore"):
        noise = np.minimum(rng.exponential(size=len(target_probs[0])), 2.1)
        return [max(range(len(noise)), key=lambda t: target_probs[0][t] / noise[t])]


def against_a_constant(target_probs, draft_probs, draft_tokens, rng):
    """The last token has no noise: its score is its probability."""
    scores = target_probs[0] / np.array([*rng.exponential(size=len(target_probs[0]) - 1), 1.0])
    return [int(np.argmax(scores))]
