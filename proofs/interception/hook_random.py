"""The hooks of ``random``: a Random whose uniform is traced. The rest of it builds on ``random()`` and ``_randbelow``.

Randomness of the operating system cannot be repeated, so a call that uses it cannot be traced. The functions of
``math`` take traced numbers, too.
"""

import bisect
import math
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import place_in_row
from .generators import Followed, followed, guarded, named_as, seeding
from .numbers import Traced, handed_out
from .places import constant_key, place
from .sources import Lattice, in_double_precision
from .tracer import Tracer, active, refuse

PlainRandom: Any = random.Random


@named_as(PlainRandom)
class TracedRandom(Followed, PlainRandom):
    """A random.Random whose numbers the tracer hands out while a function is traced."""

    _plain, _stream = PlainRandom, "random"

    seed = seeding(PlainRandom.seed, "a", "random.seed")
    setstate = seeding(PlainRandom.setstate, "state", "random.setstate")

    @followed
    def random(self, tracer: Tracer) -> Any:
        if tracer.plain_call is not None:  # as every source would: made for none of the many in a loop over a row
            return tracer.plain_number(in_double_precision)
        return handed_out(Lattice(tracer, 53))

    @followed
    def _randbelow(self, tracer: Tracer, n: int) -> Any:
        return tracer.pick(n)

    @followed
    def getrandbits(self, tracer: Tracer, k: int) -> Any:
        return tracer.pick(1 << k)

    @followed
    def randbytes(self, tracer: Tracer, n: int) -> bytes:
        return tracer.give_up(f"{n} random bytes drawn at {place()}")

    @followed
    def getstate(self, tracer: Tracer) -> Any:
        return tracer.give_up(f"the state of a followed generator is read at {place()}: it says nothing")

    @followed
    def expovariate(self, tracer: Tracer, lambd: float = 1.0) -> Any:
        return -math.log(1.0 - self.random()) / lambd


def _bisected(plain: Callable, side: str) -> Callable:
    """Return a function of ``bisect`` that looks a random number up in a row, if rows are kept whole."""

    def search(a: Any, x: Any, *arguments: Any, **options: Any) -> Any:
        low, high = (*arguments, *(0, len(a))[len(arguments) :])
        looked_in = a if (low, high) == (0, len(a)) else a[low:high]
        place = None if options else place_in_row(x, lambda: np.asarray(looked_in, dtype=float), side)
        return plain(a, x, *arguments, **options) if place is None else low + place

    search.__name__ = plain.__name__
    return search


def install() -> None:
    """Replace the module's functions by those of a traced generator. What was imported before stays."""
    for name, side in (("bisect", "right"), ("bisect_right", "right"), ("bisect_left", "left")):
        setattr(bisect, name, _bisected(getattr(bisect, name), side))
    for name in ("_bisect",):
        setattr(random, name, bisect.bisect)  # what random.choices looks its uniform up with
    shared = TracedRandom()
    random.Random = TracedRandom
    for name in dir(PlainRandom):
        if not name.startswith("_") and hasattr(random, name):
            setattr(random, name, getattr(shared, name))
    _guard(os, "urandom")
    for name in ("random", "getrandbits", "randbytes"):
        _guard(random.SystemRandom, name)  # and with it the module secrets


def _guard(owner: Any, name: str) -> None:
    what = f"{owner.__name__}.{name}"
    before = lambda: refuse(f"{what} at {place()}: randomness of the operating system cannot be followed")  # noqa: E731
    setattr(owner, name, guarded(getattr(owner, name), before))


def follow_math() -> None:
    """Let the functions of ``math`` trace a random number: they are C code that would ask for a plain float."""
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
