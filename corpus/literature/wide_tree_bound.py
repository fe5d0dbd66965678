"""What any valid rule accepts of a draft tree over a wide vocabulary at most, and what rules do: an interval on E[tau].

For rows that do not depend on the text, and siblings drawn independently. A valid rule accepts texts that begin with x
with D(x) <= M_b(x), and one path of the tree. So for any sets H_i of texts of i tokens

    E[tau] <= sum over i of M_b(H_i) + E of max over the paths of the tree of how many of its texts x^i are not in H_i.

Here H_i has the texts whose tokens' log ratios target / draft, rounded to a lattice, add up to less than t_i: then both
terms are recursions over depths on that lattice. With other sets by rounding it stays a bound. On a single path it is
Lemma 10 of Sun et al. 2025, in one step the cut of optimal transport.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any, NamedTuple

import numpy as np

SPACING, WIDEST = 0.1, 6.0
"""The lattice of log ratios: its spacing, and where ratios are cut off."""

ROUNDING = 1e-9
"""What is added for the arithmetic in float64."""


class Ratios(NamedTuple):
    """The mass of target and draft at each place of the lattice, from -WIDEST to WIDEST."""

    target: np.ndarray
    draft: np.ndarray


def ratios_of(target: np.ndarray, draft: np.ndarray, spacing: float = SPACING) -> Ratios:
    """Tokens by log(target / draft), rounded to the lattice."""
    ratio = np.divide(target, draft, out=np.full_like(target, np.inf), where=draft > 0)
    with np.errstate(divide="ignore"):
        places = np.rint((np.clip(np.log(ratio), -WIDEST, WIDEST) + WIDEST) / spacing).astype(int)
    width = round(2 * WIDEST / spacing) + 1
    return Ratios(*(np.bincount(places, weights=row, minlength=width) for row in (target, draft)))


def bound(ratios: Ratios, children: Sequence[int], thresholds: Sequence[int]) -> float:
    """Return the bound on E[tau] by the sets of sums of places below thresholds, one for each depth."""
    depths, width = len(children), len(ratios.draft)
    sums, inside = np.ones(1), 0.0
    for threshold in thresholds:
        sums = np.convolve(sums, ratios.target)
        inside += float(sums[:threshold].sum())
    # at each sum: Pr(at most v texts outside H below a node of that sum), for v = 0..depths
    below = np.ones((depths * (width - 1) + 1, depths + 1))
    for depth in range(depths - 1, -1, -1):
        outside = np.arange(len(below)) >= thresholds[depth]
        shifted = np.hstack([np.zeros((len(below), 1)), below[:, :-1]])
        counted = np.where(outside[:, None], shifted, below)
        length = depth * (width - 1) + 1
        child = np.zeros((length, depths + 1))
        for place in np.flatnonzero(ratios.draft):
            child += ratios.draft[place] * counted[place : place + length]
        below = np.minimum(child, 1) ** children[depth]
    return inside + float((1 - below[0, :-1]).sum()) + ROUNDING


def best_bound(ratios: Ratios, children: Sequence[int]) -> tuple[float, list[int]]:
    """Return the least bound found, and its thresholds: one depth after the other, by smaller and smaller steps."""
    middle = (len(ratios.draft) - 1) // 2
    best = [middle * (depth + 1) for depth in range(len(children))]
    least, step = bound(ratios, children, best), 32
    while step:
        moved = False
        for depth in range(len(best)):
            for move in (step, -step):
                other = [*best[:depth], max(best[depth] + move, 0), *best[depth + 1 :]]
                if (value := bound(ratios, children, other)) < least - 1e-12:
                    least, best, moved = value, other, True
        step = step if moved else step // 2
    return least, best


# Pr(one of k independent drafts is accepted), of one step of each rule


def naive(p: np.ndarray, q: np.ndarray, k: int) -> float:
    """sum p (1 - (1 - q)^k)."""
    return float(p @ -np.expm1(k * np.log1p(-np.minimum(q, 1 - 1e-16))))


def multi_round(p: np.ndarray, q: np.ndarray, k: int) -> float:
    """1 - product of the rejections, the target's row being what is left of it."""
    rejected, left = 1.0, p
    for _ in range(k):
        rest = np.maximum(left - q, 0)
        total = float(rest.sum())
        rejected *= total
        if total == 0:
            break
        left = rest / total
    return 1 - rejected


def k_seq(p: np.ndarray, q: np.ndarray, k: int) -> float:
    """1 - (1 - beta)^k at the least rho with 1 - (1 - beta)^k <= rho beta, by bisection from above."""
    low, high = 1.0, float(k)
    for _ in range(40):
        middle = (low + high) / 2
        beta = float(np.minimum(q, p / middle).sum())
        low, high = (low, middle) if 1 - (1 - beta) ** k <= middle * beta else (middle, high)
    return 1 - (1 - float(np.minimum(q, p / high).sum())) ** k


def transport(p: np.ndarray, q: np.ndarray, k: int) -> float:
    """1 + the least p(H) - q(H)^k over the sets H of the smallest ratios p / q."""
    order = np.argsort(np.divide(p, q, out=np.full_like(p, np.inf), where=q > 0), kind="stable")
    return 1 + min(0.0, float((np.cumsum(p[order]) - np.minimum(np.cumsum(q[order]), 1) ** k).min()))


RULES: dict[str, Callable[[np.ndarray, np.ndarray, int], float]] = {
    "naive": naive, "spec-infer": multi_round, "k-seq": k_seq, "optimal-transport": transport,
}  # fmt: skip
"""Rules that go down one token at a time."""


def accepted_by(rule: str, p: np.ndarray, q: np.ndarray, children: Sequence[int]) -> float:
    """E[tau] of a rule where equal siblings count once: sum over depths of the product of Pr(accepted)."""
    return sum(accumulate((RULES[rule](p, q, k) for k in children), mul))


def shares(p: np.ndarray, q: np.ndarray, children: Sequence[int]) -> dict[str, Any]:
    """Return the interval in which the largest E[tau] lies, and E[tau] of each rule.

    Guarantee: no valid rule accepts more than "bound"; "reached" is what the best of these rules accepts.
    """
    tau = {rule: accepted_by(rule, p, q, children) for rule in RULES}
    return {"reached": max(tau.values()), "bound": best_bound(ratios_of(p, q), children)[0], **tau}
