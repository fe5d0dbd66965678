"""Theorem 2 corrected: the expected number of target calls until a text is finished.

A text is finished when it has L tokens or contains the end-of-sequence token. An iteration is one target call; those
after the text is finished are not counted.
"""

from collections.abc import Callable
from typing import Any

from ..models.decoding import Decoded
from ..models.law import Prefix
from ..models.problem import Problem
from ..verifiers.registry import Reference
from .laws import IteratedLaw


def expected_calls(problem: Problem, verifier: Reference, length: int, end: int | None = None) -> Any:
    """E[target calls] of a verifier's loop until ``length`` tokens or the token ``end``, exactly.

    calls(c) = 0 if c is finished, else 1 + sum_o Pr(o) calls(c o).
    """
    loop = IteratedLaw(problem, verifier)

    def one_iteration(text: Prefix, calls: Callable[[Prefix], Any]) -> Any:
        return sum(p * calls(after.tokens) for after, p in loop.iteration(Decoded(text)))

    return calls_until(problem, one_iteration, length, end)


def calls_until(problem: Problem, one_iteration: Callable, length: int, end: int | None) -> Any:
    """The recursion over unfinished texts; ``one_iteration(text, calls)`` is the mean of ``calls`` after one more.

    Texts of one length with the same future are computed once.
    """
    known: dict[Any, Any] = {}

    def calls(text: Prefix) -> Any:
        if len(text) >= length or end in text:
            return 0
        future = (len(text), problem.target.state(text), problem.draft.state(text))
        if future not in known:
            known[future] = 1 + one_iteration(text, calls)
        return known[future]

    return calls(())
