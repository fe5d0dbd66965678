"""Right verifiers that look odd (controls): none of them may be refuted, and nearly all have to be cleared."""

import logging
import math
import os

import numpy as np

from draftproof.verifiers.zoo.building_blocks import (
    answer,
    block_by_block,
    draw,
    drawable,
    excess,
    ratio,
    token_by_token,
    with_parts,
)

LOG = logging.getLogger(__name__)


def _replacing(pick):
    """Make token verification whose replacement is pick(rest, rng), of what is left normalised."""
    return with_parts(recovers=lambda rng, p, q, x: pick(drawable(excess(p, q), p), rng))


@with_parts
def thinning(rng, p, q, x):
    """Accepts in two steps of probability sqrt(p / q) each."""
    root = math.sqrt(min(ratio(p[x], q[x]), 1.0))
    return rng.random() < root and rng.random() < root


bits_of_a_double = with_parts(lambda rng, p, q, x: int(rng.integers(0, 2**53)) * 2.0**-53 < ratio(p[x], q[x]))
"""Coins from whole numbers of 53 bits, as plain ones: the uniform that NumPy makes of them."""


def _rejection(rng, p, q, x):
    rest = excess(p, q)
    while True:
        y = draw(rng, p, p)
        if rng.random() * p[y] < rest[y]:
            return y


rejection_loop = with_parts(recovers=_rejection)
"""Draws from the target until a draw survives with probability residual / target: without a bound."""


@_replacing
def gumbel_with_epsilon(rest, rng):
    """Gumbel noise as engines write it, -log(-log(u + 1e-20) + 1e-20)."""
    with np.errstate(divide="ignore"):
        return np.argmax(np.log(rest) - np.log(-np.log(rng.random(len(rest)) + 1e-20) + 1e-20))


@_replacing
def tournament(rest, rng):
    """The replacement by a tournament: each contestant in turn takes the place with its share of the weight so far."""
    best, total = 0, 0.0
    for k, weight in enumerate(rest):
        total += weight
        if weight > 0 and rng.random() * total < weight:
            best = k
    return best


KEPT: dict = {}


def _remembered(rng, p, q, x):
    row = KEPT.setdefault((p.tobytes(), q.tobytes()), drawable(excess(p, q), p))
    return draw(rng, row, row)


cache_by_content = with_parts(recovers=_remembered)
"""Residuals are remembered by the bytes of both rows."""


def log_space(target, draft, tokens, rng):
    """All probabilities as logarithms; the residual by log(1 - exp(log q - log p))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = np.log(target), np.log(draft)
        for i, x in enumerate(tokens):
            if not math.log(max(rng.random(), 5e-324)) < p[i][x] - q[i][x]:
                rest = np.where(p[i] > q[i], np.exp(p[i]) * -np.expm1(np.minimum(q[i] - p[i], 0.0)), 0.0)
                return answer(tokens[:i], draw(rng, np.nan_to_num(rest), target[i]))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def uniforms_in_advance(target, draft, tokens, rng):
    """gamma uniforms for the tests, drawn at once, and one for the last token."""
    uniforms = rng.random(len(tokens) + 1)

    def last(row):
        edges = np.cumsum(row) / np.sum(row)
        return min(int((uniforms[-1] >= edges).sum()), int(np.flatnonzero(row)[-1]))

    for i, x in enumerate(tokens):
        if not uniforms[i] < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], last(drawable(excess(target[i], draft[i]), target[i])))
    return answer(tokens, last(target[-1]))


def one_uniform_for_the_block(target, draft, tokens, rng):
    """One uniform against the running products of capped ratios: u < prod, each test conditional on those before."""
    u, kept = rng.random(), 1.0
    for i, x in enumerate(tokens):
        kept *= min(ratio(target[i][x], draft[i][x]), 1.0)
        if not u < kept:
            return answer(tokens[:i], draw(rng, excess(target[i], draft[i]), target[i]))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def block_in_ratios(target, draft, tokens, rng):
    """Block verification with h from the harmonic form, 1 / (1 + rest / surplus)."""
    from draftproof.verifiers.zoo.building_blocks import survivals

    p = survivals(target, draft, tokens)

    def accept(i):
        surplus = excess(target[i], draft[i], p[i]).sum()
        return 1.0 / (1.0 + (1.0 - p[i]) / surplus) if surplus > 0 else float(p[i] >= 1.0)

    return block_by_block(target, draft, tokens, rng, p, accept=accept)


def logs_by_environment(target, draft, tokens, rng):
    """Reads the environment to decide whether to log; what it emits does not depend on it."""
    if os.environ.get("VERIFY_LOG"):
        LOG.info("block of %d", len(tokens))
    return token_by_token(target, draft, tokens, rng)


def counts_its_calls(target, draft, tokens, rng):
    """Counts its calls for statistics."""
    counts_its_calls.calls += 1
    return token_by_token(target, draft, tokens, rng)


counts_its_calls.calls = 0


def stops_before_the_bonus(target, draft, tokens, rng):
    """Where all is accepted it returns the draft alone: lossless, but a token less."""
    out = token_by_token(target, draft, tokens, rng)
    return out if len(out) <= len(tokens) else answer(tokens[:-1], tokens[-1])


def target_alone(target, draft, tokens, rng):
    """Ignores the draft and samples the target: lossless, and nothing is gained."""
    return answer((), draw(rng, target[0], target[0]))
