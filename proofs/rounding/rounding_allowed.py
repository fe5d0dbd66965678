"""The deviation that an audit allows as rounding: a total variation, by dtype, by a theorem and by a yardstick.

``explained_by_rounding`` is a theorem's bound for one verification rule, with the reference's formulas, on the very
problem (the package's docstring has the module of each rule). ``rounding_allowed`` is one epsilon a decision, whatever
formulas a function computes. ``verdict_rule`` decides by both;
beyond ``MOST`` no deviation is excused, whatever made it. The dtype is that of the arithmetic where it is finer than
the rows' (``precision``).
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...models.law import Prefix
from ...models.problem import Problem
from ...models.rationals import as_float
from .greedy_block import greedy_bound
from .recursive_rejection import tree_bound
from .token_and_block import (
    CASCADE,
    IN_ORDER,
    PAIRWISE,
    problem_bound,
    running_sum_bound,
    sum_depth,
    sum_error,
    token_bound,
)
from .tree_rules import own_bound
from .wide import Rows, running_sum_cost, running_sum_entries, wide_bound

if TYPE_CHECKING:
    from numpy import ndarray

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Spacing of numbers at 1, by dtype of rows."""


LOGARITHMS = 2.0**-46
"""Relative error of a probability above e^-64 that was computed from its logarithm in float64."""

HALF = ("float16", "bfloat16")
"""Dtypes of half precision."""

MOST = 0.05
"""Largest total variation that is excused in any precision, so that no claim becomes empty.

It is reached in half precision, and by look-ups in float32 over some hundred thousand tokens.
"""


def rounding_allowed(gamma: int, dtype: str, of_sums: float = 0.0, rows: str | None = None) -> float:
    """Return the total variation that rounding alone can account for: (gamma + 1) (epsilon + 2^-46) + of_sums.

    Each of the gamma accept decisions and the last draw rounds a ratio or a row (epsilon / 2 an operation) and compares
    it with a uniform of spacing epsilon / 2; 2^-46 is for logarithms. At most 1e-12 in float64, else 0.05.
    gamma: decisions on a draft: the length of a block, the nodes of a tree.
    of_sums: what code that takes rows as they are is off by: ``rows_as_they_are`` under finer arithmetic, else twice
        the most of a sum at each decision.
    rows: their type, where it is coarser than that of the arithmetic.
    """
    return _at_most((gamma + 1) * (EPSILON[dtype] + LOGARITHMS), dtype, of_sums, rows or dtype)


def rows_as_they_are(problem: Problem, target: Mapping[Prefix, float], draft: Mapping[Prefix, float]) -> float:
    """Return the most by which taking rows as they are moves a law: sum over x of M_s(x) p(x) spread(0, t, d).

    p: block verification's survivals. spread: the largest less the smallest. Of a decision of token verification it is
    plain, of blocks it is tested (``test_row_scales``).
    problem: with the rows in use. target, draft: t and d, what the sum of a row is more than 1; 0 of one
        that is not among them.
    """

    def cost(prefix: Prefix, reached: float, survival: float) -> float:
        sums = 0.0, target.get(prefix, 0.0), draft.get(prefix, 0.0)
        here = reached * survival * (max(sums) - min(sums))
        if len(prefix) == problem.gamma:
            return here
        rows = zip(problem.target.row(prefix), problem.draft.row(prefix))
        for token, (p, q) in enumerate(rows):
            if q:
                here += cost((*prefix, token), reached * as_float(q), min(survival * as_float(p / q), 1.0))
        return here

    return cost((), 1.0, 1.0)


def _at_most(computing: float, dtype: str, of_sums: float, rows: str) -> float:
    """Return the sum, at most 0.05. In float64 the computing part is at most 1e-12, over float64 rows the whole sum."""
    computing = min(computing, 1e-12) if dtype == "float64" else computing
    return min(computing + of_sums, 1e-12 if rows == "float64" else MOST)


def explained_by_rounding(problem: Problem, dtype: str, off: float = 0.0, modifies_target: bool = False) -> float:
    """Return the total variation that rounding of the reference's formulas can make on this problem.

    Block or token verification, the larger of the two; greedy block verification, which modifies the target; recursive
    rejection, where trees are drawn. Sums in order; coins decided, and the last token looked up in a running sum, by
    uniforms of spacing epsilon / 2; rows off by ``off`` and by 2^-46, for logarithms. Other formulas are not covered.
    problem: with the rows in use. At most 0.05.
    """
    lattice = EPSILON[dtype] / 2
    last_draw = running_sum_bound(problem.vocabulary, EPSILON[dtype] / 2, lattice)
    given = problem, EPSILON[dtype], lattice, off + LOGARITHMS, last_draw
    if modifies_target:
        bound = greedy_bound(*given)
    elif not problem.tree.block:
        bound = tree_bound(*given)
    else:
        bound = max(problem_bound(*given), token_bound(*given))
    return min(bound, MOST)


def explained_by_its_theorem(own_rule: str, problem: Problem, dtype: str, off: float = 0.0) -> float:
    """Return the bound for one of our own rules for trees, by the theorem on its operations (``tree_rules``)."""
    return min(own_bound(own_rule, problem, EPSILON[dtype], EPSILON[dtype] / 2, off), MOST)


def rows_in_use_allowed(dtype: str) -> float:
    """Return how far the rows a function says it uses may lie from the given ones, in total variation.

    32 epsilon, at most 0.05: a softmax of logarithms is off by epsilon |log p| / 2 in each entry, and |log p| < 64
    where p matters. Beyond that they are other rows: the function is judged by those that it is given, and has no exact
    law.
    """
    return min(32 * EPSILON[dtype], MOST)


def resolution_allowed(dtype: str) -> float:
    """Return the total variation to which a law has to be known for a claim: 16 epsilon, and 9e-13 in float64.

    A law is known to a resolution where noise ran a race, or where paths were left out; it is added to what rounding
    is allowed. Beyond this there is no law, and the verifier is sampled.
    """
    return 9e-13 if dtype == "float64" else min(16 * EPSILON[dtype], MOST)


def wide_rounding_allowed(gamma: int, dtype: str, vocabulary: int, off: float = 0.0, rows: str | None = None) -> float:
    """Return ``rounding_allowed`` on a wide problem, without look-ups: (gamma + 1) (epsilon (1 + log2(V) / 2) + 2^-46)
    + 2 gamma off.

    log2(V) / 2: rows are normalised by sums of V entries, off by u = epsilon / 2 for each level of pairwise summation.
    This is all where the last token is drawn by its weights (multinomial) or by a race: an entry is off by u an
    operation, in proportion, and the other errors of a race are in its resolution. At most 1e-12 in float64, 0.05 else.
    """
    allowed = (gamma + 1) * (EPSILON[dtype] * (1 + math.log2(vocabulary) / 2) + 2.0**-46)
    return _at_most(allowed, dtype, 2 * gamma * off, rows or dtype)


def wide_explained(target: Rows, draft: Rows, dtype: str, off: float, order: str, normalised: str = PAIRWISE) -> float:
    """Return ``explained_by_rounding`` on a wide problem, without look-ups, for sums in that order.

    Rows are also divided by their sums, in the order ``normalised``: an entry is off by ``sum_error`` more.
    target, draft: prefix that can be drafted -> row in use, [V]. Infinite where sums in that order have no bound.
    """
    unit = EPSILON[dtype] / 2
    off += LOGARITHMS + sum_error(unit, sum_depth(len(target[()]), normalised))
    return wide_bound(target, draft, EPSILON[dtype], unit, off, order) if off < 1 else math.inf


def entries_explained(dtype: str, bound: float, entries: "ndarray") -> "ndarray":
    """Return the most by which rounding moves each entry of a wide law, but for a look-up: (2 B + 64 epsilon) e +
    floor.

    bound: B, of the law as a whole (``wide_explained``, ``wide_rounding_allowed``): no entry is off by more of itself.
    entries: e, what it can consist of: the target's, the emitted and the drafted probability, and the residual's share.
    64 epsilon: entries that are computed from logarithms, as in ``rows_in_use_allowed``, twice.
    floor: what underflows: 2^-22 in float16, else 2^-120.
    """
    explained = (2 * bound + 64 * EPSILON[dtype]) * entries
    explained += 2.0**-22 if dtype == "float16" else 2.0**-120
    return explained


def look_up_allowed(masses: "ndarray", dtype: str, bits: float, most: "ndarray | None" = None) -> float:
    """Return what a look-up in a running sum is allowed: sum over k of min(w_k, u S_k) + min(w_k, 2^-bits / 4).

    masses: w, the row's probabilities in the order of the sum; those left out count with every sum. bits: of the
    uniform that is looked up, one of 2^bits points: fewer where it was compared before.
    most: what an entry can have had at most, on the same scale; the sum may have lost it altogether.
    u S_k: in the standard model each addition is off by u = epsilon / 2 of the sum so far, from whichever end it runs:
    S_k = max(w_1 + .. + w_k, w_k + .. + w_V), and no entry loses more than it has. Half of it is what entries are off,
    half what the last sum is, by which all are divided: equal entries after most of the mass are all off to one side.
    2^-bits / 4: an entry covers one point of the uniform's lattice more or less; where f of a point is left over,
    2 f (1 - f) on average, and half of that is the total variation. A dense row: V (3 epsilon / 8 + 2^-bits / 4), in
    float64 2.9e-11 at V = 262,144, where a right look-up deviates by 7e-12; in float32 0.009 at V = 151,936 (24 bits).
    """
    import numpy as np

    had = masses if most is None else np.maximum(masses, most)
    if 2 * np.count_nonzero(had) < len(had):  # the others add nothing
        masses, had = masses[positive := had.nonzero()[0]], had[positive]
    if not len(had):
        return 0.0
    up_to = masses.cumsum()
    left_out = 1 - up_to[-1]
    reach = up_to[-1] - up_to  # in place from here on: rows of a whole vocabulary come by thousands
    reach += masses
    np.maximum(up_to, reach, out=reach)
    reach += left_out
    reach *= EPSILON[dtype] / 2
    np.minimum(had, reach, out=reach)
    reach += np.minimum(had, 2.0**-bits / 4, out=up_to)
    return float(reach.sum())


def look_up_explained(masses: "ndarray", dtype: str, bits: float, most: "ndarray | None" = None,
                      anywhere: bool = False) -> float:  # fmt: skip
    """Return the theorem's bound: ``wide.running_sum_cost``. anywhere: whether the order of the sum is unknown."""
    had = masses if most is None else masses.clip(min=most)
    return running_sum_cost(masses, had, EPSILON[dtype] / 2, 2.0**-bits, anywhere)


def look_up_entries(masses: "ndarray", dtype: str, bits: float, most: "ndarray | None" = None) -> "ndarray":
    """Return how far a look-up can move each entry, by the theorem: ``wide.running_sum_entries``."""
    had = masses if most is None else masses.clip(min=most)
    return running_sum_entries(masses, had, EPSILON[dtype] / 2, 2.0**-bits)


def look_up_at_most(dtype: str, vocabulary: int) -> float:
    """Return the most that a look-up in that type can add, if it is not known whether and how one is done."""
    return running_sum_bound(vocabulary, EPSILON[dtype] / 2, EPSILON[dtype] / 2)


def excused(rounding: float, resolution: float) -> float:
    """Return what is excused of a law known to a resolution: the sum, at most 0.05."""
    return min(rounding + resolution, MOST)


def wide_resolution_allowed(dtype: str, vocabulary: int) -> float:
    """Return ``resolution_allowed`` of a wide problem: 16 times as much, or V 2^-50 if that is more; at most 0.05.

    A race of a whole row adds up more errors than one of a few contestants: one on the logarithms of uniforms that have
    53 bits 2^-52 for each.
    """
    return min(max(16 * resolution_allowed(dtype), vocabulary * 2.0**-50), MOST)


def sampling_slack(problem: Problem, dtype: str, modifies_target: bool = False) -> float:
    """Return the total variation that samples do not count as a deviation; 0 if rounding is far below what they see.

    Else what the rule or the theorem can account for, whichever is more: beyond it nothing is rounding.
    """
    if dtype in ("exact", "float64"):
        return 0.0
    return max(rounding_allowed(problem.tree.nodes, dtype), explained_by_rounding(problem, dtype, 0.0, modifies_target))


class Precision(NamedTuple):
    """A pair of dtypes by which a law is judged.

    judged: by which rounding is excused; finer than it, nothing that may round was seen or can be excluded.
    certain: the coarsest in which an operation was followed, of those no coarser than the rows. Finer than ``judged``
      where arithmetic may have gone unseen: what only ``judged`` excuses holds if it computes in that.
    sums, normalised: the order of sums over the vocabulary that has to be granted to what is refuted: of weights, and
      of rows that are divided by their sum.
    """

    judged: str
    certain: str
    sums: str = IN_ORDER
    normalised: str = IN_ORDER


def precision(dtype: str, arithmetic: Mapping[str, Any] | None = None) -> Precision:
    """Return the types that judge, from the observed dtypes and those that may have been used unobserved. By default
    every dtype that the rows allow may have been.

    dtype: of the rows; a claim in it grants no coarser type.
    """
    followed = arithmetic["followed"] if arithmetic else ()
    unseen = arithmetic["unseen"] if arithmetic else (dtype,)
    judged, certain = (_finer(dtype, types) for types in ([*followed, *unseen], followed))
    if arithmetic is None:
        return Precision(judged, certain)
    sums = CASCADE if arithmetic["in_trees"] and not unseen else IN_ORDER
    return Precision(judged, certain, sums, IN_ORDER if arithmetic["in_order"] else PAIRWISE)


def _finer(dtype: str, types: Iterable[str]) -> str:
    """Return the coarsest of the types, or that of the rows if it is finer."""
    coarsest = max(types, key=EPSILON.__getitem__, default="float64")
    return min(dtype, coarsest, key=EPSILON.__getitem__)
