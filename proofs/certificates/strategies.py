"""The best of all strategies over several iterations, numerically: linear programs one after the other, backwards.

A strategy chooses for every iteration a valid verifier, which may depend on the whole text and on both models in full.
"""

from collections.abc import Callable
from typing import Any

from ...models.law import Prefix
from ...models.problem import Problem
from ..theorem_2_calls import calls_until
from .linear_program import largest_gain


def fewest_calls(problem: Problem, length: int, end: int | None = None) -> float:
    """The smallest expected number of target calls until ``length`` tokens or the token ``end``, by HiGHS.

    Raises: RuntimeError if the solver finds no optimum.
    """

    def one_iteration(text: Prefix, calls: Callable[[Prefix], Any]) -> float:
        return -largest_gain(problem.after(text), lambda output: -float(calls(text + output)))

    return calls_until(problem, one_iteration, length, end)


def most_tokens(problem: Problem, iterations: int, text: Prefix = ()) -> float:
    """The largest E[N(i)] from a text on, by HiGHS.

    Raises: RuntimeError if the solver finds no optimum.
    """
    if iterations == 0:
        return 0.0

    def gain(output: Prefix) -> float:
        return len(output) + most_tokens(problem, iterations - 1, text + output)

    return largest_gain(problem.after(text), gain)
