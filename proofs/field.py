"""Numbers and problems over sympy's QQ, the field all exact laws are computed in."""

from fractions import Fraction
from typing import Any

from sympy import QQ

from ..models.problem import Problem, with_numbers


def rational(number: Any) -> Any:
    """The exact value in QQ of a text such as "1/3", an int, a Fraction, or any library's float."""
    exact = Fraction(number) if isinstance(number, (str, int, Fraction)) else float(number)
    return QQ(*exact.as_integer_ratio())


def in_field(problem: Problem) -> Problem:
    """The problem over QQ."""
    return with_numbers(problem, lambda p: QQ(int(p.numerator), int(p.denominator)))
