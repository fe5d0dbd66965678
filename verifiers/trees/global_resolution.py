"""Global Resolution: of the drafted tokens one is chosen in proportion to weights, which a convex problem gives."""

from functools import lru_cache

from ..arithmetic import Number, Row, minimum, positive_part
from ..chance import Chance
from .descent import Choice, Siblings, Step
from .draft_tree import IID
from .optimal_transport import Drafts, law_of_drafts
from .typical import as_float

SWEEPS = 100
"""Sweeps of the solver."""

FEW_SWEEPS = 3
"""Sweeps of a solver that is stopped early."""

FINE = 2**40
"""Weights are rounded to this denominator."""


def overfull(target: Row, draft: Row, count: int) -> frozenset[int]:
    """Return H, the tokens that the drafts have more than enough of: the least p(H) - q(H)^n.

    Of the V + 1 sets of the smallest ratios p / q: no other set has less.
    """
    order = sorted((t for t, q in enumerate(draft) if q != 0), key=lambda t: (target[t] / draft[t], t))
    p, q, best, least = 0, 0, 0, 0
    for size, t in enumerate(order, start=1):
        p, q = p + target[t], q + draft[t]
        power = q
        for _ in range(count - 1):
            power = power * q
        if p - power < least:
            best, least = size, p - power
    return frozenset(order[:best])


def weighed(
    target: Row, draft: Row, count: int, sweeps: int
) -> tuple[dict[Drafts, Number], dict[Drafts, Drafts], list[Number]]:
    """Return Pr(S) and A(S) of the drafts S, and e^w(x) as a multiple of 2^-40, [V].

    S that lies in H may leave its token to those outside H, and any other S gives it to its tokens outside H: A(S).
    x of A(S) is chosen with probability e^w(x) / sum over A(S) of e^w, where w minimises
        sum over S of Pr(S) log(sum over A(S) of e^w) - sum over x of p(x) w(x),
    so that what is chosen follows p. By scaling one token after the other, in floats; the shares are exact numbers.
    """
    one, full = sum(target), overfull(target, draft, count)
    law = law_of_drafts(draft, count, IID)
    outside = tuple(t for t in range(len(target)) if t not in full)
    among = {s: s + outside if full.issuperset(s) else tuple(t for t in s if t not in full) for s in law}
    mass, p = {s: as_float(m) for s, m in law.items()}, [as_float(w) for w in target]
    weights = [float(w > 0) for w in p]
    for _ in range(sweeps):
        column = [0.0] * len(p)
        for s, tokens in among.items():
            total = sum(weights[t] for t in tokens)
            for t in tokens if total > 0 else ():
                column[t] += mass[s] * weights[t] / total
        weights = [w * a / c if c > 0 else 0.0 for w, a, c in zip(weights, p, column, strict=True)]
        largest = max(weights)
        weights = [w / largest for w in weights]
    return law, among, [one * round(w * FINE) for w in weights]


@lru_cache(maxsize=4096)
def solved(target: Row, draft: Row, count: int, sweeps: int) -> tuple[dict[Drafts, dict[int, Number]], list[Number]]:
    """Return Pr(x is accepted of the drafts S) for each S, and Pr(x is drafted and accepted), [V], by ``weighed``."""
    one = sum(target)
    law, among, fine = weighed(target, draft, count, sweeps)
    shares: dict[Drafts, dict[int, Number]] = {}
    for s, tokens in among.items():
        total = sum(fine[t] for t in tokens)
        shares[s] = {t: fine[t] / total if total != 0 and t in tokens else 0 * one for t in s}
    accepted = [sum((law[s] * share[t] for s, share in shares.items() if t in share), 0) for t in range(len(target))]
    return shares, accepted


def global_resolution_step(sweeps: int = SWEEPS, capped: bool = True) -> Step:
    """Accept x of the drafts S with its share, else Y from what is left of the target.

    capped: x is accepted of no draft more often than the target has it: its shares are scaled by min(1, p / accepted).
    Guarantee: capped, valid for siblings drawn independently from one row, whatever the solver returned; Pr(accepted)
        tends to the largest of all valid rules with the sweeps. Not capped, the law is off by what the solver left:
        TV = sum of max(accepted - p, 0).
    Source: Thomas and Pal 2025, "Global Resolution" (abstract; the shares are from "convex problem in V variables").
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        p, q = tuple(siblings.target), tuple(siblings.drafts[0])
        shares, accepted = solved(p, q, len(siblings.tokens), sweeps)
        scale = [minimum(a / b, 1) if capped and b != 0 else 1 for a, b in zip(p, accepted, strict=True)]
        drafts = tuple(sorted(set(siblings.tokens)))
        weights = [shares[drafts][x] * scale[x] for x in drafts]
        k = chance.draw([*weights, positive_part(sum(p) - sum(weights))])
        if k < len(drafts):
            return Choice(drafts[k], True)
        left = [positive_part(a - b * c) for a, b, c in zip(p, accepted, scale, strict=True)]
        return Choice(chance.draw(left if sum(left) != 0 else p), False)

    return step


step = global_resolution_step()
