"""The optimal-transport rule: of all valid rules for one step, the one that accepts a draft most often."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import NamedTuple

from ..arithmetic import Number, Row, minimum, or_else
from ..chance import Chance
from .descent import Choice, Siblings
from .draft_tree import HUB, IID, TOP

Drafts = tuple[int, ...]
"""The distinct tokens among some siblings, in ascending order."""


def law_of_drafts(row: Row, count: int, how: str) -> dict[Drafts, Number]:
    """Return Pr(the siblings are these tokens), for ``count`` siblings drawn from a row.

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
        """Return the largest probability with which a draft can be accepted."""
        return sum(w for row in self.moved.values() for w in row.values())


@lru_cache(maxsize=4096)
def best_plan(target: Row, draft: Row, count: int, how: str) -> TransportPlan:
    """Return the largest flow from drafts to tokens: drafts S supply Pr(S), tokens take up to p(x), S leads to x in S.

    By shortest augmenting paths, exact for exact numbers. The dual is the smallest cut. Several plans are optimal: this
    is the one that the paths find, with sets and tokens in ascending order.
    Source: Sun et al. 2023 (SpecTr), Section 3; Hu et al. 2025 and Khisti et al. 2025 for the dual, a choice of a set
        H.
    """
    supply = law_of_drafts(draft, count, how)
    flow = Flow(supply, target)
    flow.enlarge(supply)
    return flow.plan()


class Flow:
    """A flow from drafts to tokens that is enlarged along shortest augmenting paths."""

    def __init__(self, supply: Mapping[Drafts, Number], room: Row):
        self.supply, self.room = dict(supply), list(room)
        self.moved: dict[Drafts, dict[int, Number]] = {s: dict.fromkeys(s, 0) for s in supply}
        self._reached: frozenset[int] = frozenset()

    def plan(self) -> TransportPlan:
        """Return the flow as a plan; it is optimal if it was enlarged by all that the drafts supply."""
        return TransportPlan(self.moved, self.room, self.supply, self._reached)

    def enlarge(self, allowed: Mapping[Drafts, Number]) -> None:
        """Move as much as possible, of each S no more than ``allowed`` and what is left of its supply.

        What S has given already it goes on giving, perhaps to other tokens.
        """
        allowed = dict(allowed)
        while True:
            came_from: dict[int, tuple[Drafts, int | None]] = {}
            queue: list[tuple[Drafts, int | None]] = [
                (s, None) for s, left in self.supply.items() if left > 0 and allowed[s] > 0
            ]
            seen, free = {s for s, _ in queue}, None
            for s, token in queue:
                for x in s:
                    if x in came_from:
                        continue
                    came_from[x] = (s, token)
                    if self.room[x] > 0:
                        free = x
                        break
                    onward = [other for other in self.moved if other not in seen and self.moved[other].get(x, 0) > 0]
                    seen.update(onward)
                    queue += [(other, x) for other in onward]
                if free is not None:
                    break
            if free is None:
                self._reached = frozenset(came_from)
                return
            self._augment(allowed, came_from, free)

    def _augment(self, allowed: dict[Drafts, Number], came_from: dict, free: int) -> None:
        """Move as much as possible along the path that ends in the token ``free``."""
        path, x = [], free
        while x is not None:
            s, before = came_from[x]
            path.append((s, x, before))
            x = before
        first = path[-1][0]
        amount = minimum(self.room[free], minimum(self.supply[first], allowed[first]))
        for s, _, before in path:
            if before is not None:
                amount = minimum(amount, self.moved[s][before])
        for s, x, before in path:
            self.moved[s][x] += amount
            if before is not None:
                self.moved[s][before] -= amount
        self.supply[first] -= amount
        allowed[first] -= amount
        self.room[free] -= amount


Planner = Callable[[Row, Row, int, str], TransportPlan]
"""A function like ``best_plan``."""


def offered(siblings: Siblings, planned: Planner = best_plan) -> tuple[Drafts, list[Number], list[Number]]:
    """Return the drafts S; the weights of accepting each and, last, none; what is left of the target."""
    draft, count = tuple(siblings.drafts[0]), len(siblings.tokens)
    if siblings.how == TOP:  # its rows are point masses: together they say which tokens were chosen
        draft = tuple(max(column) for column in zip(*siblings.drafts, strict=True))
    drafts = tuple(sorted(set(siblings.tokens)))
    plan = planned(tuple(siblings.target), draft, count, siblings.how)
    return drafts, [*plan.moved[drafts].values(), plan.refused[drafts]], plan.left


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Accept x among the drafts S with probability moved(S, x) / Pr(S), else Y from what is left of the target.

    Guarantee: valid where siblings are drawn as ``siblings.how`` says; Pr(accepted) is the largest of all valid rules,
    1 + min over H of p(H) - Pr(all drafts in H). Of the optimal plans it is ``best_plan``'s: on a tree another one may
    accept more further down.
    Source: Sun et al. 2023 (SpecTr), Section 3; Khisti et al. 2025; Hu et al. 2025.
    """
    drafts, weights, left = offered(siblings)
    k = chance.draw(weights)
    if k < len(drafts):
        return Choice(drafts[k], True)
    return Choice(chance.draw(or_else(left, siblings.target)), False)
