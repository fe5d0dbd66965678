"""``random``: a Random whose uniform is followed. Everything else of it builds on ``random()`` and ``_randbelow``."""

import math
import random
from typing import Any

from .numbers import handed_out
from .sources import Lattice
from .tracer import Followed, Tracer, followed, place, seeding

PlainRandom: Any = random.Random


class TracedRandom(Followed, PlainRandom):
    """random.Random; while a function is traced its numbers are handed out by the tracer."""

    _plain = PlainRandom

    __init__ = seeding(PlainRandom.__init__, "x", "random.Random(seed)")
    seed = seeding(PlainRandom.seed, "a", "random.seed")
    setstate = seeding(PlainRandom.setstate, "state", "random.setstate")

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
        return -math.log(1.0 - self.random()) / lambd


def install() -> None:
    """Replace the module's functions by those of a traced generator; what was imported before is as it was."""
    shared = TracedRandom()
    random.Random = TracedRandom
    for name in dir(PlainRandom):
        if not name.startswith("_") and hasattr(random, name):
            setattr(random, name, getattr(shared, name))
