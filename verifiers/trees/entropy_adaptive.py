"""Entropy-adaptive rejection (EARS): the less sure the target is, the more the coin is lowered. Lossy."""

from ..arithmetic import minimum, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings, Step


def entropy_adaptive_step(tenths: int = 3) -> Step:
    """Token verification that accepts with probability min(1, p(x) / q(x) + t), t = tolerance (1 - max p).

    tenths: the tolerance, VLLM_EARS_TOLERANCE.
    Guarantee: not valid. TV of one token = sum over q > p of min(q - p, t q): what is accepted beyond min(p, q); it is
        drawn from the rejected mass, all of which lies where p > q.
    Source: vllm#31483, vllm-ascend#7845, by their descriptions: the uniform is lowered by tolerance x (1 - max p).
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        lowered = tenths * (1 - max(p)) / 10
        if chance.flip(minimum(ratio(p[x], q[x]) + lowered, 1) if p[x] != 0 or lowered != 0 else 0):
            return Choice(x, True)
        return Choice(chance.draw(residual(p, q)), False)

    return step
