"""Cactus: the target's probability of the drafted token is raised before it is tested. Lossy."""

from math import sqrt

from ..arithmetic import Number, Row, minimum, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings, Step
from .typical import as_float

FINE = 2**40
"""The raised probability is rounded to this denominator."""


DELTA = 0.1
"""Of the rule ``cactus``: by how much half the chi-square divergence of h from p may be."""


def peak(target: Row, x: int, delta: float) -> Number:
    """h(x) = min(1, p(x) + sqrt(2 delta p(x) (1 - p(x))))."""
    p, one = as_float(target[x]), sum(target)
    more = int(sqrt(max(2 * delta * p * (1 - p), 0)) * FINE)
    return minimum(target[x] + one * more / FINE, one)


def raised(target: Row, x: int, h: Number) -> list[Number]:
    """h: the other tokens of p are scaled to what h(x) leaves, [V]."""
    one = sum(target)
    share = (one - h) / (one - target[x]) if target[x] != one else 0
    return [h if t == x else w * share for t, w in enumerate(target)]


def cactus_step(delta: float = DELTA) -> Step:
    """Token verification against h, which the drafted token itself decides.

    Guarantee: not valid. What comes out is no mixture of the h: each is used where its own token is drafted.
    Source: Hao and Mou 2026 (Cactus); MANGA-UOFA/Cactus at 3b01b816, cactus/cactus.py, solve_constraint.
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        if p[x] > q[x]:  # h(x) is at least p(x)
            return Choice(x, True)
        h = peak(p, x, delta)
        if chance.flip(minimum(ratio(h, q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(raised(p, x, h), q)), False)

    return step
