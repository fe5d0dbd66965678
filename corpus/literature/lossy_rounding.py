"""How far floating point can move the law of a lossy rule from the same rule's law in exact numbers, as proved in Coq.

What a rule decides without a coin jumps: drafts that are doubtful count in full, and so does all that follows them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from draftproof.corpus.literature.shares_rounding import truncated_cost
from draftproof.models.law import Prefix
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.rounding.token_and_block import SURE, both, growth, running_sum_bound
from draftproof.proofs.rounding.tree_rules import hierarchical_cost, levels_of, tree_size
from draftproof.verifiers.trees import lossy_steps
from draftproof.verifiers.trees.draft_tree import IID
from draftproof.verifiers.trees.typical import DELTA, EPSILON

Row = Sequence[Any]


def lossy_bound(rule: str, problem: Problem, epsilon: float, lattice: float, off: float = 0.0) -> float:
    """Return the total variation by which rounding can move the law of one of ``LOSSY`` from its own.

    Infinite but for a path, and for ``OF_TREES`` with siblings drawn independently.
    Source: StepRounding.v, ``row_rounding``, ``larger_coin_rounding``, ``judged_rounding``, ``decided_rounding``;
    StepRounding.v, ``thresholds_rounding``; PathRounding.v, ``published_rounding``;
    CactusRounding.v, ``cactus_rounding``; CactusRounding.v, ``truncated_rounding``.
    """
    if not problem.tree.chain and not (rule in OF_TREES and problem.tree.how == IID):
        return math.inf
    unit = epsilon / 2
    last = off + running_sum_bound(problem.vocabulary, unit, lattice)
    bound = LOSSY[rule](problem, unit, lattice, off) + last
    return bound * (1 + SURE) if bound < math.inf else math.inf  # not a number where no hypothesis holds


def _drafts(problem: Problem) -> Iterator[tuple[Prefix, float, Row, int]]:
    """Yield every token that may be drafted: behind what, how often, the target's row there, and the token."""

    def below(prefix: Prefix, often: float) -> Iterator[tuple[Prefix, float, Row, int]]:
        if len(prefix) < problem.gamma:
            for token, q in enumerate(problem.draft.row(prefix)):
                if q != 0:
                    yield prefix, often * as_float(q), problem.target.row(prefix), token
                    yield from below((*prefix, token), often * as_float(q))

    yield from below((), 1.0)


def _coin(u: float, k: float) -> float:
    """Return the error of min(m / q, 1), both rows off by k. Source: ``coin_off``."""
    return both(both(both(k, k / (1 - k)), u), u) if k < 1 else math.inf


def _rest(u: float, k: float) -> float:
    """Return the error of the weights max(m - q, 0). Source: ``weights_all``."""
    return (1 + u) * (both(k, u) + k) + u


def _ensemble(problem: Problem, u: float, lattice: float, off: float) -> float:
    """Return the mixture: a product, a sum and a quotient."""
    k = both(off, growth(u, 3))
    return problem.gamma * (lattice + _coin(u, k) + _rest(u, k))


def _entropy_adaptive(problem: Problem, u: float, lattice: float, off: float) -> float:
    """t = 3 (1 - max p) / 10: a difference, off by ``off`` absolutely, and three operations."""
    tau = 0.3 * (off + growth(u, 3) * (1 + off))
    return problem.gamma * (lattice + _coin(u, off) + tau + u + _rest(u, off))


def _judge(problem: Problem, u: float, lattice: float, off: float) -> float:
    """Doubtful: 10 p(x) within ``both(off, u)`` of max p, each of its own; of a depth the prefix with most of it.

    Source: ``compared_alike``, ``judged_rounding``.
    """
    e = both(off, u) + SURE**2

    def doubtful(row: Row, x: int) -> bool:
        mine, best = 10 * as_float(row[x]), as_float(max(row))
        return (1 - e) * mine <= (1 + e) * best and (1 - e) * best <= (1 + e) * mine

    return problem.gamma * (lattice + _coin(u, off) + _rest(u, off)) + sum(_doubts(problem, doubtful))


def _doubts(problem: Problem, doubtful: Callable[[Row, int], bool]) -> list[float]:
    """Return how often one draft is doubtful, at each depth: behind the prefix with most of it."""
    doubts: dict[Prefix, float] = {}
    for prefix, _, row, x in _drafts(problem):
        doubts[prefix] = doubts.get(prefix, 0.0) + as_float(problem.draft.row(prefix)[x]) * doubtful(row, x)
    return [max((d for x, d in doubts.items() if len(x) == n), default=0.0) for n in range(problem.gamma)]


def _thresholds(problem: Problem, u: float, lattice: float, off: float) -> float:
    """sum over depths and siblings j of tail(j) + tail(j + 1) + both(u, u) + eta, and what is doubtful.

    tail(j): of what is left of the coin behind j siblings, none of it at first. Doubtful: 10 p(x) within
    ``both(off, u)`` of 5, as in ``thresholds_rounding``, once a sibling.
    """
    e = both(off, u) + SURE**2

    def tail(j: int) -> float:
        return both(both(both(off, growth(u, j)), u), u) + u if j else 0.0

    doubts = _doubts(problem, lambda row, x: abs(10 * as_float(row[x]) - 5) <= e * 10 * as_float(row[x]))
    return sum(
        sum(tail(j) + tail(j + 1) + both(u, u) + lattice for j in range(n)) + n * doubt
        for n, doubt in zip(levels_of(problem.tree), doubts, strict=True)
    )


def _typical(problem: Problem, u: float, lattice: float, off: float) -> float:
    """Doubtful: p(x) within 2^-40 + 16 ``off`` of the threshold, whose entropy is computed in float64."""

    def doubtful(row: Row, x: int) -> bool:
        p = [as_float(w) for w in row]
        threshold = min(EPSILON, DELTA * math.exp(sum(w * math.log(w) for w in p if w > 0)))
        return abs(p[x] - threshold) <= 2.0**-40 + 16 * off * len(row)

    return sum(often for _, often, row, x in _drafts(problem) if doubtful(row, x))


def _top_n(problem: Problem, u: float, lattice: float, off: float) -> float:
    """Doubtful: entries so near each other, or a difference so near 6 / 10, that the choice may be another one."""
    near = 4 * (off + u)

    def doubtful(row: Row, x: int) -> bool:
        p = [as_float(w) for w in row]
        apart = [abs(w - p[x]) for t, w in enumerate(p) if t != x and row[t] != row[x]]
        return min(apart, default=1.0) <= near or abs(max(p) - p[x] - 0.6) <= near

    return sum(often for _, often, row, x in _drafts(problem) if doubtful(row, x))


def _hierarchical_as_published(problem: Problem, u: float, lattice: float, off: float) -> float:
    """Bound the capped rule, but for the whole draft's coin. Source: ``published_rounding``."""
    return hierarchical_cost(tree_size(problem, u, lattice, off), capped=False)


def _cactus(problem: Problem, u: float, lattice: float, off: float) -> float:
    """sum over depths of eta + u + o + i, and over drafts x of tau(x), and of what is left where x may be rejected.

    i: of 1 / q. tau: of what p(x) is raised to, its operations and the steps of 2^-40 by which the root may be another,
    found from the interval of its argument, in float64. Of a depth the prefix with most of it.
    Source: CactusRounding.v, ``cactus_rounding``, ``peak_near``, ``root_near``.
    """
    sigma = both(off, growth(u, problem.vocabulary - 1))
    operations, once = both(both(sigma, u), u), off / (1 - off) if off < 1 else math.inf
    if not operations <= 1:
        return math.inf
    before = sigma + off
    costs: dict[Prefix, float] = {}
    for prefix, _, row, x in _drafts(problem):
        p, q = as_float(row[x]), as_float(problem.draft.row(prefix)[x])
        more, steps = _root(p, off)
        tau = operations + (steps + u * (more + steps)) / lossy_steps.FINE
        scale = before + u * (1 + before) + (1 + u) * (sigma + tau + u * (1 + sigma + tau)) + u
        left = (1 + u) * (scale + both(off, u) + tau + off) + u
        rejected = p + (more - steps - 1) / lossy_steps.FINE < q * (1 + SURE)
        costs[prefix] = costs.get(prefix, lattice + u + off + once) + tau + rejected * left
    return sum(max((w for x, w in costs.items() if len(x) == n), default=0.0) for n in range(problem.gamma))


def _root(p: float, off: float) -> tuple[float, int]:
    """The most that sqrt(2 delta p (1 - p)) can be in steps of ``FINE``, and by how many of them it may be another."""
    argument = 2 * lossy_steps.DELTA * p * (1 - p)
    apart = 2 * lossy_steps.DELTA * p * (off + 2.0**-50) + argument * 2.0**-48
    least, most = (math.sqrt(max(t, 0.0)) * lossy_steps.FINE for t in (argument - apart, argument + apart))
    return most * (1 + 2.0**-48), math.floor(most * (1 + 2.0**-48)) - math.floor(least * (1 - 2.0**-48))


LOSSY: dict[str, Callable[[Problem, float, float, float], float]] = {
    "ensemble": _ensemble,
    "entropy-adaptive": _entropy_adaptive,
    "judge": _judge,
    "typical": _typical,
    "top-n": _top_n,
    "thresholds": _thresholds,
    "hierarchical-as-published": _hierarchical_as_published,
    "cactus": _cactus,
    "global-resolution-truncated": truncated_cost,
}
"""The lossy rules that have a theorem."""

OF_TREES = ("thresholds", "global-resolution-truncated")
"""Rules whose bound here is for more siblings than one."""
