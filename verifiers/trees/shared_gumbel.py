"""Shared randomness: draft and target pick their tokens with one Gumbel noise, and a draft is kept if both agree."""

from functools import lru_cache

from ..arithmetic import Number, Row
from ..chance import Chance
from .descent import Choice, Siblings
from .list_gumbel import given_drafts


@lru_cache(maxsize=4096)
def coupled(target: Row, draft: Row) -> list[list[Number]]:
    """Return Pr(the draft picks x and the target y), [V, V].

    With E_v exponential, the draft picks the least E_v / q_v, at a time s, and the target the least E_v / p_v, at a
    time t. Both are as asked where E_x = q_x s, E_y = p_y t and every other E_v is at least max(q_v s, p_v t). For r =
    t / s that leaves, x and y different,
        q_x p_y integral of dr / m(r)^2 from q_y / p_y to q_x / p_x, m(r) = sum_v max(q_v, p_v r),
    whose slope is constant between the ratios q_v / p_v; and q_x / m(q_x / p_x) where both pick x.
    """
    ratios = {v: q / p for v, (p, q) in enumerate(zip(target, draft, strict=True)) if p != 0}
    order = sorted(ratios, key=ratios.__getitem__)
    least = [1 / sum(max(q, p * ratios[v]) for p, q in zip(target, draft, strict=True)) for v in order]
    upto, slope, total = {}, 0, 0
    for v, here, after in zip(order, least, [*least[1:], 0], strict=True):
        upto[v] = total
        slope += target[v]
        total += (here - after) / slope
    joint = [[q * p * max(upto.get(x, total) - upto.get(y, total), 0) for y, p in enumerate(target)]
             for x, q in enumerate(draft)]  # fmt: skip
    for x, here in zip(order, least, strict=True):
        joint[x][x] = draft[x] * here
    return joint


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Return the target's pick under the noise with which the draft picked x; accepted if it is x.

    Pr(y | x) = coupled[x][y] / q(x), computed as list matching with one draft: by sums of positive numbers alone.
    Guarantee: valid for a single draft; Pr(accepted) >= (1 - TV) / (1 + TV). For a seed of the noise the text is the
        same whichever draft is used.
    Source: Daliri et al. 2024, "Coupling without Communication and Drafter-Invariant Speculative Decoding".
    """
    (x,) = siblings.tokens
    y = chance.draw(given_drafts(tuple(siblings.target), tuple(siblings.drafts[0]), (x,)))
    return Choice(y, y == x)
