"""How far floating point can move the law of block and of token verification, as proved in Coq.

The code is the reference's (``verifiers/block_verification.py``): p_i = min(p_{i-1} * (p / q), 1), weights max(p_i p -
q, 0), their sum S, the coin S / ((S + 1) - p_i). The one assumption is the standard model: each operation is exact
times 1 + e with |e| <= u, u = epsilon / 2. It says nothing of overflow and underflow, and nothing of code that computes
other formulas.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...models.law import Prefix
from ...models.problem import Problem
from ...models.rationals import as_float
from ..field import QQ

IN_ORDER, PAIRWISE, CASCADE = "in order", "pairwise", "cascade"
SHORT_SUMS = 128
"""Number of additions of an addend in torch's sums that are not in pairs: four levels of 16, and 8 lanes by 4."""

ONE = QQ(1)


def growth(unit: float, operations: int) -> float:
    """Return (1 + u)^n - 1: the relative error of n operations in a row."""
    return math.expm1(operations * math.log1p(unit))


def sum_depth(vocabulary: int, order: str = IN_ORDER) -> int:
    """Return how many additions an addend goes through: V - 1 in order, ceil(log2 V) pairwise, 128 more in torch's
    cascade.

    Source: ``sum_near``.
    """
    in_pairs = math.ceil(math.log2(vocabulary)) + (SHORT_SUMS if order == CASCADE else 0)
    return vocabulary - 1 if order == IN_ORDER else min(in_pairs, vocabulary - 1)


def sum_error(unit: float, depth: int) -> float:
    """Return the relative error of weights divided by their computed sum; infinite where growth is 1 or more: no bound.

    Source: TreeRounding.v, ``sum_error``, whose hypothesis is growth < 1.
    """
    grown = growth(unit, depth)
    return both(grown / (1 - grown), unit) if grown < 1 else math.inf


class RoundingStep(NamedTuple):
    """A prefix of a problem: p, the excess x and the normaliser D = 1 - share, each within 2^-53 of itself.

    errors: sums over the tokens whose weight can be more than 0, of p b, of s and of the weight itself.
    """

    survival: float
    excess: float
    normaliser: float
    errors: tuple[float, float, float]


SURE = 1e-9
"""Relative margin to the safe side of comparisons and results: far more than these floats are off."""


class ExactRows:
    """A problem's rows of both models, over QQ, with sums in order.

    gamma: draft tokens. depth: additions that an entry of a sum over the vocabulary goes through. one: 1 as a survival.
    """

    one: Any

    def __init__(self, problem: Problem):
        self.problem, self.gamma, self.depth, self.one = problem, problem.gamma, problem.vocabulary - 1, ONE

    def as_float(self, number: Any) -> float:
        return as_float(number)

    def drafted(self, prefix: Prefix) -> Iterable[tuple[int, Any, Any]]:
        """Return the tokens that can be drafted there, with b and s."""
        rows = zip(self.problem.target.row(prefix), self.problem.draft.row(prefix), strict=True)
        return ((token, b, s) for token, (b, s) in enumerate(rows) if s != 0)

    def step(self, prefix: Prefix, survival: Any, growth_of_weights: float) -> RoundingStep:
        """Return a prefix's step. growth_of_weights: the factor by which p b can be too large, relative to s."""
        rows = [*zip(self.problem.target.row(prefix), self.problem.draft.row(prefix), strict=True)]
        share = sum(min(survival * b, s) for b, s in rows)
        sums = [0.0, 0.0, 0.0]
        for b, s in rows:
            if as_float(survival * b) * growth_of_weights * (1 + SURE) > as_float(s):
                for i, part in enumerate((survival * b, s, max(survival * b - s, 0))):
                    sums[i] += as_float(part)
        errors = sums[0], sums[1], sums[2]
        return RoundingStep(as_float(survival), as_float(survival - share), as_float(1 - share), errors)


def problem_bound(problem: Problem, epsilon: float, lattice: float, off: float = 0.0, last_draw: float = 0.0) -> float:
    """Return the total variation by which rounding can move block verification's law on this problem.

    sum over prefixes x of M_s(x) (coin_cost(x) + row_cost(x)) + last_draw, by the recursion of the theorem: a
    survival's relative error k becomes both(both(k, both(both(o, o / (1 - o)), u)), u), and 0 where p b / s is beyond 1
    by more.
    epsilon: 2 u. lattice: the spacing of the uniforms that decide coins. off: o, the relative error of the rows'
    entries.
    last_draw: what the last token's draw from given weights adds: 0 if by its weights, else ``running_sum_bound``.
    Source: ProblemRounding.v, ``problem_rounding``, sums in order.
    """
    return block_cost(ExactRows(problem), epsilon / 2, lattice, off) * (1 + SURE) + last_draw


def token_bound(problem: Problem, epsilon: float, lattice: float, off: float = 0.0, last_draw: float = 0.0) -> float:
    """Return the total variation by which rounding can move token verification's law on this problem.

    sum over prefixes x of Pr(x is drafted and accepted) (coin + row) + last_draw, with ``problem_bound``'s errors at p
    = 1 and k = 0. No sum over the vocabulary counts.
    Source: TreeRounding.v, ``token_rounding``.
    """
    return token_cost(ExactRows(problem), epsilon / 2, lattice, off) * (1 + SURE) + last_draw


def block_cost(rows: ExactRows, unit: float, lattice: float, off: float) -> float:
    """Return ``problem_bound`` without its last draw and its safe side."""
    quotient = both(both(off, off / (1 - off)), unit)

    def cost(prefix: Prefix, survival: Any, error: float) -> float:
        if len(prefix) == rows.gamma:
            return rows.as_float(survival) * (error + off) + (lattice if prefix else 0.0)
        weight_error = both(both(error, off), unit)
        step = rows.step(prefix, survival, (1 + weight_error) / (1 - off))
        here = in_weights = weights_error(step, weight_error, off, unit)
        if prefix:
            here += coin_cost(step, in_weights, error, unit, rows.depth) + step.normaliser * lattice
        longer = both(both(error, quotient), unit)
        for token, b, s in rows.drafted(prefix):
            reached = survival * b / s
            cut = rows.as_float(reached) * (1 - longer) >= 1 + SURE
            here += rows.as_float(s) * cost((*prefix, token), min(reached, rows.one), 0.0 if cut else longer)
        return here

    return cost((), rows.one, 0.0)


def token_cost(rows: ExactRows, unit: float, lattice: float, off: float) -> float:
    """Return ``token_bound`` without its last draw and its safe side."""
    ratio_error, weight_error = both(both(both(off, off / (1 - off)), unit), unit), both(off, unit)

    def cost(prefix: Prefix) -> float:
        if len(prefix) == rows.gamma:
            return off
        step = rows.step(prefix, rows.one, (1 + weight_error) / (1 - off))
        here = lattice + weights_error(step, weight_error, off, unit)
        for token, b, s in rows.drafted(prefix):
            if kept := rows.as_float(min(b, s)):
                cut = rows.as_float(b / s) * (1 - ratio_error) >= 1 + SURE
                here += kept * ((0.0 if cut else ratio_error) + cost((*prefix, token)))
        return here

    return cost(())


def both(first: float, second: float) -> float:
    """Return (1 + e) (1 + f) - 1: the relative error after two of them. Source: ProblemRounding.v, ``both``."""
    return first + second + first * second


def weights_error(step: RoundingStep, weight_error: float, off: float, unit: float) -> float:
    """Return (1 + u) (k p b + o s) + u w over tokens that can have weight. Source: ``weights_near``."""
    survived, drafted, weights = step.errors
    return (1 + unit) * (weight_error * survived + off * drafted) + unit * weights


def coin_cost(step: RoundingStep, in_weights: float, error: float, unit: float, depth: int) -> float:
    """Return how much one coin of a problem moves the law: (1 - L) e + T (k p + n + u D).

    One computed sum stands above and below in the coin, e / (e + 1 - p). Its error e counts by 1 less the coin, which
    is L at least; the survival's error k p, and n of the two operations below, by the coin, which is T at most.
    error: k. in_weights: of the weights. Source: ProblemRounding.v, ``coin_near_bound``.
    """
    of_sum = in_weights + growth(unit, depth) * (step.excess + in_weights)
    of_survival = error * step.survival
    shifted = of_sum + of_survival + unit * (step.excess + of_sum + 1)
    of_normaliser = shifted + unit * (step.normaliser + shifted)
    most, least = 1.0, 0.0
    left = step.normaliser * (1 - SURE) - of_normaliser * (1 + SURE)
    if left > 0:
        most = min((step.excess + of_sum) * (1 + SURE) / left, 1.0)
        low, high = step.excess * (1 - SURE) - of_sum * (1 + SURE), step.normaliser + of_normaliser
        least = max(low / (high * (1 + SURE)), 0.0)
    own = unit * (step.excess + of_sum + 1 + step.normaliser + shifted)
    return (1 - least) * of_sum + most * (of_survival + own + unit * step.normaliser)


def running_sum_bound(vocabulary: int, unit: float, lattice: float) -> float:
    """Return (V - 1) u (2 + G(V - 1)) + V / (2 N): a token looked up in a computed running sum, divided by its last
    entry.

    Additions in order, rounded to nearest; thresholds within u; the uniform is k / N. Source: Rounding.v,
    ``running_sum_bound``.
    """
    others = vocabulary - 1
    return others * unit * (2 + growth(unit, others)) + vocabulary * lattice / 2
