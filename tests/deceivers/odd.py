"""Right verifiers that look odd (controls): none of them may be refuted, and nearly all have to be cleared."""

import bisect
import functools
import itertools
import logging
import math
import os
import random

import numpy as np

from draftproof.verifiers.zoo.building_blocks import (
    answer,
    block_by_block,
    draw,
    drawable,
    excess,
    ratio,
    token_by_token,
)

LOG = logging.getLogger(__name__)


def rejection_loop(target, draft, tokens, rng):
    """Draws from the target until a draw survives with probability residual / target: without a bound."""

    def recovers(i, x):
        rest = excess(target[i], draft[i])
        while True:
            y = draw(rng, target[i], target[i])
            if rng.random() * target[i][y] < rest[y]:
                return y

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def rejection_of_a_uniform_proposal(target, draft, tokens, rng):
    """Draws tokens evenly until one survives with probability residual / its maximum."""

    def recovers(i, x):
        rest = excess(target[i], draft[i])
        while True:
            y = int(rng.integers(len(rest)))
            if rng.random() * rest.max() < rest[y]:
                return y

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def gumbel_with_epsilon(target, draft, tokens, rng):
    """Gumbel noise as engines write it, -log(-log(u + 1e-20) + 1e-20)."""

    def recovers(i, x):
        with np.errstate(divide="ignore"):
            scores = np.log(drawable(excess(target[i], draft[i]), target[i]))
        return np.argmax(scores - np.log(-np.log(rng.random(len(scores)) + 1e-20) + 1e-20))

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def exponential_by_logarithm(target, draft, tokens, rng):
    """A race of -log u, by argmin of noise / weight."""

    def recovers(i, x):
        rest = drawable(excess(target[i], draft[i]), target[i])
        with np.errstate(divide="ignore"):
            return np.argmin(-np.log(rng.random(len(rest))) / rest)

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def log_space(target, draft, tokens, rng):
    """All probabilities as logarithms; the residual by log(1 - exp(log q - log p))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = np.log(target), np.log(draft)
        for i, x in enumerate(tokens):
            if not math.log(max(rng.random(), 5e-324)) < p[i][x] - q[i][x]:
                rest = np.where(p[i] > q[i], np.exp(p[i]) * -np.expm1(np.minimum(q[i] - p[i], 0.0)), 0.0)
                return answer(tokens[:i], draw(rng, np.nan_to_num(rest), target[i]))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def sorted_order(target, draft, tokens, rng):
    """Draws the replacement on tokens in order of weight, largest first."""

    def recovers(i, x):
        rest = excess(target[i], draft[i])
        order = np.argsort(-rest, kind="stable")
        return order[rng.choice(len(order), p=drawable(rest[order], target[i][order]))]

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def alias_method(target, draft, tokens, rng):
    """Walker's alias table for the replacement: a column and a coin."""

    def recovers(i, x):
        n = len(target[i])
        scaled = n * drawable(excess(target[i], draft[i]), target[i])
        alias, small, large = list(range(n)), [], []
        for k, weight in enumerate(scaled):
            (small if weight < 1 else large).append(k)
        while small and large:
            low, high = small.pop(), large.pop()
            alias[low] = high
            scaled[high] -= 1 - scaled[low]
            (small if scaled[high] < 1 else large).append(high)
        column = int(rng.integers(n))
        return column if rng.random() < scaled[column] or alias[column] == column else alias[column]

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def inverse_of_the_distribution(target, draft, tokens, rng):
    """Bisects the cumulative sums, in plain Python."""

    def recovers(i, x):
        edges = list(itertools.accumulate(drawable(excess(target[i], draft[i]), target[i]).tolist()))
        return min(bisect.bisect_right(edges, rng.random() * edges[-1]), len(edges) - 1)

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def thinning(target, draft, tokens, rng):
    """Accepts in two steps of probability sqrt(p / q) each."""

    def accepts(i, x):
        root = math.sqrt(min(ratio(target[i][x], draft[i][x]), 1.0))
        return rng.random() < root and rng.random() < root

    return token_by_token(target, draft, tokens, rng, accepts)


def lazy_import(target, draft, tokens, rng):
    """Imports in its first call."""
    import colorsys

    colorsys.rgb_to_hsv(0.1, 0.2, 0.3)
    return token_by_token(target, draft, tokens, rng)


KEPT: dict = {}


def cache_by_content(target, draft, tokens, rng):
    """Residuals are remembered by the bytes of both rows."""

    def recovers(i, x):
        key = (target[i].tobytes(), draft[i].tobytes())
        if key not in KEPT:
            KEPT[key] = drawable(excess(target[i], draft[i]), target[i])
        return draw(rng, KEPT[key], KEPT[key])

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


@functools.lru_cache(maxsize=1024)
def _residual(p, q):
    rest = [max(a - b, 0.0) for a, b in zip(p, q)]
    return rest if sum(rest) > 0 else p


def cache_by_tuples(target_probs, draft_probs, draft_tokens):
    """Pure Python, with functools.lru_cache over rows as tuples."""
    p, q, tokens = (list(map(tuple, target_probs)), list(map(tuple, draft_probs)), list(draft_tokens))
    for i, x in enumerate(tokens):
        if not random.random() * q[i][x] < p[i][x]:
            return answer(tokens[:i], random.choices(range(len(p[i])), _residual(p[i], q[i]))[0])
    return answer(tokens, random.choices(range(len(p[-1])), p[-1])[0])


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


def tournament(target, draft, tokens, rng):
    """The replacement by a tournament: each contestant in turn takes the place with its share of the weight so far."""

    def recovers(i, x):
        best, total = 0, 0.0
        for k, weight in enumerate(drawable(excess(target[i], draft[i]), target[i])):
            total += weight
            if weight > 0 and rng.random() * total < weight:
                best = k
        return best

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


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


def generous_epsilon(target, draft, tokens, rng):
    """An epsilon that no double can feel: p / (q + 1e-300)."""
    return token_by_token(target, draft, tokens, rng, lambda i, x: rng.random() < target[i][x] / (draft[i][x] + 1e-300))


def multinomial_draw(target, draft, tokens, rng):
    """The replacement by rng.multinomial(1, .)."""

    def recovers(i, x):
        return np.argmax(rng.multinomial(1, drawable(excess(target[i], draft[i]), target[i])))

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def stops_before_the_bonus(target, draft, tokens, rng):
    """Where all is accepted it returns the draft alone: lossless, but a token less."""
    out = token_by_token(target, draft, tokens, rng)
    return out if len(out) <= len(tokens) else answer(tokens[:-1], tokens[-1])


def target_alone(target, draft, tokens, rng):
    """Ignores the draft and samples the target: lossless, and nothing is gained."""
    return answer((), draw(rng, target[0], target[0]))


def unnecessary_numbers(target, draft, tokens, rng):
    """Draws numbers that it does not use."""
    rng.random(5), rng.exponential(size=3), rng.random()
    return token_by_token(target, draft, tokens, rng)


def bits_of_a_double(target, draft, tokens, rng):
    """Coins from whole numbers of 53 bits, as plain ones: the uniform that NumPy makes of them."""
    return token_by_token(
        target, draft, tokens, rng,
        lambda i, x: int(rng.integers(0, 2**53)) * 2.0**-53 < ratio(target[i][x], draft[i][x]),
    )  # fmt: skip


def single_precision(target, draft, tokens, rng):
    """Works in float32 whatever it is given; to be judged with --dtype float32."""
    p, q = (np.asarray(rows, dtype=np.float32) for rows in (target, draft))
    for i, x in enumerate(tokens):
        if not rng.random(dtype=np.float32) < ratio(p[i][x], q[i][x]):
            edges = np.cumsum(np.maximum(p[i] - q[i], 0), dtype=np.float32)
            return answer(tokens[:i], np.searchsorted(edges, rng.random(dtype=np.float32) * edges[-1], side="right"))
    edges = np.cumsum(p[-1], dtype=np.float32)
    return answer(tokens, np.searchsorted(edges, rng.random(dtype=np.float32) * edges[-1], side="right"))


def torch_tensors(target_probs, draft_probs, draft_tokens):
    """All positions at once, in torch: cumprod of the accepted, one multinomial."""
    import torch

    p, q, n = target_probs, draft_probs, len(draft_tokens)
    at = torch.arange(n)
    accepted = torch.rand(n, dtype=p.dtype) * q[at, draft_tokens] < p[at, draft_tokens]
    k = int(accepted.long().cumprod(0).sum())
    rest = p[k] if k == n else (p[k] - q[k]).clamp(min=0)
    return [*draft_tokens[:k].tolist(), int(torch.multinomial(rest if rest.sum() > 0 else p[k], 1))]


torch_tensors.array = "torch"
