"""How far floating point can move the law on a wide problem: the bounds of ProblemRounding.v and TreeRounding.v, for rows of V entries."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..models.law import Prefix
from .rounding_theorem import (
    IN_ORDER,
    SURE,
    RoundingStep,
    both,
    coin_cost,
    sum_depth,
    weights_error,
)

if TYPE_CHECKING:
    from numpy import ndarray

Rows = Mapping[Prefix, "ndarray"]


def wide_bound(target: Rows, draft: Rows, epsilon: float, lattice: float, off: float, order: str = IN_ORDER) -> float:
    """The total variation by which rounding can move block or token verification's law, whichever is more.

    ``rounding_theorem.problem_bound`` and ``token_bound`` in floats; the last token is drawn by its weights.
    target, draft: prefix that can be drafted -> row, [V]. order: of sums over the vocabulary.
    Source: ProblemRounding.v, ``problem_rounding``; TreeRounding.v, ``token_rounding``.
    """
    depth = sum_depth(len(target[()]), order)
    block = _block(target, draft, epsilon / 2, lattice, off, depth, (), 1.0, 0.0)
    return max(block, _token(target, draft, epsilon / 2, lattice, off, ())) * (1 + SURE)


def _block(target: Rows, draft: Rows, unit: float, lattice: float, off: float, depth: int,
           prefix: Prefix, survival: float, error: float) -> float:  # fmt: skip
    if prefix not in draft:
        return survival * (error + off) + (lattice if prefix else 0.0)
    b, s = target[prefix], draft[prefix]
    weight_error = both(both(error, off), unit)
    weights = (survival * b - s).clip(min=0)
    heavy = survival * b * (1 + weight_error) * (1 + SURE) > s * (1 - off)
    sums = float((survival * b)[heavy].sum()), float(s[heavy].sum()), float(weights[heavy].sum())
    excess = float(weights.sum())
    step = RoundingStep(survival, excess, excess + 1 - survival, sums)
    here = in_weights = weights_error(step, weight_error, off, unit)
    if prefix:
        here += coin_cost(step, in_weights, error, unit, depth) + step.normaliser * lattice
    longer = both(both(error, both(both(off, off / (1 - off)), unit)), unit)
    for token in s.nonzero()[0].tolist():
        reached = survival * float(b[token]) / float(s[token])
        kept = 0.0 if reached * (1 - longer) >= 1 + SURE else longer
        here += float(s[token]) * _block(
            target, draft, unit, lattice, off, depth, (*prefix, token), min(reached, 1.0), kept
        )
    return here


def _token(target: Rows, draft: Rows, unit: float, lattice: float, off: float, prefix: Prefix) -> float:
    if prefix not in draft:
        return off
    b, s = target[prefix], draft[prefix]
    ratio_error, weight_error = both(both(both(off, off / (1 - off)), unit), unit), both(off, unit)
    weights, heavy = (b - s).clip(min=0), b * (1 + weight_error) * (1 + SURE) > s * (1 - off)
    sums = float(b[heavy].sum()), float(s[heavy].sum()), float(weights[heavy].sum())
    excess = float(weights.sum())
    here = lattice + weights_error(RoundingStep(1.0, excess, excess, sums), weight_error, off, unit)
    for token in s.nonzero()[0].tolist():
        if kept := min(float(b[token]), float(s[token])):
            cut = float(b[token] / s[token]) * (1 - ratio_error) >= 1 + SURE
            here += kept * ((0.0 if cut else ratio_error) + _token(target, draft, unit, lattice, off, (*prefix, token)))
    return here
