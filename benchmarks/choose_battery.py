"""Choose the smallest set of problems that covers every region: ``python -m draftproof.benchmarks.choose_battery``.

Greedy set cover, weighted by the ways in which a verifier can end: first of the square of p and q by pairs of rows,
packed into ``aimed`` problems, then of all other regions by drawn problems, plain ones at a quarter of their price; in
the end the problems that the others make superfluous are taken out, the dearest first. It made models/battery.json.
"""

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, TypeVar

from draftproof.models.battery import KINDS, LATE, SCALES, Spec, by_hand, log_odds_pair, specified
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem
from draftproof.models.regions import LEVELS, RATIOS, VISIBLE, Cell, contexts, coverage, level

Name = TypeVar("Name", bound=Hashable)

OVERHEAD = 30
"""What a problem costs besides its ways to end, in ways."""

PAIRS = {2: (4, 4, 3000), 3: (3, 8, 6000), 4: (2, 12, 4000), 5: (2, 18, 2000)}
"""V -> gamma of the problems that pairs of rows are packed into, ways to end that a pair costs there, pairs drawn."""

PLAIN = (
    (2, 1, "zeros", 0), (3, 1, "generic", 0), (3, 1, "disjoint", 0), (2, 2, "generic", 0),
    (2, 2, "equal", 0), (4, 1, "zeros", 0), (5, 1, "peaked", 0), (3, 2, "generic", 0), (3, 2, "zeros", 0),
    (3, 2, "one-hot-draft", 0), (3, 2, "one-hot-target", 0), (3, 2, "equal", 0), (3, 2, "disjoint", 0),
    (3, 2, "peaked", 0), (3, 2, "mixed", 0), (4, 2, "generic", 0), (2, 4, "generic", 0), (3, 3, "generic", 0),
    (3, 3, "mixed", 0), (2, 5, "mixed", 0),
)  # fmt: skip
"""Candidates at a quarter of their price: problems with small rationals, where a refutation can be checked by hand."""

AIMS = ("p and q", "replacement's p and q")
LEAST_REACHED = 1 / 20
"""The probability with which an aimed pair is reached at least."""

SIZES = {
    (2, 1): (40, 10), (3, 1): (3000, 15), (4, 1): (500, 15), (5, 1): (40, 10), (2, 2): (400, 10), (3, 2): (100, 15),
    (4, 2): (30, 6), (5, 2): (10, 2), (2, 3): (400, 10), (3, 3): (20, 5), (2, 4): (30, 6), (2, 5): (30, 6),
}  # fmt: skip
"""(V, gamma) -> candidates with log-odds rows, of every other kind."""


def intervals(borders: tuple[Fraction, ...] = LEVELS) -> list[str]:
    """Return the intervals between 0 and 1, from small to large."""
    return [level((a + b) / 2, borders) for a, b in zip((Fraction(0), *borders), (*borders, Fraction(1)))]


def cells() -> frozenset[Cell]:
    """Return all regions in which a mistake can be visible on a vocabulary of 2 to 5 and a gamma of 1 to 5."""
    inside, near = intervals(), intervals(RATIOS)
    levels, places, rules = ["0", *inside, "1"], ("first", "middle", "last"), ("token", "block")
    both = ("accept", "reject")
    every: set[Cell] = set()
    for (i, p), (j, q) in product(enumerate(levels), enumerate(levels)):
        if q != "0":
            orders = "<" if i < j else ">" if i > j else "=" if p == "1" else "<=>"
            every |= {("p and q", p, q, order, m) for order in orders for m in _seen(p, q, order)}
        if i > j or (i == j and p in inside):
            every.add(("replacement's p and q", p, q))
    ties = [f"in the {name}'s row{largest}" for name in ("target", "draft") for largest in ("", ", the largest")]
    ties += [f"the {name}'s next row is the same" for name in ("target", "draft")]
    step, survival, rejected = "step of the surviving probability", "surviving probability", ["reject"]
    regions: list[tuple[Iterable[Any], ...]] = [
        (["p / q"], ["<"], near, both), (["p / q"], [">"], near, rejected),
        (["p / q"], ["<"], ["0"], ["accept"]), (["p / q"], ["="], ["1"], rejected),
        ([survival], places, inside, both), ([survival], places, ["0"], ["accept"]),
        ([survival], places, ["1"], rejected),
        ([step], ("falls", "rises", "stays"), both), ([step], ("stays 1", "back to 1"), rejected),
        (["residual mass"], rules, ("first", "later"), [*inside, "1"]), (["residual share"], rules, [*inside, "1"]),
        (["residual tokens"], rules, (1, 2, 3, 4)), (["residual ties"], rules, ("the largest", "smaller")),
        (["bonus probability"], levels[1:]), (["ties"], ties, both),
        (["ties"], ("equal rows", "p = q, the rows differ"), rejected),
        *((["repeats"], [pattern], range(1, len(pattern) + 1), both) for pattern in PATTERNS),
        (["replacement repeats"], ("the token before", "no token before")),
        *((["bonus token", "replacement token"], [size], range(size)) for size in range(2, 6)),
        *((["drafted token"], [size], range(size), both) for size in range(2, 6)),
        # on longer blocks V is 2: one token can replace another
        *((["replacement position"], [n], range(1, n + 1), ("one", "several")[: 2 - (n > 3)]) for n in range(1, 6)),
        *((["position"], [gamma], range(1, gamma + 1), both) for gamma in range(1, 6)),
        (["bonus position"], range(1, 6)),
    ]  # fmt: skip
    return frozenset(every.union(*(product(*region) for region in regions)))


PATTERNS = ("aa", "ab", "aaa", "aab", "aba", "abb", "abc")
"""The ways in which the tokens of a draft block of 2 or 3 can repeat."""


def _seen(p: str, q: str, order: str) -> list[str]:
    """Yield mistakes with the coin that can be visible: (1 - p) q bounds what a token loses that the residual gives
    back.
    """
    if order == "<":
        return ["accept"] if p == "0" else ["accept", "reject"]
    most = {"0..1e-08": 1e-8, "1e-08..1e-05": 1e-5}.get(q, 1.0)
    gone = {"1": 0.0, "1-1e-08..1": 1e-8, "1-1e-05..1-1e-08": 1e-5}.get(p, 1.0)
    return ["reject", "other"] if most * gone > VISIBLE else ["other"]


def ways(problem: Problem) -> int:
    """Ways in which token verification can end, over all draft blocks: what an audit's time goes with."""
    size, longest, kept = problem.vocabulary, problem.gamma, (x for _, x in contexts(problem) if x.kept)
    return sum(sum(w > 0 for w in x.rest) * size ** (longest - len(x.prefix)) for x in kept)


def greedy(wanted: Collection[Cell], sets: Mapping[Name, set[Cell]], cost: Mapping[Name, float]) -> list[Name]:
    """Names whose sets cover what is wanted, as far as all sets together do, none of them superfluous."""
    left = wanted = set(wanted) & set().union(*sets.values())
    chosen: list[Name] = []
    while left:
        best = max(sets, key=lambda name: len(sets[name] & left) / cost[name])
        chosen.append(best)
        left = left - sets[best]
    for name in sorted(chosen, key=lambda name: -cost[name]):
        others = [other for other in chosen if other != name]
        if wanted <= set().union(*(sets[other] for other in others)):
            chosen = others
    return chosen


def _aimed_problems() -> list[Spec]:
    """The arguments of ``aimed`` for problems whose pairs of rows cover the regions of ``AIMS``."""
    sets, cost = {}, {}
    for vocabulary, (_, price, number) in PAIRS.items():
        for seed in range(number):
            target, draft = log_odds_pair(vocabulary, seed)
            pair = Problem(vocabulary, 1, ContextFree(target), ContextFree(draft))
            found = coverage(pair).items()
            sets[vocabulary, seed] = {c for c, effect in found if c[0] in AIMS and effect * LEAST_REACHED > VISIBLE}
            cost[vocabulary, seed] = price
    chosen = greedy(cells(), sets, cost)
    problems = []
    for vocabulary, (gamma, *_) in PAIRS.items():
        seeds = sorted(seed for size, seed in chosen if size == vocabulary)
        room = vocabulary ** (gamma - 1)
        problems += [(vocabulary, gamma, "aimed", tuple(seeds[k : k + room])) for k in range(0, len(seeds), room)]
    return problems


def candidates() -> Iterator[Spec]:
    """The pool: older problems first, then those of every kind and size."""
    yield from PLAIN
    for (vocabulary, gamma), numbers in SIZES.items():
        for kind in (*KINDS, *SCALES, *(LATE + k for k in SCALES if gamma > 1)):
            for seed in range(1, numbers["log-odds" not in kind] + 1):
                yield vocabulary, gamma, kind, seed


def choose() -> list[Spec]:
    """The problems of ``battery.AUDITED``, the cheapest first; a minute or two.

    Raises: LookupError if the pool leaves a region uncovered.
    """
    sets, cost = {}, {}
    for spec in [*_aimed_problems(), *candidates()]:
        problem = specified(spec)
        sets[spec] = set(coverage(problem))
        cost[spec] = (ways(problem) + OVERHEAD) / (4 if spec in PLAIN else 1)
    wanted = cells().difference(*map(coverage, by_hand()))
    if missing := wanted - set().union(*sets.values()):
        raise LookupError(f"no candidate covers {sorted(missing, key=str)}")
    return sorted(greedy(wanted, sets, cost), key=lambda spec: (spec[2] == "aimed", spec[0] ** spec[1], str(spec)))


if __name__ == "__main__":
    print("[\n" + ",\n".join(f" {json.dumps(spec)}" for spec in choose()) + "\n]")
