"""The linear program over all valid verifiers, solved numerically: an optimum that knows nothing of the closed form."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from ...models.problem import Problem


def largest_acceptance(problem: Problem) -> float:
    """The largest E[tau] of all valid verifiers on a problem, by HiGHS.

    Variables: K(x^gamma, o) for every block that can be drafted and every output it allows. Constraints: the blocks'
    probabilities, and Eq. (7) for every sequence of gamma + 1 tokens.
    Raises: RuntimeError if the solver finds no optimum (a valid verifier always exists).
    """
    gamma, vocabulary = problem.gamma, problem.vocabulary
    sequences = {z: k for k, z in enumerate(problem.prefixes(gamma + 1))}
    rows, columns, entries, gains, right = [], [], [], [], []
    blocks = []
    for block in problem.prefixes(gamma):
        mass = 1.0
        for i, token in enumerate(block):
            mass *= float(problem.draft.row(block[:i])[token])
        if mass > 0:
            blocks.append((block, mass))
    for number, (block, mass) in enumerate(blocks):
        right.append(mass)
        for accepted in range(gamma + 1):
            for token in range(vocabulary):
                column = len(gains)
                gains.append(-accepted)
                rows.append(number)
                columns.append(column)
                entries.append(1.0)
                for z, share in _completions(problem, (*block[:accepted], token)):
                    rows.append(len(blocks) + sequences[z])
                    columns.append(column)
                    entries.append(share)
    for z in sequences:
        p = 1.0
        for i, token in enumerate(z):
            p *= float(problem.target.row(z[:i])[token])
        right.append(p)
    matrix = coo_matrix((entries, (rows, columns)), shape=(len(right), len(gains)))
    solved = linprog(np.array(gains), A_eq=matrix.tocsr(), b_eq=np.array(right), bounds=(0, None), method="highs")
    if solved.status != 0:
        raise RuntimeError(f"HiGHS: {solved.message}")
    return -float(solved.fun)


def _completions(problem: Problem, prefix):
    """Every sequence of gamma + 1 tokens that continues the prefix, with the target's probability of the rest."""
    if len(prefix) == problem.gamma + 1:
        yield prefix, 1.0
        return
    for token, p in enumerate(problem.target.row(prefix)):
        if p:
            for z, rest in _completions(problem, (*prefix, token)):
                yield z, float(p) * rest
