"""Relaxed acceptance: a draft is kept if it is among the target's best tokens and not far below the best. Lossy."""

from ..chance import Chance
from .descent import Choice, Siblings, Step


def top_n_step(n: int = 2, tenths: int = 6) -> Step:
    """Accept the first sibling among the n likeliest tokens with p(x) >= max p - delta, delta in tenths; else Y ~ p.

    Ties go to the smaller id.
    Guarantee: not valid. With one draft, and A the tokens that pass, the law is q(x) [x in A] + q(not A) p(x).
    Source: TensorRT-LLM, relaxed acceptance of multi-token prediction (N = 10, delta = 0.6; n = 2 here, for V of 2 or
        3).
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        p = siblings.target
        best = sorted(range(len(p)), key=lambda t: (-p[t], t))[:n]
        for x in siblings.tokens:
            if x in best and 10 * (p[best[0]] - p[x]) <= tenths:
                return Choice(x, True)
        return Choice(chance.draw(p), False)

    return step
