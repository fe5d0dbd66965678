"""``random``: a Random whose uniform is followed. Everything else of it builds on ``random()`` and ``_randbelow``."""

import random
from typing import Any

from .numbers import handed_out
from .sources import Lattice
from .tracer import Followed, Tracer, followed, place

PlainRandom: Any = random.Random


class TracedRandom(Followed, PlainRandom):
    """random.Random; while a function is traced its numbers are handed out by the tracer."""

    _plain = PlainRandom

    def __init__(self, x: Any = None):
        PlainRandom.__init__(self, x)
        if x is not None:
            self._seeded("random.Random(seed)")

    def seed(self, a: Any = None, version: int = 2) -> None:
        super().seed(a, version)
        if a is not None:
            self._seeded("random.seed")

    def setstate(self, state: Any) -> None:
        super().setstate(state)
        self._seeded("random.setstate")

    @followed
    def random(self, tracer: Tracer) -> Any:
        return handed_out(Lattice(tracer, 53))

    @followed
    def _randbelow(self, tracer: Tracer, n: int) -> int:
        return tracer.pick(n)

    @followed
    def getrandbits(self, tracer: Tracer, k: int) -> int:
        return tracer.pick(1 << k) if k <= 12 else tracer.give_up(f"{k} random bits drawn at {place()}")

    @followed
    def expovariate(self, tracer: Tracer, lambd: float = 1.0) -> Any:
        from math import log  # the followed one

        return -log(1.0 - self.random()) / lambd


def install() -> None:
    """Replace the module's functions by those of a traced generator; what was imported before is as it was."""
    shared = TracedRandom()
    random.Random = TracedRandom
    for name in dir(PlainRandom):
        if not name.startswith("_") and hasattr(random, name):
            setattr(random, name, getattr(shared, name))
