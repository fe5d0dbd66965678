"""Static ensemble: the draft is verified against a mixture of target and draft. Lossy."""

from ..arithmetic import Number, minimum, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings, Step


def ensemble_step(part: int = 1, whole: int = 2) -> Step:
    """Token verification against v = w p + (1 - w) q, w = part / whole.

    Guarantee: not valid for w < 1. Each token follows v where a draft is verified, and p after the whole block; so the
    first token is (1 - w) TV(p, q) away from the target.
    Source: DIVERSE (2604.07622); transformers, assistant_ensemble_weight.
    """

    def mixed(p: Number, q: Number) -> Number:
        return (part * p + (whole - part) * q) / whole

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        if chance.flip(minimum(ratio(mixed(p[x], q[x]), q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(list(map(mixed, p, q)), q)), False)

    return step
