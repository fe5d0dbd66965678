"""Mutants whose formulas are right and whose random numbers are not independent."""

import numpy as np

from .building_blocks import Floats, Generator, Tokens, answer, draw, excess, ratio, scan, token_by_token, with_parts


def rejected_uniform_reused(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Finds the replacement with the uniform that has just rejected, which is known to be large."""
    for i, x in enumerate(tokens):
        u = rng.random()
        if not u < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], scan(u, excess(target[i], draft[i]), target[i]))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def one_uniform_for_all(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Tests all draft tokens with the same uniform."""
    u = rng.random()
    return token_by_token(target, draft, tokens, rng, lambda i, x: u < ratio(target[i][x], draft[i][x]))


def _second_race(rng: Generator, p: Floats, q: Floats, x: int) -> int:
    rest = excess(p, q)
    runs = np.flatnonzero(rest)
    order = runs[np.argsort(q[runs] / rest[runs], kind="stable")]
    rates, wins = np.cumsum(rest[order]), np.zeros(len(rest))
    started = 1 / (1 + (rates - rest[order]) * q[order] / rest[order] - (np.cumsum(q[order]) - q[order]))
    decided = np.maximum(started - np.append(started[1:], 0.0), 0.0)
    wins[order] = rest[order] * np.cumsum((decided / rates)[::-1])[::-1]
    return draw(rng, wins, p)


noise_shared_with_draft = with_parts(recovers=_second_race)
"""Runs the race for the replacement with the noise of the race that drew the draft token.

The draft's race was won at an Exp(1) time T, and by then nobody else had arrived: in the second race token y cannot
arrive before q(y) / residual(y) * T. The law of its winner, T averaged out, is drawn from directly: with the tokens in
order of that handicap d, none has arrived when the k-th starts with probability 1 / (1 + c_k), c_k = d_k * (residuals
before k) - (q before k).
"""

same_state_as_draft_sampler = with_parts(lambda rng, p, q, x: q[:x].sum() + rng.random() * q[x] < ratio(p[x], q[x]))
"""Tests each token with the very uniform that had picked it from the draft's cumulative sum."""


def seeded_in_every_call(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Starts the same generator afresh in every call: no chance is left."""
    return token_by_token(target, draft, tokens, np.random.default_rng(17599))


def ranks_disagree(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
    """Lets one rank decide how many tokens are accepted; another, with its own uniforms, which token follows them."""
    ours, theirs = (token_by_token(target, draft, tokens, rng) for _ in range(2))
    end = len(ours) - 1
    if end < len(theirs):
        return answer(tokens[:end], theirs[end])
    return ours
