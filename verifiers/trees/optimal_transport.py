"""The optimal-transport rule: of all valid rules for one step, the one that accepts a draft most often."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import NamedTuple

from ..arithmetic import Number, Row, minimum, or_else, positive_part, quotient, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings
from .draft_tree import HUB, IID, TOP

Drafts = tuple[int, ...]
"""The distinct tokens among some siblings, in ascending order."""


def law_of_drafts(row: Row, count: int, how: str) -> dict[Drafts, Number]:
    """Pr(the siblings are these tokens), for ``count`` siblings drawn from a row.

    Independent draws by the multinomial law; draws without replacement one after the other, the tokens taken so far
    merged; with a hub it and another token, whichever comes first.
    """
    law: dict[Drafts, Number] = {}
    if how == TOP:
        best = sorted(range(len(row)), key=lambda t: (-row[t], t))[:count]
        return {tuple(sorted(best)): 1}
    if how == IID:
        support = [t for t, q in enumerate(row) if q != 0]
        for drawn in combinations_with_replacement(support, count):
            times = [drawn.count(t) for t in set(drawn)]
            orders = factorial(count) // prod(map(factorial, times))
            drafts = tuple(sorted(set(drawn)))
            law[drafts] = law.get(drafts, 0) + orders * prod((row[t] for t in drawn[1:]), start=row[drawn[0]])
        return law
    if how == HUB and count > 1:
        most, one = max(range(len(row)), key=lambda t: (row[t], -t)), sum(row)
        if row[most] == one:
            return {(most,): one}
        return {tuple(sorted((most, t))): q + row[most] * q / (one - row[most]) for t, q in enumerate(row)
                if t != most and q != 0}  # fmt: skip
    law = {(): sum(row)}
    for _ in range(count):
        longer: dict[Drafts, Number] = {}
        for drafts, mass in law.items():
            rest = {t: q for t, q in enumerate(row) if q != 0 and t not in drafts}
            total = sum(rest.values())
            for t, q in rest.items():
                more = tuple(sorted((*drafts, t)))
                longer[more] = longer.get(more, 0) + mass * q / total
            if not rest:
                longer[drafts] = longer.get(drafts, 0) + mass
        law = longer
    return law


class TransportPlan(NamedTuple):
    """An optimal transport from drafts to tokens.

    moved: drafts -> token -> Pr(these are drafted, and this one of them is accepted).
    left: what is left of the target, [V].
    refused: drafts -> Pr(these are drafted, and none of them is accepted).
    full: the tokens of the dual, H: no valid rule accepts more than 1 + p(H) - Pr(all drafts lie in H).
    """

    moved: Mapping[Drafts, Mapping[int, Number]]
    left: list[Number]
    refused: Mapping[Drafts, Number]
    full: frozenset[int]

    @property
    def accepted(self) -> Number:
        """The largest probability with which a draft can be accepted."""
        return sum(w for row in self.moved.values() for w in row.values())


@lru_cache(maxsize=4096)
def best_plan(target: Row, draft: Row, count: int, how: str) -> TransportPlan:
    """The largest flow from drafts to tokens: drafts S supply Pr(S), tokens take up to p(x), S leads to x in S.

    By shortest augmenting paths, exact for exact numbers. The dual is the smallest cut.
    Source: Sun et al. 2023 (SpecTr), Section 3; Hu et al. 2025 and Khisti et al. 2025 for the dual, a choice of a set
        H.
    """
    supply, room = law_of_drafts(draft, count, how), list(target)
    moved: dict[Drafts, dict[int, Number]] = {s: dict.fromkeys(s, 0) for s in supply}
    while True:
        came_from: dict[int, tuple[Drafts, int | None]] = {}
        queue: list[tuple[Drafts, int | None]] = [(s, None) for s, left in supply.items() if left > 0]
        seen, free = {s for s, _ in queue}, None
        for s, token in queue:
            for x in s:
                if x in came_from:
                    continue
                came_from[x] = (s, token)
                if room[x] > 0:
                    free = x
                    break
                onward = [other for other in moved if other not in seen and moved[other].get(x, 0) > 0]
                seen.update(onward)
                queue += [(other, x) for other in onward]
            if free is not None:
                break
        if free is None:
            return TransportPlan(moved, room, supply, frozenset(came_from))
        _augment(moved, supply, room, came_from, free)


def _augment(moved: dict, supply: dict, room: list, came_from: dict, free: int) -> None:
    """Move as much as possible along the path that ends in the token ``free``."""
    path, x = [], free
    while x is not None:
        s, before = came_from[x]
        path.append((s, x, before))
        x = before
    amount = minimum(room[free], supply[path[-1][0]])
    for s, _, before in path:
        if before is not None:
            amount = minimum(amount, moved[s][before])
    for s, x, before in path:
        moved[s][x] += amount
        if before is not None:
            moved[s][before] -= amount
    supply[path[-1][0]] -= amount
    room[free] -= amount


def offered(siblings: Siblings) -> tuple[Drafts, list[Number], list[Number]]:
    """The drafts S; the weights of accepting each and, last, none of them; what is left of the target."""
    draft, count = tuple(siblings.drafts[0]), len(siblings.tokens)
    if siblings.how == TOP:  # its rows are point masses: together they say which tokens were chosen
        draft = tuple(max(column) for column in zip(*siblings.drafts, strict=True))
    drafts = tuple(sorted(set(siblings.tokens)))
    plan = best_plan(tuple(siblings.target), draft, count, siblings.how)
    return drafts, [*plan.moved[drafts].values(), plan.refused[drafts]], plan.left


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x among the drafts S with probability moved(S, x) / Pr(S), else Y from what is left of the target.

    Guarantee: valid where siblings are drawn as ``siblings.how`` says; Pr(accepted) is the largest of all valid rules,
    1 + min over H of p(H) - Pr(all drafts in H).
    Source: Sun et al. 2023 (SpecTr), Section 3; Khisti et al. 2025; Hu et al. 2025.
    """
    drafts, weights, left = offered(siblings)
    k = chance.draw(weights)
    if k < len(drafts):
        return Choice(drafts[k], True)
    return Choice(chance.draw(or_else(left, siblings.target)), False)


HALVINGS = 20
"""rho is at most k / 2^20 above rho*."""


def shares(target: Row, draft: Row, rho: Number) -> list[Number]:
    """min(q, p / rho) for each token, [V]; their sum is beta(rho)."""
    return [minimum(q, p / rho) for p, q in zip(target, draft, strict=True)]


def is_valid(target: Row, draft: Row, k: int, rho: Number) -> bool:
    """Whether k-SEQ keeps the target's law: 1 - (1 - beta)^k <= rho beta."""
    beta = sum(shares(target, draft, rho))
    return 1 - prod([1 - beta] * k) <= rho * beta


@lru_cache(maxsize=4096)
def smallest_rho(target: Row, draft: Row, k: int) -> Number:
    """A number just above rho*, the solution of 1 - (1 - beta)^k = rho beta in [1, k], at which k-SEQ is valid.

    By bisection: rho = k is valid (Bernoulli's inequality), and the upper end stays valid. Hence exactly valid with
    exact numbers, though rho* itself is seldom rational.
    """
    low = sum(target)
    if is_valid(target, draft, k, low):
        return low
    high = low / low * k  # of the row's type, and k itself: what is sure to be valid, however its sum is rounded
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_valid(target, draft, k, middle) else (middle, high)
    return high


def k_seq_step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept the first x_i that passes a coin of min(1, p(x_i) / (rho q(x_i))); else Y from what they did not take.

    Y ~ p - min(q, p / rho) p_acc / beta, p_acc = 1 - (1 - beta)^k, beta = sum_x min(q, p / rho).
    Guarantee: valid for siblings drawn independently from one row, for any rho with p_acc <= rho beta; Pr(accepted) =
    p_acc is at least 1 - (1 - 1/k)^k of the largest possible.
    Source: Sun et al. 2023 (SpecTr), Algorithm 3, Theorem 2.
    """
    p, q, k = siblings.target, siblings.drafts[0], len(siblings.tokens)
    rho = smallest_rho(tuple(p), tuple(q), k)
    return k_sequential_selection(siblings, rho, chance)


def k_sequential_selection(siblings: Siblings, rho: Number, chance: Chance) -> Choice:
    """k-SEQ for a given rho."""
    p, q, k = siblings.target, siblings.drafts[0], len(siblings.tokens)
    for x in siblings.tokens:
        if chance.flip(minimum(ratio(p[x], rho * q[x]), 1)):
            return Choice(x, True)
    taken = shares(p, q, rho)
    beta = sum(taken)
    accepted = 1 - prod([1 - beta] * k)
    rest = [w - t * accepted / beta for w, t in zip(p, taken)] if beta != 0 else p
    return Choice(chance.draw(or_else(rest, p)), False)


def hub(row: Row) -> int:
    """The likeliest token of the draft's row; ties to the smaller id."""
    return max(range(len(row)), key=lambda t: (row[t], -t))


def spec_hub_step(siblings: Siblings, chance: Chance) -> Choice:
    """The next token, and whether it is one of the drafts: the hub and another one, or one alone.

    First the tokens x that are not the hub, as the first draft and then as the second; then the hub, for what is left
    of the pairs that begin with it, and of those that end with it; else Y from what is left of the target. One alone,
    which is all that there is of a path or a row that is sure, is verified as a token.
    Guarantee: valid for x ~ M_s and the hub or, if x is the hub, another token by M_s without it; no valid rule
        accepts more of such pairs.
    Source: Sun, Zhou, Chen and Sun 2024 (SpecHub); MasterGodzilla/Speculative_decoding_OT at b67e1213, MyTree.verify.
    """
    target, row, tokens = siblings.target, siblings.drafts[0], siblings.tokens
    if len(tokens) == 1:
        if chance.flip(minimum(ratio(target[tokens[0]], row[tokens[0]]), 1)):
            return Choice(tokens[0], True)
        return Choice(chance.draw(or_else(residual(target, row), target)), False)
    most = hub(row)
    others = sum(q for x, q in enumerate(row) if x != most)
    left, pairs, taken, share = list(target), {}, {}, {}
    for begins in (False, True):  # with the hub: of each pair of another token with it, its mass and what is accepted
        pairs[begins] = [0 if x == most else row[most] * q / others if begins else q for x, q in enumerate(row)]
        taken[begins] = [minimum(p, mass) for p, mass in zip(left, pairs[begins])]
        left = [p - mass for p, mass in zip(left, taken[begins])]
    for begins in (True, False):
        rest = sum(mass - some for mass, some in zip(pairs[begins], taken[begins]))
        share[begins] = minimum(quotient(left[most], rest, 1), 1)
        left[most] = positive_part(left[most] - rest)
    begins = tokens[0] == most
    other = tokens[1] if begins else tokens[0]
    if chance.flip(quotient(taken[begins][other], pairs[begins][other], 1)):
        return Choice(other, True)
    if chance.flip(share[begins]):
        return Choice(most, True)
    return Choice(chance.draw(or_else(left, target)), False)
