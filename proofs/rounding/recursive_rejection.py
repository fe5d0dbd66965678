"""How far floating point can move recursive rejection's law on one problem: the bound of TreeRounding.v."""

import math
from functools import cache
from typing import NamedTuple

from ...models.law import Prefix
from ...models.problem import Problem
from ...models.rationals import as_float
from ...verifiers.trees.draft_tree import WITHOUT_REPLACEMENT
from ..laws.tree_laws import drawn_from, row_after
from .token_and_block import SURE, both, sum_error

Floats = tuple[float, ...]


class Errors(NamedTuple):
    """A set of errors: u; o of rows, relative; eta of a coin; r of a ratio; n of a row divided by its sum."""

    unit: float
    rows: float
    lattice: float
    ratio: float
    normalised: float


def tree_bound(problem: Problem, epsilon: float, lattice: float, off: float = 0.0, last_draw: float = 0.0) -> float:
    """Return the total variation by which rounding can move recursive rejection's law on this problem.

    The computed rows are normalised after each rejection, by sums in order. Nodes of one text are examined each with
    its own children, of a ragged tree with the most of its depth. Without replacement a younger sibling's row is
    divided by its sum again, and off by that too.
    Infinite where such a sum has no bound (``sum_error``).
    Source: TreeRounding.v, ``tree_rounding`` (there ``tree_cost``, e given the rejection; here times its probability).
    """
    unit, tree = epsilon / 2, problem.tree
    normalised = sum_error(unit, problem.vocabulary - 1)
    if math.isinf(normalised):
        return math.inf
    if tree.how == WITHOUT_REPLACEMENT:
        for _ in range(max(tree.children) - 1):
            off = both(off, normalised)
    errors = Errors(unit, off, lattice, both(off / (1 - off), unit), normalised)

    @cache
    def below(prefix: Prefix) -> float:
        """Return what a whole node costs, once it is reached."""
        target = tuple(map(as_float, problem.target.row(prefix)))
        if len(prefix) == problem.gamma:
            return errors.rows
        draft = tuple(map(as_float, problem.draft.row(prefix)))
        return siblings(prefix, target, draft, 0, 1.0, errors.rows)

    def siblings(prefix: Prefix, left: Floats, draft: Floats | None, k: int, mass: float, off_in_all: float) -> float:
        """Return the cost of the siblings from the k-th on. mass: how often it is reached. off_in_all: e times mass."""
        if k == tree.children[len(prefix)] or draft is None:
            return off_in_all
        row = drawn_from(draft, k, tree.how)
        kept = [min(p, q) for p, q in zip(left, row, strict=True)]
        rest = [p - q for p, q in zip(left, kept, strict=True)]
        rejected = sum(rest)
        cost = off_in_all + errors.ratio * (mass + off_in_all) + mass * errors.lattice
        cost += mass * sum(q * below((*prefix, x)) for x, q in enumerate(kept) if q > 0)
        if rejected <= 0.0:
            return cost
        weights_off = (1 + unit) * (off_in_all + errors.rows * mass) + unit * mass * rejected
        next_off = 2 * weights_off + mass * rejected * errors.normalised
        residual = tuple(p / rejected for p in rest)
        followed: dict[Floats | None, float] = {}
        for x, (q, accepted) in enumerate(zip(row, kept, strict=True)):
            if q > accepted:  # x is drawn and rejected; what it leaves of the draft's row
                after = row_after(draft, x, k, tree.how)
                followed[after] = followed.get(after, 0.0) + (q - accepted) / rejected
        for after, part in followed.items():
            cost += siblings(prefix, residual, after, k + 1, mass * rejected * part, next_off * part)
        return cost

    return below(()) * (1 + SURE) + last_draw
