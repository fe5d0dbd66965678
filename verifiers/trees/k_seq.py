"""k-SEQ: each of k independent drafts is tested against the same share of the target."""

from functools import lru_cache
from math import prod

from ..arithmetic import Number, Row, minimum, or_else, ratio
from ..chance import Chance
from .descent import Choice, Siblings

HALVINGS = 20
"""rho is at most k / 2^20 above rho*."""


def shares(target: Row, draft: Row, rho: Number) -> list[Number]:
    """Return min(q, p / rho) for each token, [V]; their sum is beta(rho)."""
    return [minimum(q, p / rho) for p, q in zip(target, draft, strict=True)]


def is_valid(target: Row, draft: Row, k: int, rho: Number) -> bool:
    """Return whether k-SEQ keeps the target's law: 1 - (1 - beta)^k <= rho beta."""
    beta = sum(shares(target, draft, rho))
    return 1 - prod([1 - beta] * k) <= rho * beta


@lru_cache(maxsize=4096)
def smallest_rho(target: Row, draft: Row, k: int) -> Number:
    """Return a number just above rho*, the solution of 1 - (1 - beta)^k = rho beta in [1, k], at which k-SEQ is valid.

    By bisection: rho = k is valid (Bernoulli's inequality), and the upper end stays valid. Hence exactly valid with
    exact numbers, though rho* itself is seldom rational.
    """
    low = sum(target)
    if is_valid(target, draft, k, low):
        return low
    high = low / low * k  # of the row's type, and k itself: what is sure to be valid, however its sum is rounded
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_valid(target, draft, k, middle) else (middle, high)
    return high


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept the first x_i that passes a coin of min(1, p(x_i) / (rho q(x_i))); else Y from what they did not take.

    Y ~ p - min(q, p / rho) p_acc / beta, p_acc = 1 - (1 - beta)^k, beta = sum_x min(q, p / rho).
    Guarantee: valid for siblings drawn independently from one row, for any rho with p_acc <= rho beta; Pr(accepted) =
    p_acc is at least 1 - (1 - 1/k)^k of the largest possible.
    Source: Sun et al. 2023 (SpecTr), Algorithm 3, Theorem 2.
    """
    p, q, k = siblings.target, siblings.drafts[0], len(siblings.tokens)
    rho = smallest_rho(tuple(p), tuple(q), k)
    return k_sequential_selection(siblings, rho, chance)


def k_sequential_selection(siblings: Siblings, rho: Number, chance: Chance) -> Choice:
    """Verify by k-SEQ for a given rho."""
    p, q, k = siblings.target, siblings.drafts[0], len(siblings.tokens)
    for x in siblings.tokens:
        if chance.flip(minimum(ratio(p[x], rho * q[x]), 1)):
            return Choice(x, True)
    taken = shares(p, q, rho)
    beta = sum(taken)
    accepted = 1 - prod([1 - beta] * k)
    rest = [w - t * accepted / beta for w, t in zip(p, taken)] if beta != 0 else p
    return Choice(chance.draw(or_else(rest, p)), False)
