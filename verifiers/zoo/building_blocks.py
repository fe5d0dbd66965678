"""Right verifiers in floats with exchangeable parts: an entry of the zoo replaces one part by a wrong or unusual one.

Nothing here divides by zero or draws from an empty residual, so that the bug of a mutant is its only one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arithmetic import Number

Floats = np.ndarray
"""float64: a row [V] of probabilities or weights; the target's rows [gamma + 1, V], the draft's [gamma, V]."""

Tokens = Sequence[int]
Generator = np.random.Generator

UNCAPPED = math.inf


def answer(accepted: Tokens, token: int | np.integer) -> list[int]:
    """Return what a verifier returns: the accepted prefix and one more token, as plain integers."""
    return [*map(int, accepted), int(token)]


def ratio(p: Number, q: Number) -> float:
    """Return p / q; where the draft excludes the token, 1 if the target allows it and else 0."""
    return p / q if q > 0 else float(p > 0)


def normalised(weights: Floats) -> Floats:
    return weights / weights.sum(axis=-1, keepdims=True)


def excess(p: Floats, q: Floats, survival: float = 1.0) -> Floats:
    """Return max(survival * p - q, 0), not normalised."""
    return np.maximum(survival * p - q, 0.0)


def without(row: Floats, token: int) -> Floats:
    """Return the row with one token taken out, not normalised."""
    return np.where(np.arange(len(row)) == token, 0.0, row)


def drawable(weights: Floats, otherwise: Floats) -> Floats:
    """Return the weights normalised, or ``otherwise`` where they are all zero: rounding can leave nothing to draw
    from.
    """
    return normalised(weights if weights.sum() > 0 else otherwise)


def draw(rng: Generator, weights: Floats, otherwise: Floats) -> int:
    """Return a token with probability proportional to its weight."""
    return int(rng.choice(len(weights), p=drawable(weights, otherwise)))


def scan(u: float, weights: Floats, otherwise: Floats) -> int:
    """Return the token that the uniform ``u`` points at on the cumulative sum of the weights."""
    edges = np.cumsum(weights if weights.sum() > 0 else otherwise)
    last = np.searchsorted(edges, edges[-1])  # where a uniform goes that rounding has carried to 1
    return int(min(np.searchsorted(edges, u * edges[-1], side="right"), last))


def token_by_token(
    target: Floats, draft: Floats, tokens: Tokens, rng: Generator,
    accepts: Callable[[int, int], Any] | None = None, recovers: Callable[[int, int], int | np.integer] | None = None,
) -> list[int]:  # fmt: skip
    """Verify token by token. accepts(i, x): whether x passes at i; recovers(i, x): the token that replaces it."""
    for i, x in enumerate(tokens):
        passes = accepts(i, x) if accepts else rng.random() < ratio(target[i][x], draft[i][x])
        if not passes:
            y = recovers(i, x) if recovers else draw(rng, excess(target[i], draft[i]), target[i])
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


Verifier = Callable[[Floats, Floats, Tokens, Generator], list[int]]

Part = Callable[[Generator, Floats, Floats, int], Any]
"""part(rng, p, q, x): of a draft token x that was drawn from q where the target's row is p."""


def with_parts(accepts: Part | None = None, recovers: Part | None = None) -> Verifier:
    """Return token verification with another test, or another choice of the token that replaces a rejected one."""

    def verify(target: Floats, draft: Floats, tokens: Tokens, rng: Generator) -> list[int]:
        def at(part: Part | None) -> Callable[[int, int], Any] | None:
            return part and (lambda i, x: part(rng, target[i], draft[i], x))

        return token_by_token(target, draft, tokens, rng, at(accepts), at(recovers))

    return verify


def drawn_from(weights: Callable[[Floats, Floats, int], Floats]) -> Part:
    """Return a replacement drawn from weights(p, q, x)."""
    return lambda rng, p, q, x: draw(rng, weights(p, q, x), p)


Rows = Callable[[Floats, Tokens], Floats]


def with_rows(target: Rows = lambda rows, _: rows, draft: Rows = lambda rows, _: rows) -> Verifier:
    """Return token verification with rows made of those that it is given, and of the tokens."""

    def verify(target_rows: Floats, draft_rows: Floats, tokens: Tokens, rng: Generator) -> list[int]:
        return token_by_token(target(target_rows, tokens), draft(draft_rows, tokens), tokens, rng)

    return verify


def survivals(target: Floats, draft: Floats, tokens: Tokens, cap: float = 1.0) -> list[float]:
    """Return [p_0, ..., p_gamma], p_i = min(p_{i-1} M_b / M_s, cap); cap = UNCAPPED gives the plain products."""
    p = [1.0]
    for i, x in enumerate(tokens):
        p.append(min(p[i] * ratio(target[i][x], draft[i][x]), cap))
    return p


def share(surplus: float, rest: float) -> float:
    """Return surplus / (surplus + rest), and 1 where both are zero: certain then, whatever it is."""
    return surplus / (surplus + rest) if surplus + rest > 0 else 1.0


def block_by_block(
    target: Floats, draft: Floats, tokens: Tokens, rng: Generator, survival: Sequence[float] | None = None,
    last: float | None = None, accept: Callable[[int], float] | None = None,
    weights: Callable[[int], Floats] | None = None,
) -> list[int]:  # fmt: skip
    """Verify by blocks, from the longest sub-block down.

    survival: [p_0..p_gamma]. last: h_gamma. accept(i): h_i for 0 < i < gamma. weights(i): the residual at i.
    """
    gamma = len(tokens)
    p = survivals(target, draft, tokens) if survival is None else survival
    residual = weights or (lambda i: excess(target[i], draft[i], p[i]))
    h = accept or (lambda i: share(excess(target[i], draft[i], p[i]).sum(), 1.0 - p[i]))
    if rng.random() < (p[gamma] if last is None else last):
        return answer(tokens, draw(rng, target[gamma], target[gamma]))
    i = gamma - 1
    while i > 0 and not rng.random() < h(i):
        i -= 1
    return answer(tokens[:i], draw(rng, residual(i), target[i]))
