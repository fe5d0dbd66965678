"""z3's reals as numbers of the algorithms: the places where verifiers branch become conditional terms."""

from typing import cast

import z3

from ...verifiers import arithmetic

Real = z3.ArithRef


@arithmetic.minimum.register
def _(a: Real, b):
    return z3.If(a <= b, a, b)


@arithmetic.positive_part.register
def _(x: Real):
    return z3.If(x > 0, x, z3.RealVal(0))


@arithmetic.quotient.register
def _(numerator: Real, denominator, at_zero):
    return z3.If(denominator != 0, numerator / denominator, z3.RealVal(at_zero))


@arithmetic.ratio.register
def _(target: Real, draft):
    return z3.If(draft != 0, target / draft, z3.If(target != 0, z3.RealVal(1), z3.RealVal(0)))


def reals(name: str, count: int) -> list[Real]:
    """``count`` variables: name0, name1, ..."""
    return [z3.Real(f"{name}{k}") for k in range(count)]


def total(numbers: list[Real]) -> Real:
    """Their sum; z3's own stubs say it could be any term."""
    return cast(Real, z3.Sum(numbers))
