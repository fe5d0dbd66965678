"""Races for the replacement whose noise is cut, coarse, shifted or used twice; acceptance is right."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, drawable, excess, ratio, token_by_token


def race(score):
    """Token verification; replacement and bonus token are the argmax of score(weights, rng)."""

    def verify(target, draft, tokens, rng):
        for i, x in enumerate(tokens):
            if not rng.random() < ratio(target[i][x], draft[i][x]):
                return answer(tokens[:i], np.argmax(score(drawable(excess(target[i], draft[i]), target[i]), rng)))
        return answer(tokens, np.argmax(score(target[-1], rng)))

    return verify


def gumbel(u):
    return -np.log(-np.log(u))


def log(weights):
    with np.errstate(divide="ignore"):
        return np.log(weights)


def exponential(weights, rng):
    return rng.exponential(size=len(weights))


def uniform(weights, rng):
    return rng.random(len(weights))


capped_at_2 = race(lambda w, rng: w / np.minimum(exponential(w, rng), 2.1))
uniform_clipped_closely = race(lambda w, rng: log(w) + gumbel(np.clip(uniform(w, rng), 1e-5, 1 - 1e-5)))
gumbel_capped = race(lambda w, rng: log(w) + np.minimum(rng.gumbel(size=len(w)), 3.0))
epsilon_too_large = race(lambda w, rng: log(w) - np.log(1e-3 - np.log(uniform(w, rng) + 1e-3)))
epsilon_in_the_weights = race(lambda w, rng: log(w + 1e-6) + rng.gumbel(size=len(w)))
slightly_cooler = race(lambda w, rng: 1.01 * log(w) + rng.gumbel(size=len(w)))
noise_of_one_digit = race(lambda w, rng: w / np.round(exponential(w, rng) + 0.05, 1))
half_precision_noise = race(lambda w, rng: w / exponential(w, rng).astype(np.float16))


def nine_digits_behind_one_id(target, draft, tokens, rng):
    """Round the noise of the race to nine digits if token 0 was drafted and rejected."""

    def drawn(weights, coarse):
        noise = exponential(weights, rng)
        return np.argmax(weights / (np.ceil(noise * 1e9) / 1e9 if coarse else noise))

    for i, x in enumerate(tokens):
        if not rng.random() < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], drawn(drawable(excess(target[i], draft[i]), target[i]), x == 0))
    return answer(tokens, drawn(target[-1], False))


def one_noise_for_all_positions(target, draft, tokens, rng):
    """The same row of noise draws every token, and a draft token is accepted where it equals the drawn one."""
    noise = rng.exponential(size=len(target[0]))
    for i, x in enumerate(tokens):
        y = np.argmax(target[i] / noise)
        if y != x:
            return answer(tokens[:i], y)
    return answer(tokens, np.argmax(target[-1] / noise))


def uniform_of_the_test_in_the_race(target, draft, tokens, rng):
    """The uniform that rejected x is its noise in the race for the replacement."""
    noise = rng.random(len(target[0]))
    return token_by_token(
        target,
        draft,
        tokens,
        rng,
        lambda i, x: noise[x] < ratio(target[i][x], draft[i][x]),
        lambda i, x: np.argmax(log(target[i]) + gumbel(noise)),
    )


def capped_in_torch(target_probs, draft_probs, draft_tokens):
    """The race of vLLM's sampler with noise that is clamped, as if against division by zero."""
    import torch

    def drawn(weights):
        return int((weights / torch.empty_like(weights).exponential_().clamp(1e-10, 2.1)).argmax())

    p, q, tokens = target_probs, draft_probs, draft_tokens.tolist()
    for i, x in enumerate(tokens):
        if not torch.rand((), dtype=p.dtype) * q[i, x] < p[i, x]:
            return [*tokens[:i], drawn((p[i] - q[i]).clamp(min=0))]
    return [*tokens, drawn(p[-1])]


capped_in_torch.array = "torch"
