"""Right verifiers in floats, with a socket for each part: an entry of the zoo plugs one wrong part into one of them.

Rows are float64 arrays. Nothing here divides by zero or draws from an empty residual, so that a planted defect
is the only one.
"""

import math

import numpy as np


def answer(kept, token):
    """What a verifier returns: the accepted prefix and one more token, as plain integers."""
    return [*map(int, kept), int(token)]


def ratio(p, q):
    """p / q; where the draft excludes the token, 1 if the target allows it and else 0."""
    return p / q if q > 0 else float(p > 0)


def normalised(weights):
    return weights / weights.sum(axis=-1, keepdims=True)


def excess(p, q, kept=1.0):
    """max(kept * p - q, 0), not normalised."""
    return np.maximum(kept * p - q, 0.0)


def without(row, token):
    """The row with one token taken out, not normalised."""
    return np.where(np.arange(len(row)) == token, 0.0, row)


def drawable(weights, otherwise):
    """The weights, or ``otherwise`` where they are all zero: rounding can leave nothing to draw from."""
    return normalised(weights if weights.sum() > 0 else otherwise)


def draw(rng, weights, otherwise):
    """A token with probability proportional to its weight."""
    return int(rng.choice(len(weights), p=drawable(weights, otherwise)))


def scan(u, weights, otherwise):
    """The token that the uniform ``u`` points at on the cumulative sum of the weights."""
    edges = np.cumsum(weights if weights.sum() > 0 else otherwise)
    last = np.searchsorted(edges, edges[-1])  # where a uniform goes that rounding has carried to 1
    return int(min(np.searchsorted(edges, u * edges[-1], side="right"), last))


def token_by_token(target, draft, tokens, rng, accepts=None, recovers=None):
    """Token verification. accepts(i, x): whether x passes at i; recovers(i, x): the token that replaces it."""
    for i, x in enumerate(tokens):
        passes = accepts(i, x) if accepts else rng.random() < ratio(target[i][x], draft[i][x])
        if not passes:
            y = recovers(i, x) if recovers else draw(rng, excess(target[i], draft[i]), target[i])
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def survival(target, draft, tokens, cap=1.0):
    """[p_0, ..., p_gamma], p_i = min(p_{i-1} M_b / M_s, cap); cap = inf gives the plain products."""
    kept = [1.0]
    for i, x in enumerate(tokens):
        kept.append(min(kept[i] * ratio(target[i][x], draft[i][x]), cap))
    return kept


def share(surplus, rest):
    """surplus / (surplus + rest), and 1 where both are zero: certain then, whatever it is."""
    return surplus / (surplus + rest) if surplus + rest > 0 else 1.0


def block_by_block(target, draft, tokens, rng, kept=None, last=None, accept=None, weights=None):
    """Block verification, from the longest sub-block down.

    kept: [p_0..p_gamma]; last: h_gamma; accept(i): h_i for 0 < i < gamma; weights(i): the residual at i.
    """
    gamma = len(tokens)
    p = survival(target, draft, tokens) if kept is None else kept
    residual = weights or (lambda i: excess(target[i], draft[i], p[i]))
    h = accept or (lambda i: share(excess(target[i], draft[i], p[i]).sum(), 1.0 - p[i]))
    if rng.random() < (p[gamma] if last is None else last):
        return answer(tokens, draw(rng, target[gamma], target[gamma]))
    i = gamma - 1
    while i > 0 and not rng.random() < h(i):
        i -= 1
    return answer(tokens[:i], draw(rng, residual(i), target[i]))


UNCAPPED = math.inf
