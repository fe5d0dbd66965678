"""How far floating point can move the law on a wide problem: the bounds of ``rounding_theorem`` in floats, for rows of V entries."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..models.law import Prefix
from .rounding_theorem import IN_ORDER, SURE, RoundingStep, block_cost, sum_depth, token_cost

if TYPE_CHECKING:
    from numpy import ndarray

Rows = Mapping[Prefix, "ndarray"]


def wide_bound(target: Rows, draft: Rows, epsilon: float, lattice: float, off: float, order: str = IN_ORDER) -> float:
    """The total variation by which rounding can move block or token verification's law, whichever is more.

    ``rounding_theorem.problem_bound`` and ``token_bound`` in floats; the last token is drawn by its weights.
    target, draft: prefix that can be drafted -> row, [V]. order: of sums over the vocabulary.
    Source: ProblemRounding.v, ``problem_rounding``; TreeRounding.v, ``token_rounding``.
    """
    given = WideRowsOfProblem(target, draft, order), epsilon / 2, lattice, off
    return max(block_cost(*given), token_cost(*given)) * (1 + SURE)


class WideRowsOfProblem:
    """Rows of a wide problem, in floats."""

    def __init__(self, target: Rows, draft: Rows, order: str):
        self.target, self.draft, self.one = target, draft, 1.0
        self.gamma, self.depth = max(map(len, draft), default=-1) + 1, sum_depth(len(target[()]), order)

    def as_float(self, number: float) -> float:
        return number

    def drafted(self, prefix: Prefix) -> Iterable[tuple[int, float, float]]:
        b, s = self.target[prefix], self.draft[prefix]
        return ((token, float(b[token]), float(s[token])) for token in s.nonzero()[0].tolist())

    def step(self, prefix: Prefix, survival: float, growth_of_weights: float) -> RoundingStep:
        kept, s = survival * self.target[prefix], self.draft[prefix]
        weights, heavy = (kept - s).clip(min=0), kept * growth_of_weights * (1 + SURE) > s
        excess = float(weights.sum())
        errors = float(kept[heavy].sum()), float(s[heavy].sum()), float(weights[heavy].sum())
        return RoundingStep(survival, excess, excess + 1 - survival, errors)
