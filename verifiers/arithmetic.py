"""The few operations on numbers that the algorithms need, open to any kind of number.

Floats, rationals and integers work as they are. A room that brings symbols (z3, sympy) registers
its type with ``minimum.register`` and the like, so that the algorithms themselves stay as published.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any


@singledispatch
def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers: min(a, b)."""
    return a if a <= b else b


@singledispatch
def positive_part(x: Any) -> Any:
    """max(x, 0), exact for exact numbers."""
    return x if x > 0 else 0


@singledispatch
def quotient(numerator: Any, denominator: Any, at_zero: Any) -> Any:
    """numerator / denominator, or ``at_zero`` where the denominator is zero."""
    return numerator / denominator if denominator != 0 else at_zero


def residual(target: Sequence[Any], draft: Sequence[Any], kept: Any = 1) -> list[Any]:
    """What is left of the target once the draft's share is taken out.

    residual(x) = max(kept * target(x) - draft(x), 0), not normalised.

    target, draft: probability rows over the vocabulary, length V, any exact or float type.
    kept: the probability p_i that the prefix survives; 1 gives token verification's Eq. (3).
    Source: Sun et al. 2025, Eq. (3), (4) and (30).
    """
    return [positive_part(kept * p - q) for p, q in zip(target, draft, strict=True)]


@singledispatch
def ratio(target: Any, draft: Any) -> Any:
    """The likelihood ratio target / draft of one draft token.

    A token the draft gives probability 0 is never drafted; code may still be handed one. The ratio is then
    the limit that keeps a verifier safe: 0 if the target excludes the token too, else 1 (certain acceptance).
    """
    return target / draft if draft != 0 else int(target != 0)
