"""Numbers and problems over sympy's QQ, the field all exact laws are computed in."""

import os
from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from ..models.problem import Problem, with_numbers
from ..models.rationals import whole_numbers


def _field() -> Callable[..., Any]:
    """Return QQ(numerator, denominator): python-flint's numbers where sympy would use them.

    Importing sympy takes longer than everything else that a child process needs, and only symbolic proofs need it.
    """
    if find_spec("sympy") is None or ("SYMPY_GROUND_TYPES" not in os.environ and find_spec("gmpy2") is None):
        from flint import fmpq

        return fmpq
    from sympy import QQ

    return QQ


QQ = _field()


def rational(number: Any) -> Any:
    """Return the exact value in QQ of a text such as "1/3", an int, a Fraction, or any library's float."""
    if isinstance(number, str) and (ratio := whole_numbers(number)):
        return QQ(*ratio)
    exact = Fraction(number) if isinstance(number, (str, int, Fraction)) else float(number)
    return QQ(*exact.as_integer_ratio())


def in_field(problem: Problem) -> Problem:
    """Return the problem over QQ."""
    return with_numbers(problem, lambda p: QQ(int(p.numerator), int(p.denominator)))
