"""Verification of chosen tokens: the siblings are the most likely tokens, and no draft probability is needed."""

from ..arithmetic import normalised, or_else
from ..chance import Chance
from .descent import Choice, Siblings


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x_i with probability p(x_i), else p <- norm(p without x_i); at the end Y ~ p.

    Guarantee: valid for any choice of distinct siblings that does not depend on the target's sample; Pr(accepted) is
    the target's mass on them. It is multi-round rejection with q_i a point mass.
    Source: SafeAILab/EAGLE, evaluate_posterior (EAGLE-2 and later, temperature above 0).
    """
    p = list(siblings.target)
    for x in siblings.tokens:
        if chance.flip(p[x]):
            return Choice(x, True)
        p = normalised(or_else([0 if t == x else w for t, w in enumerate(p)], p))
    return Choice(chance.draw(p), False)
