"""Naive sampling: a sample of the target decides, and a child that has the same token is accepted."""

from ..chance import Chance
from .descent import Choice, Siblings


def step(siblings: Siblings, chance: Chance) -> Choice:
    """y ~ M_b; accepted if a sibling has the token y.

    Guarantee: valid for any way of drafting, known or not: y never depends on the drafts. With k independent drafts
    Pr(accepted) = sum_x M_b(x) (1 - (1 - M_s(x))^k).
    Source: Miao et al. 2024 (SpecInfer), Section 4.3, the baseline "naive sampling".
    """
    y = chance.draw(siblings.target)
    return Choice(y, y in siblings.tokens)
