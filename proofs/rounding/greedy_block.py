"""How far floating point can move greedy block verification's law on one problem: the bound of ProblemRounding.v."""

from typing import Any

from ...models.law import Prefix
from ...models.problem import Problem
from ...models.rationals import as_float
from ...verifiers.arithmetic import Row
from .token_and_block import ONE, SURE, both, growth

Weights = list[tuple[float, float, float]]
"""Tokens that can have weight: survival * target, draft, and the weight itself."""


def greedy_bound(problem: Problem, epsilon: float, lattice: float, off: float = 0.0, last_draw: float = 0.0) -> float:
    """Return the total variation by which rounding can move greedy block verification's law on this problem.

    sum over prefixes x of M_s(x) (coin + row) + last_draw, as ``token_and_block.problem_bound``, with survivals p b / s
    without a minimum and the coin min(E / U, 1), E and U the sums of max(p b - s, 0) and of max(s - p b, 0). The
    completion by the modified target adds nothing.
    Source: ProblemRounding.v, ``greedy_rounding``, sums in order.
    """
    unit, depth = epsilon / 2, problem.vocabulary - 1
    quotient = both(both(off, off / (1 - off)), unit)

    def cost(prefix: Prefix, survival: Any, error: float) -> float:
        target = problem.target.row(prefix)
        if len(prefix) == problem.gamma:
            return as_float(min(survival, ONE)) * (error + off) + (lattice if prefix else 0.0)
        draft = problem.draft.row(prefix)
        weight_error = both(both(error, off), unit)
        above, below = _weights(target, draft, survival, (1 + weight_error) / (1 - off), (1 - weight_error) / (1 + off))
        here = excess_off = _off(above, weight_error, off, unit)
        if prefix:
            excess, left = (sum(weight for _, _, weight in weights) for weights in (above, below))
            numerator = _total_off(excess_off, excess, unit, depth)
            denominator = _total_off(_off(below, weight_error, off, unit), left, unit, depth)
            room = left * (1 - SURE) - denominator * (1 + SURE)
            most = min((excess + numerator) * (1 + SURE) / room, 1.0) if room > 0 else 1.0
            here += most * denominator + numerator + unit * most * left + left * lattice
        longer = both(both(error, quotient), unit)
        for token, (b, s) in enumerate(zip(target, draft, strict=True)):
            if s != 0:
                here += as_float(s) * cost((*prefix, token), survival * b / s, longer)
        return here

    return cost((), ONE, 0.0) * (1 + SURE) + last_draw


def _weights(target: Row, draft: Row, survival: Any, high: float, low: float) -> tuple[Weights, Weights]:
    """Return the tokens that can have weight above and below, with errors by the factors ``high`` and ``low``."""
    above: Weights = []
    below: Weights = []
    for b, s in zip(target, draft, strict=True):
        kept, drafted = as_float(survival * b), as_float(s)
        if kept * high * (1 + SURE) > drafted:
            above.append((kept, drafted, as_float(max(survival * b - s, 0))))
        if drafted > kept * low * (1 - SURE):
            below.append((kept, drafted, as_float(max(s - survival * b, 0))))
    return above, below


def _off(weights: Weights, weight_error: float, off: float, unit: float) -> float:
    """Return (1 + u) (k p b + o s) + u w, over the tokens. Source: ``weights_near``, ``lesses_near``."""
    return sum((1 + unit) * (weight_error * kept + off * drafted) + unit * weight for kept, drafted, weight in weights)


def _total_off(weights_off: float, total: float, unit: float, depth: int) -> float:
    """Return the error of a computed sum of weights. Source: ProblemRounding.v, ``total_off``."""
    return weights_off + growth(unit, depth) * (total + weights_off)
