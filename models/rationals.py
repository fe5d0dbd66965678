"""Rational numbers as Fractions, floats and texts.

An *exact number* here is any type with a whole numerator and denominator: int, Fraction, sympy's QQ.
"""

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from .errors import InputError

# Exponents of at most three digits: a larger one would only ask for gigabytes of zeros.
PROBABILITY = re.compile(r"\s*-?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?)\s*")
RATIO = re.compile(r"([0-9]+)(?:/([1-9][0-9]*))?")


def parse_rational(text: Any, where: str) -> Fraction:
    """Read a probability written as "1/3", "0.25", "1e-7" or 1, exactly. Raises: InputError naming the place."""
    if isinstance(text, float):
        raise InputError(f"{where}: {text!r} is a float; write the probability as a string, it is read exactly")
    if isinstance(text, (int, Fraction)) and not isinstance(text, bool):
        return Fraction(text)
    try:
        if isinstance(text, str) and (ratio := whole_numbers(text)):
            return Fraction(*ratio)
        if not (isinstance(text, str) and PROBABILITY.fullmatch(text)):
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f'{where}: {text!r} is not a probability; expected a rational such as "1/3"') from None


def whole_numbers(text: str) -> tuple[int, int] | None:
    """Return the numerator and the denominator of a text such as "1/3" or "2"; None of any other text.

    ``Fraction`` takes four times as long to read one. Raises: ValueError if it has more digits than Python reads.
    """
    found = RATIO.fullmatch(text)
    return (int(found[1]), int(found[2] or 1)) if found else None


def total(numbers: Iterable[Any]) -> Fraction:
    """Return the exact sum of exact numbers, over their common denominator."""
    ratios = [(int(number.numerator), int(number.denominator)) for number in numbers]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return Fraction(sum(numerator * (common // denominator) for numerator, denominator in ratios), common)


def as_fraction(number: Any) -> Fraction:
    """Return an exact number as a Fraction."""
    return number if type(number) is Fraction else Fraction(int(number.numerator), int(number.denominator))


def as_float(number: Any) -> float:
    """Return the float nearest to an exact number of any size."""
    return int(number.numerator) / int(number.denominator)
