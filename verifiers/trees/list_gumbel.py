"""List matching by shared noise: each draft picks by noise of its own, the target by the least noise of them all."""

from functools import lru_cache

from ..arithmetic import Number, Row, normalised
from ..chance import Chance
from .descent import Choice, Siblings

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


def step(siblings: Siblings, chance: Chance) -> Choice:
    """The target's pick under the noise with which the drafts picked; accepted if it is one of theirs.

    Draft k picks the least E_kv / q_v, the target the least min_k E_kv / p_v, all E exponential.
    Guarantee: valid for siblings drawn independently from one row; with one draft it is ``shared_gumbel``.
    Source: Rowan, Phan and Khisti 2025, "List-Level Distribution Coupling" (Gumbel-max list sampling).
    """
    target, draft = tuple(siblings.target), tuple(siblings.drafts[0])
    order = tuple(sorted(siblings.tokens))
    y = chance.draw(given_drafts(target, draft, order))
    return Choice(y, y in order)
