"""The few operations on numbers that the algorithms need, open to any kind of number.

Floats, rationals and integers work as they are. Whoever brings symbols (z3, sympy) registers their type with
``minimum.register`` and the like, so that the algorithms themselves stay as published.
"""

from collections.abc import Sequence
from functools import singledispatch
from numbers import Real
from typing import Any

Number = Any
"""A number of any exact, float or symbolic type."""

Row = Sequence[Number]
"""A probability row over the vocabulary: V numbers."""


@singledispatch
def minimum(a: Number, b: Number) -> Number:
    """Return the smaller of two numbers: min(a, b)."""
    return a if a <= b else b


@singledispatch
def positive_part(x: Number) -> Number:
    """Return max(x, 0), exact for exact numbers."""
    return x if x > 0 else 0


@singledispatch
def quotient(numerator: Number, denominator: Number, at_zero: Number) -> Number:
    """Return numerator / denominator, or ``at_zero`` where the denominator is zero."""
    return numerator / denominator if denominator != 0 else at_zero


def residual(target: Row, draft: Row, survival: Number = 1) -> list[Number]:
    """Return what is left of the target once the draft's share is taken out, [V].

    residual(x) = max(survival * target(x) - draft(x), 0), not normalised.
    survival: p_i, the probability that the prefix survives; 1 gives token verification's Eq. (3).
    Source: Sun et al. 2025, Eq. (3), (4) and (30).
    """
    return [positive_part(survival * p - q) for p, q in zip(target, draft, strict=True)]


@singledispatch
def ratio(target: Number, draft: Number) -> Number:
    """Return the likelihood ratio target / draft of one draft token.

    A token to which the draft gives probability 0 is never drafted, but may be passed in: then 0 if the target excludes
    it too, else 1 (certain acceptance), so that a verifier never emits a token that the target excludes.
    """
    return target / draft if draft != 0 else int(target != 0)


def normalised(weights: Row) -> list[Number]:
    """Return the weights divided by their sum, [V]; not all of them are zero."""
    total = sum(weights)
    return [weight / total for weight in weights]


def or_else(weights: Row, otherwise: Row) -> Row:
    """Return the weights, or ``otherwise`` where none is left: what exact numbers never reach, and rounded ones may."""
    return otherwise if all(isinstance(w, Real) and w <= 0 for w in weights) else weights
