"""Shared randomness: draft and target pick their tokens with one Gumbel noise, and a draft is kept if both agree."""

from functools import lru_cache

from ..arithmetic import Number, Row, normalised
from ..chance import Chance
from .descent import Choice, Siblings


@lru_cache(maxsize=4096)
def coupled(target: Row, draft: Row) -> list[list[Number]]:
    """Pr(the draft picks x and the target y), [V, V].

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


def shared_gumbel_step(siblings: Siblings, chance: Chance) -> Choice:
    """The target's pick under the noise with which the draft picked x; accepted if it is x.

    Guarantee: valid for a single draft; Pr(accepted) >= (1 - TV) / (1 + TV). For a seed of the noise the text is the
        same whichever draft is used.
    Source: Daliri et al. 2024, "Coupling without Communication and Drafter-Invariant Speculative Decoding".
    """
    (x,) = siblings.tokens
    y = chance.draw(coupled(tuple(siblings.target), tuple(siblings.drafts[0]))[x])
    return Choice(y, y == x)


Decays = dict[Number, Number]
"""rate -> coefficient of a sum of exponentials, sum of coefficient exp(-rate t)."""


def picked(target: Row, draft: Row, x: int, first: int | None = None) -> Decays:
    """Pr(a draft picks x), given that no noise of it lies before the target's time t.

    It picks the least E_v / q_v, and E_v >= p_v t: token v is out before p_v t / q_v, and comes at the rate q_v after.
    first: the token whose noise is p t itself, for the draft that has the least noise; it ends the race.
    """
    start = {v: p / q for v, (p, q) in enumerate(zip(target, draft, strict=True)) if q != 0}
    end = None if first is None else start.pop(first, None)

    def rate(time: Number) -> Number:
        return sum(draft[v] * (time - s) for v, s in start.items() if s < time)

    if x == first:
        return {rate(end): sum(target)} if end is not None else {}
    if x not in start or (end is not None and start[x] >= end):
        return {}
    law: Decays = {}
    later = sorted({s for s in start.values() if s > start[x] and (end is None or s < end)})
    for low, high in zip([start[x], *later], [*later, end], strict=True):
        share = draft[x] / sum(draft[v] for v, s in start.items() if s <= low)
        for time, part in ((low, share), (high, -share)):
            if time is not None:
                law[rate(time)] = law.get(rate(time), 0) + part
    return law


def product(factors: list[Decays]) -> Decays:
    """The product of sums of exponentials."""
    law, *others = factors
    for factor in others:
        longer: Decays = {}
        for (r, a), (s, b) in ((one, other) for one in law.items() for other in factor.items()):
            longer[r + s] = longer.get(r + s, 0) + a * b
        law = longer
    return law


@lru_cache(maxsize=4096)
def given_drafts(target: Row, draft: Row, tokens: tuple[int, ...]) -> list[Number]:
    """The law of the target's pick, given what the drafts picked, [V].

    The target picks y at a time t of rate K, for K drafts; which of them has that noise is even. Given both, the
    drafts are independent: so what remains is one integral over t of a product of sums of exponentials.
    """
    k = len(tokens)
    others = [picked(target, draft, x) for x in tokens]
    law = []
    for y, p in enumerate(target):
        total = 0
        for i, x in enumerate(tokens if p != 0 else ()):
            factors = [picked(target, draft, x, first=y), *others[:i], *others[i + 1 :]]
            total += sum((a / (k + rate) for rate, a in product(factors).items()), 0)
        law.append(p * total)
    return normalised(law)


def matching_bound(target: Row, draft: Row, count: int) -> Number:
    """sum_j K / (sum_i max(q_i / q_j, p_i / p_j) + (K - 1) / p_j): what the drafts match at least.

    The term of j: one draft picks j by the least of all its noises. Derived here from the scheme.
    """
    both = [j for j, (p, q) in enumerate(zip(target, draft, strict=True)) if p != 0 and q != 0]
    return sum(
        count
        / (sum(max(q / draft[j], p / target[j]) for p, q in zip(target, draft, strict=True)) + (count - 1) / target[j])
        for j in both
    )


def list_gumbel_step(siblings: Siblings, chance: Chance) -> Choice:
    """The target's pick under the noise with which the drafts picked; accepted if it is one of theirs.

    Draft k picks the least E_kv / q_v, the target the least min_k E_kv / p_v, all E exponential.
    Guarantee: valid for siblings drawn independently from one row; with one draft it is ``shared_gumbel``.
    Source: Rowan, Phan and Khisti 2025, "List-Level Distribution Coupling" (Gumbel-max list sampling).
    """
    target, draft = tuple(siblings.target), tuple(siblings.drafts[0])
    order = tuple(sorted(siblings.tokens))
    y = chance.draw(given_drafts(target, draft, order))
    return Choice(y, y in order)
