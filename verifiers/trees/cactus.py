"""Cactus: the target's probability of the drafted token is raised before it is tested. Lossy."""

from math import sqrt

from ..arithmetic import Number, Row, minimum, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings, Step
from .typical import as_float

FINE = 2**40
"""The raised probability is rounded to this denominator."""


def raised(target: Row, x: int, delta: float) -> list[Number]:
    """h: h(x) = min(1, p(x) + sqrt(2 delta p(x) (1 - p(x)))), the other tokens of p scaled to the rest, [V]."""
    p, one = as_float(target[x]), sum(target)
    if target[x] == one:
        return list(target)
    more = one * int(sqrt(2 * delta * p * (1 - p)) * FINE) / FINE
    h = minimum(target[x] + more, one)
    return [h if t == x else w * (one - h) / (one - target[x]) for t, w in enumerate(target)]


def cactus_step(delta: float = 0.1) -> Step:
    """Token verification against h, which the drafted token itself decides.

    Guarantee: not valid. What comes out is no mixture of the h: each is used where its own token is drafted.
    Source: Hao and Mou 2026 (Cactus); MANGA-UOFA/Cactus at 3b01b816, cactus/cactus.py, solve_constraint.
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        h = raised(siblings.target, x, delta)
        if chance.flip(minimum(ratio(h[x], q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(h, q)), False)

    return step
