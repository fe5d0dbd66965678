"""How far floating point can move the law of block verification as a stream, which audits run in exact numbers."""

import math

from draftproof.models.problem import Problem
from draftproof.proofs.rounding.token_and_block import SURE, both, growth, running_sum_bound
from draftproof.proofs.rounding.tree_rules import inverse


def stream_bound(problem: Problem, epsilon: float, lattice: float, off: float = 0.0) -> float:
    """Return the total variation by which rounding can move its law from the target's.

    sum over i to gamma of T + max(both(k, u), u / (1 - u)) + kappa.
    k: of p_i. T: of the weights and their sum. u / (1 - u): of a step that is skipped. kappa: of a draw among V tokens
    and the outcome so far; the last token is one of them.
    Source: MonteCarloRounding.v, ``stream_rounding``.
    """
    u, o, k, total = epsilon / 2, off, 0.0, 0.0
    kappa = running_sum_bound(problem.vocabulary + 1, u, lattice)
    for _ in range(problem.gamma + 1):
        weights = (1 + u) * (both(both(k, o), u) + o) + u
        sums = weights + growth(u, problem.vocabulary - 1) * (1 + weights)
        total += sums + max(both(k, u), inverse(u)) + kappa
        k = both(both(k, both(both(o, inverse(o)), u)), u)
    return total * (1 + SURE) if total < math.inf else math.inf
