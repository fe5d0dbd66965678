"""Functions and numbers of Python's library that ask for a plain float: ``math`` and ``Fraction``."""

import math
from fractions import Fraction
from typing import Any

from .keys import constant_key
from .numbers import Traced
from .tracer import active


def follow_math() -> None:
    """Let the functions of ``math`` follow a random number: they are C code that would ask for a plain float."""
    for name in ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "fabs", "isnan", "isinf", "isfinite"):
        setattr(math, name, _following(getattr(math, name), name))


def _following(function, name):
    if getattr(function, "follows", False):
        return function

    def follow(x, *more):
        if not isinstance(x, Traced) or active() is None:
            return function(x, *more)
        if name.startswith("is"):
            return name == "isfinite"
        return x.unary(lambda value: function(value, *more), name, "math", *map(constant_key, more))

    vars(follow)["follows"] = True
    follow.__name__, follow.__module__ = name, "math"  # numba finds functions by module and name
    return follow


def follow_fractions() -> None:
    """Let ``Fraction`` follow a random number: it takes no number that it does not know."""
    if getattr(Fraction.__new__, "follows", False):
        return
    plain: Any = Fraction.__new__

    def new(cls: type, numerator: Any = 0, *more: Any, **options: Any) -> Any:
        if not isinstance(numerator, Traced) or active() is None:
            return plain(cls, numerator, *more, **options)
        return numerator.then(lambda value: plain(Fraction, value, *more), "Fraction", *map(constant_key, more))

    vars(new)["follows"] = True
    setattr(Fraction, "__new__", new)  # noqa: B010
    setattr(Fraction, "from_float", classmethod(new))  # noqa: B010
