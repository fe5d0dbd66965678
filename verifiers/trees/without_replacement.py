"""Recursive rejection without replacement: a rejected token leaves the draft's row too."""

from ..arithmetic import minimum, normalised, or_else, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x_i with probability min(1, p(x_i) / q(x_i)), else p <- norm(max(p - q, 0)), q <- norm(q without x_i).

    q starts as the row of the first sibling; the rows of the others are not looked at. Where it is used up, Y ~ p.
    Guarantee: valid where siblings are drawn without replacement; with as many siblings as tokens of positive
    probability one of them is accepted whenever the target allows no other token.
    Source: Chen et al. 2024 (Sequoia), Algorithm 2; Li et al. 2024 (EAGLE); Jeon et al. 2024; Yang et al. 2024.
    """
    p, q = list(siblings.target), list(siblings.drafts[0])
    for k, x in enumerate(siblings.tokens):
        if sum(q) == 0:
            break
        q = normalised(q) if k > 0 else q
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        p = normalised(or_else(residual(p, q), p))
        q[x] = 0
    return Choice(chance.draw(p), False)
