"""Right verifiers with an unusual rule, or unusual random numbers: an audit that refutes one of these is wrong."""

import random

import numpy as np

from .building_blocks import (
    Floats,
    Generator,
    Tokens,
    answer,
    block_by_block,
    draw,
    drawable,
    drawn_from,
    excess,
    ratio,
    scan,
    survivals,
    with_parts,
    without,
)  # fmt: skip

point_mass_rule = with_parts(lambda rng, p, q, x: rng.random() < p[x], drawn_from(lambda p, q, x: without(p, x)))
"""Treats a sampled draft as a point mass: accepts with p(x), else draws from p without x."""


def sampler_match(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Samples the target at every position, and goes on as long as the draft has guessed the sample."""
    for i, x in enumerate(tokens):
        y = draw(rng, target[i], target[i])
        if y != x:
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def one_draw_for_both(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Decides acceptance and replacement in a single draw among V + 1 outcomes."""
    for i, x in enumerate(tokens):
        accepted = min(ratio(target[i][x], draft[i][x]), 1.0)
        rest = (1.0 - accepted) * drawable(excess(target[i], draft[i]), target[i])
        k = draw(rng, np.append(rest, accepted), target[i])
        if k < len(rest):
            return answer(tokens[:i], k)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def block_verification_in_floats(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Verifies by blocks, from the longest sub-block down."""
    return block_by_block(target, draft, tokens, rng)


def block_verification_as_a_stream(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Verifies by blocks front to back: at each step the outcome so far stays, or a longer one replaces it."""
    survival, outcome = survivals(target, draft, tokens), None
    for i in range(len(tokens) + 1):
        q = draft[i] if i < len(tokens) else np.zeros_like(target[i])
        weights = np.append(excess(target[i], q, survival[i]), 1.0 - survival[i])
        if weights.sum() > 0:
            k = draw(rng, weights, weights)
            outcome = outcome if k == len(q) else answer(tokens[:i], k)
    return outcome or answer((), draw(rng, target[0], target[0]))  # only for tokens that cannot be drafted


def _exponential_race(rng: Generator, p: Floats, q: Floats, x: int) -> np.intp:
    rest = drawable(excess(p, q), p)
    return np.argmax(rest / rng.exponential(size=len(rest)))


exponential_race = with_parts(recovers=_exponential_race)
"""Draws the replacement as the argmax of residual / exponential noise."""


def _gumbel_race(rng: Generator, p: Floats, q: Floats, x: int) -> np.intp:
    with np.errstate(divide="ignore"):
        scores = np.log(drawable(excess(p, q), p))
    return np.argmax(scores + rng.gumbel(size=len(scores)))


gumbel_race = with_parts(recovers=_gumbel_race)
"""Draws the replacement as the argmax of log residual + Gumbel noise."""


def _accepted_in_logarithms(rng: Generator, p: Floats, q: Floats, x: int) -> np.bool_:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(rng.random()) < np.log(p[x]) - np.log(q[x])


compared_in_logarithms = with_parts(_accepted_in_logarithms)
"""Accepts if log u < log p - log q."""


def everything_drawn_beforehand(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Draws all uniforms, all replacements and the bonus token first, and then looks which are needed."""
    uniforms = rng.random(len(tokens))
    spare = [draw(rng, excess(p, q), p) for p, q in zip(target, draft)]
    spare.append(draw(rng, target[-1], target[-1]))
    ratios = np.array([ratio(target[i][x], draft[i][x]) for i, x in enumerate(tokens)])
    accepted = int(np.cumprod(uniforms < ratios).sum())
    return answer(tokens[:accepted], spare[accepted])


uniform_upside_down = with_parts(
    lambda rng, p, q, x: not 1 - rng.random() > ratio(p[x], q[x]),
    lambda rng, p, q, x: len(p) - 1 - scan(rng.random(), excess(p, q)[::-1], p[::-1]),
)
"""Rejects if 1 - u > p / q, and draws with 1 - u from the far end."""


def one_uniform_rescaled(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Uses the rejecting uniform again, but rescaled to what is left of it: (u - h) / (1 - h)."""
    for i, x in enumerate(tokens):
        u, h = rng.random(), ratio(target[i][x], draft[i][x])
        if not u < h:
            return answer(tokens[:i], scan((u - h) / (1 - h), excess(target[i], draft[i]), target[i]))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def module_random(target_probs: Floats, draft_probs: Floats, draft_tokens: Tokens) -> list[int]:
    """Verifies token by token with the global functions of ``random``."""
    for i, x in enumerate(draft_tokens):
        p, q = target_probs[i].tolist(), draft_probs[i].tolist()
        if not random.random() * q[x] < p[x]:
            rest = [max(a - b, 0.0) for a, b in zip(p, q)]
            return answer(draft_tokens[:i], random.choices(range(len(p)), rest if sum(rest) > 0 else p)[0])
    bonus = target_probs[-1].tolist()
    return answer(draft_tokens, random.choices(range(len(bonus)), bonus)[0])


def module_numpy_random(target_probs: Floats, draft_probs: Floats, draft_tokens: Tokens) -> list[int]:
    """Verifies token by token with the global functions of ``numpy.random``."""
    for i, x in enumerate(draft_tokens):
        if not np.random.random_sample() < ratio(target_probs[i][x], draft_probs[i][x]):
            rest = drawable(excess(target_probs[i], draft_probs[i]), target_probs[i])
            return answer(draft_tokens[:i], np.random.choice(len(rest), p=rest))
    return answer(draft_tokens, np.random.choice(len(target_probs[-1]), p=target_probs[-1]))
