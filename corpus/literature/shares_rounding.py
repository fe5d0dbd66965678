"""How far floating point can move the law of Global Resolution stopped early from the same rule's law in exact numbers.

Its solver works in float64 on positive numbers, by products, quotients and sums: its weights are off by a relative
error that is followed here, not in Coq, and by a step of the lattice that they are rounded to.
"""

import math
from itertools import pairwise

from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.rounding.token_and_block import SURE, both, growth, sum_error
from draftproof.proofs.rounding.tree_rules import TreeSize, choice_by_shares, inverse, law_of_drafts_off, tree_size
from draftproof.verifiers.arithmetic import Row, ratio
from draftproof.verifiers.trees.global_resolution import FEW_SWEEPS, weighed

DOUBLE = 2.0**-53
"""u of the solver."""


def truncated_cost(problem: Problem, u: float, lattice: float, off: float) -> float:
    """sum over depths of drift + kappa + (1 + u) (o + E (1 + drift) + drift) + u, behind the prefix, of as many
    siblings, with most of it.

    drift: of the shares, in the mean over the drafts. E: of how often a token would be accepted. kappa: as of
    ``resolution_bound``. Infinite where rounding may change which tokens the drafts have more than enough of.
    Source: CactusRounding.v, ``truncated_rounding``, ``lattice_shares``.
    """
    size = tree_size(problem, u, lattice, off)
    regular = problem.tree.parents is None  # siblings of whole families: fewer where an elder has another text
    return sum(
        max(_step(size, depth, k) for k in range(1, most + 1) if not regular or k % problem.tree.children[depth] == 0)
        for depth, most in enumerate(size.levels)
    )


def _step(size: TreeSize, depth: int, k: int) -> float:
    """Return the error of one step at this depth among k siblings."""
    drafts, u, off = min(k, size.vocabulary), size.unit, size.off
    sets = sum(math.comb(size.vocabulary - 1, n - 1) for n in range(1, drafts + 1))
    law = law_of_drafts_off(size, k)
    weights = both(_solver(size, law, off, sets), inverse(_solver(size, DOUBLE, 0.0, sets)))
    drift = max(_drift(size, k, prefix, weights) for prefix in size.problem.prefixes(depth))
    accepted = both(both(law, u), growth(u, sets))
    rest = (1 + u) * (off + accepted * (1 + drift) + drift) + u
    return drift + choice_by_shares(size, drafts, k) + rest if accepted < 1 else math.inf


def _solver(size: TreeSize, law: float, off: float, sets: int) -> float:
    """Return the error of weights after the sweeps, from rows and a law of the drafts that are off."""
    error, row = 0.0, both(off, DOUBLE)
    for _ in range(FEW_SWEEPS):
        total = both(error, growth(DOUBLE, size.vocabulary))
        part = both(both(both(error, inverse(total)), both(law, DOUBLE)), growth(DOUBLE, 2 + sets))
        error = both(both(both(error, row), inverse(part)), growth(DOUBLE, 3))
    return error


def _drift(size: TreeSize, k: int, prefix: tuple[int, ...], weights: float) -> float:
    """sum over sets of drafts S of Pr(S) (2 (E + 4 |A(S)| / F) + s), at most 2 + s; F: the sum of A(S), in steps.

    E: of the weights. 4: two steps, where either weight was rounded to its nearest, of weights that a common factor
    makes at most half as large. s: of a quotient by a computed sum.
    """
    target, draft = (tuple(model.row(prefix)) for model in (size.problem.target, size.problem.draft))
    u = size.unit
    error = both(both(weights, u), u)
    if error + both(size.off, growth(u, size.vocabulary)) >= 0.25 or not _decided(size, target, draft, k):
        return math.inf
    law, among, fine = weighed(target, draft, k, FEW_SWEEPS)
    drift = 0.0
    for drafts, mass in law.items():
        steps = as_float(sum(fine[t] for t in among[drafts]) / sum(target))
        if steps > 0:
            many = len(among[drafts])
            moved = min(2 * (error + 4 * many / steps), 2.0) + sum_error(u, many - 1)
        else:
            moved = 2.0 + sum_error(u, size.vocabulary) if any(target[t] for t in among[drafts]) else 0.0
        drift += as_float(mass) * moved
    return drift


def _decided(size: TreeSize, target: Row, draft: Row, k: int) -> bool:
    """Return whether rounding cannot change the set H of ``overfull``."""
    near = growth(max(size.off, size.unit), 4 * (size.vocabulary + k)) + SURE**2
    rows = sorted((ratio(p, q), p, q) for p, q in zip(target, draft, strict=True) if q != 0)
    for (a, p, q), (b, r, s) in pairwise(rows):
        if not (as_float(a) * (1 + near) < as_float(b) or (p, q) == (r, s) or p == r == 0):
            return False
    values = [0.0]
    for n in range(1, len(rows) + 1):
        p, q = (as_float(sum(row[i] for row in rows[:n])) for i in (1, 2))
        values.append(p - q**k)
    if len(rows) == size.vocabulary:
        values.pop()  # all tokens: the same as none
    least, *others = sorted(values)
    return all(other > least + near for other in others)
