"""Rational numbers as Fractions, floats and texts.

An *exact number* here is any type with a whole numerator and denominator: int, Fraction, sympy's QQ.
"""

import re
from fractions import Fraction
from typing import Any

from .errors import InputError

# Exponents of at most three digits: a larger one would only ask for gigabytes of zeros.
PROBABILITY = re.compile(r"\s*-?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?)\s*")


def parse_rational(text: Any, where: str) -> Fraction:
    """Read a probability written as "1/3", "0.25", "1e-7" or 1, exactly. Raises: InputError naming the place."""
    if isinstance(text, float):
        raise InputError(f"{where}: {text!r} is a float; write the probability as a string, it is read exactly")
    if isinstance(text, (int, Fraction)) and not isinstance(text, bool):
        return Fraction(text)
    try:
        if not (isinstance(text, str) and PROBABILITY.fullmatch(text)):
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f'{where}: {text!r} is not a probability; expected a rational such as "1/3"') from None


def as_fraction(number: Any) -> Fraction:
    """Return an exact number as a Fraction."""
    return number if type(number) is Fraction else Fraction(int(number.numerator), int(number.denominator))


def as_float(number: Any) -> float:
    """Return the float nearest to an exact number of any size."""
    return int(number.numerator) / int(number.denominator)
