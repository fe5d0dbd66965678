"""E[tau] of rules that look at whole paths, on draft trees over a wide vocabulary: traversal, greedy multi-path, and
within bounds the transport scaled by the prefix.

For rows that do not depend on the text, and siblings drawn independently; ``wide_tree_bound`` has the rules that go
down one token at a time, and the bound.
"""

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import NamedTuple

import numpy as np

BINS, GRID = 4096, 1025
"""Tokens are gathered by their ratio; functions of a node's weight are read off a grid."""


class Gathered(NamedTuple):
    """Masses of target and draft in bins of tokens with nearly one ratio; ratio: of the masses, 0 if undrafted."""

    target: np.ndarray
    draft: np.ndarray
    ratio: np.ndarray


def gathered(p: np.ndarray, q: np.ndarray) -> Gathered:
    """Return the tokens in the order of p / q, in bins of about as many; a token of any mass may be alone."""
    order = np.argsort(np.divide(p, q, out=np.full_like(p, np.inf), where=q > 0), kind="stable")
    starts = np.unique(np.linspace(0, len(p), min(BINS, len(p)), endpoint=False).astype(int))
    a, b = (np.add.reduceat(row[order], starts) for row in (p, q))
    return Gathered(a, b, np.divide(a, b, out=np.zeros_like(a), where=b > 0))


def traversal(p: np.ndarray, q: np.ndarray, children: Sequence[int]) -> float:
    """E[tau] of traversal verification, which keeps equal siblings apart.

    A node's children meet rows that its own weight decides: after k rejections what is left, times the weight, is
    max(c p - e q, 0). So the probability that a branch is accepted, and the expected depth then, are functions of its
    weight alone, from the leaves up. Read off a grid: a test compares them with exact laws.
    """
    rows, weights = gathered(p, q), np.linspace(0, 1, GRID)
    accepted, depth = weights, len(children) * weights  # of a leaf
    for level in range(len(children) - 1, -1, -1):
        below = partial(_below, rows, np.stack([accepted, depth]), children[level])
        found = [below(a, level) for a in (weights if level else [1.0])]
        accepted, depth = np.array(found).T
    return float(depth[-1])


def _below(rows: Gathered, values: np.ndarray, count: int, weight: float, level: int) -> tuple[float, float]:
    """Pr(a node or a branch below it is accepted), and the expected depth on that event; values: of the children."""
    weights, (c, e), kept = np.linspace(0, 1, values.shape[1]), (weight, 0.0), 1.0
    accepted = depth = 0.0
    for _ in range(count):
        branch = np.clip(c * rows.ratio - e, 0, 1)
        a, d = (float(rows.draft @ np.interp(branch, weights, value)) for value in values)
        accepted, depth, kept = accepted + kept * a, depth + kept * d, kept * (1 - a)
        left = float(np.maximum(c * rows.target - (e + 1) * rows.draft, 0).sum())
        scale = left + 1 - weight
        if scale <= 0:
            continue  # the rows are one another's: nothing is rejected
        weight, c, e = (left / scale, c / scale, (e + 1) / scale) if left > 0 else (0.0, 0.0, 0.0)
    own = weight if level else 1.0
    return accepted + kept * own, depth + kept * own * level


def scaled_transport(p: np.ndarray, q: np.ndarray, children: Sequence[int]) -> tuple[float, float]:
    """What the transport scaled by the prefix accepts, at least and at most, however its plans are spread; siblings
    that are equal count once.

    A node of weight a moves m(a) = min(a, 1 + the least a p(H) - q(H)^k) to its children's weights, whose mean it is:
    E[tau] below lies between the hulls, from below and from above, of what it is at each weight.
    """
    rows, weights = gathered(p, q), np.linspace(0, 1, GRID)
    upto, behind = np.cumsum(rows.target), np.minimum(np.cumsum(rows.draft), 1)
    low = high = len(children) * weights  # of a leaf
    for level in range(len(children) - 1, -1, -1):
        moved = 1 + np.array([min(0.0, a - 1, (a * upto - behind ** children[level]).min()) for a in weights])
        own = (weights - moved) * level
        low = own - np.interp(moved, weights, _hull(weights, -low))
        high = own + np.interp(moved, weights, _hull(weights, high))
    return float(low[-1]), float(high[-1])


def _hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the least concave function above these values."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (y[b] - y[a]) * (x[i] - x[a]) > (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.interp(x, x[kept], y[kept])


def greedy_multi_path(
    p: np.ndarray, q: np.ndarray, paths: int, gamma: int, samples: int = 4000, seed: int = 28
) -> tuple[float, float]:
    """E[tau] of greedy multi-path block verification of independent paths, and its standard error.

    The chosen path is sampled by the distribution function of its law; given the path E[tau] is a sum over block
    verification's coins.
    """
    order = np.argsort(np.divide(p, q, out=np.full_like(p, np.inf), where=q > 0), kind="stable")
    target, draft = p[order], q[order]
    upto = np.minimum(np.cumsum(draft), 1)
    found = np.empty(samples)
    first = chosen_upto(upto, 1.0, paths)
    for s, draws in enumerate(np.random.default_rng(seed).random((samples, gamma))):
        share, weight, law, coins = 1.0, 1.0, first, np.zeros(gamma)
        for i, u in enumerate(draws):
            x = int(np.searchsorted(law, u, side="right").clip(max=len(p) - 1))
            weight = min(1.0, weight * target[x] / (law[x] - (law[x - 1] if x else 0)))
            share = share * draft[x] / (1 - share * (1 - upto[x]))
            coins[i] = weight
            if i + 1 < gamma:
                law = chosen_upto(upto, share, paths)
                left = float(np.maximum(weight * target - np.diff(law, prepend=0.0), 0).sum())
                coins[i] = left / (left + 1 - weight) if left + 1 > weight else 1.0
        found[s] = gamma - np.cumprod(1 - coins[::-1]).sum()
    return float(found.mean()), float(found.std() / sqrt(samples))


def chosen_upto(upto: np.ndarray, share: float, paths: int) -> np.ndarray:
    """Pr(the chosen path goes on with one of the tokens up to each), worse ones first.

    share: of the path's prefix in the draft's mass of it and all worse ones.
    """
    with np.errstate(divide="ignore"):
        worse, each = (np.expm1(paths * np.log1p(-share * rest)) for rest in (1.0, 1 - upto))
    return (each - worse) / -worse
