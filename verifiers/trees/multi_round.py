"""Multi-round rejection: one sibling after the other is tested against what those before it left of the target."""

from ..arithmetic import minimum, normalised, or_else, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x_i with probability min(1, p(x_i) / q_i(x_i)), else p <- norm(max(p - q_i, 0)); at the end Y ~ p.

    q_i: the row that x_i was drawn from.
    Guarantee: valid where x_i was drawn from q_i given its elder siblings. So with replacement (q_i = M_s), from
    several drafts, without replacement, and for tokens that were not drawn at all (q_i a point mass).
    Source: Miao et al. 2024 (SpecInfer), Algorithm 2.
    """
    p = list(siblings.target)
    for x, q in zip(siblings.tokens, siblings.drafts, strict=True):
        if chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        p = normalised(or_else(residual(p, q), p))
    return Choice(chance.draw(p), False)
