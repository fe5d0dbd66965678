"""Exact numbers as text: rationals, hexadecimal floats in two precisions, and JSON numbers."""

import struct
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
"""The spacing at 1 of the number types in which programs may answer."""


def float32(number: Fraction) -> float:
    """The float32 nearest to a rational of at least 0; by way of float64 alone it could be rounded twice."""
    (point,) = struct.unpack("<I", struct.pack("<f", float(number)))
    near = (struct.unpack("<f", struct.pack("<I", k))[0] for k in range(max(point - 1, 0), point + 2))
    return min(near, key=lambda value: abs(Fraction(value) - number))


FORMS: dict[str, Callable[[Fraction], Any]] = {
    "exact": str,
    "float64": lambda number: float(number).hex(),
    "float32": lambda number: float32(number).hex(),
    "numbers": float,
}
"""numbers: JSON numbers that read back to the float64 in every language."""


def forms(values: Any) -> dict[str, Any]:
    """A number, or lists of numbers of any depth, in each of ``FORMS``; None stays None."""
    return {name: _mapped(form, values) for name, form in FORMS.items()}


def _mapped(form: Callable[[Fraction], Any], values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return [_mapped(form, value) for value in values]
    return None if values is None else _form(form, *values.as_integer_ratio())


@lru_cache(maxsize=2**16)
def _form(form: Callable[[Fraction], Any], numerator: int, denominator: int) -> Any:
    return form(Fraction(numerator, denominator))
