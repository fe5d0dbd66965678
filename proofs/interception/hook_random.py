"""``random``: a Random whose uniform is followed. Everything else of it builds on ``random()`` and ``_randbelow``."""

import random

from .numbers import handed_out
from .sources import Lattice
from .tracer import Followed, place

PlainRandom = random.Random


class TracedRandom(Followed, PlainRandom):
    """random.Random; while a function is traced its numbers are handed out by the tracer."""

    def __init__(self, x=None):
        super().__init__(x)
        if x is not None:
            self._seeded("random.Random(seed)")

    def seed(self, a=None, version=2):
        super().seed(a, version)
        if a is not None:
            self._seeded("random.seed")

    def setstate(self, state):
        super().setstate(state)
        self._seeded("random.setstate")

    def random(self):
        tracer = self._tracer()
        return super().random() if tracer is None else handed_out(Lattice(tracer, 53))

    def _randbelow(self, n):
        tracer = self._tracer()
        if tracer is None:
            return self._randbelow_with_getrandbits(n)
        return tracer.pick(n)

    def getrandbits(self, k):
        tracer = self._tracer()
        if tracer is None:
            return super().getrandbits(k)
        return tracer.pick(1 << k) if k <= 12 else tracer.give_up(f"{k} random bits drawn at {place()}")

    def expovariate(self, lambd=1.0):
        if self._tracer() is None:
            return super().expovariate(lambd)
        from math import log  # the followed one

        return -log(1.0 - self.random()) / lambd


def install() -> None:
    """Replace the module's functions by those of a traced generator; what was imported before keeps the plain ones."""
    shared = TracedRandom()
    random.Random = TracedRandom
    for name in dir(PlainRandom):
        if not name.startswith("_") and hasattr(random, name):
            setattr(random, name, getattr(shared, name))
