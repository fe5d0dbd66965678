"""Linear programs over all valid verifiers, solved numerically: optima that know nothing of the closed form.

A strategy chooses for every iteration a valid verifier, which may depend on the whole text and on both models in full;
the best of all is found by linear programs one after the other, backwards.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from ...models.law import Prefix
from ...models.problem import Problem
from ...models.rationals import as_float
from ..laws.reference_laws import completed, joint_law
from ..theorem_2 import calls_until


def largest_gain(problem: Problem, gain: Callable[[Prefix], float]) -> float:
    """Return the largest E[gain(X^tau, Y)] of all valid verifiers on a problem, by HiGHS.

    Variables: K(x^gamma, o) for every block that can be drafted and every output it allows. Constraints: the blocks'
    probabilities, and Eq. (7) for every sequence of gamma + 1 tokens.
    Raises: RuntimeError if the solver finds no optimum (a valid verifier always exists).
    """
    gamma, one = problem.gamma, 1
    blocks, texts = joint_law(problem.draft, gamma, one), joint_law(problem.target, gamma + 1, one)
    row_of_text = {text: k for k, text in enumerate(problem.prefixes(gamma + 1), start=len(blocks))}
    right = [*map(as_float, blocks.values()), *(as_float(texts.get(text, 0)) for text in row_of_text)]
    gains, entries = [], []
    for row, block in enumerate(blocks):
        for accepted, token in product(range(gamma + 1), range(problem.vocabulary)):
            output = (*block[:accepted], token)
            continued = completed({output: one}, problem.target, gamma + 1)
            entries.append((1.0, row, len(gains)))
            entries += [(as_float(p), row_of_text[text], len(gains)) for text, p in continued.items()]
            gains.append(-gain(output))
    values, rows, columns = zip(*entries)
    matrix = coo_matrix((values, (rows, columns)), shape=(len(right), len(gains)))
    solved = linprog(np.array(gains), A_eq=matrix.tocsr(), b_eq=np.array(right), bounds=(0, None), method="highs")
    if solved.status != 0:
        raise RuntimeError(f"HiGHS: {solved.message}")
    return -float(solved.fun)


def fewest_calls(problem: Problem, length: int, end: int | None = None) -> float:
    """Return the smallest expected number of target calls until ``length`` tokens or the token ``end``, by HiGHS.

    Raises: RuntimeError if the solver finds no optimum.
    """

    def one_iteration(text: Prefix, calls: Callable[[Prefix], Any]) -> float:
        return -largest_gain(problem.after(text), lambda output: -float(calls(text + output)))

    return calls_until(problem, one_iteration, length, end)


def most_tokens(problem: Problem, iterations: int, text: Prefix = ()) -> float:
    """Return the largest E[N(i)] from a text on, by HiGHS.

    Raises: RuntimeError if the solver finds no optimum.
    """
    if iterations == 0:
        return 0.0

    def gain(output: Prefix) -> float:
        return len(output) + most_tokens(problem, iterations - 1, text + output)

    return largest_gain(problem.after(text), gain)
