"""Randomness of the operating system: it cannot be repeated, so a call that uses it cannot be followed."""

import os
import random

from .tracer import place, refuse


def _guarded(function, name):
    def guard(*arguments, **options):
        refuse(f"{name} at {place()}: randomness of the operating system cannot be followed")
        return function(*arguments, **options)

    guard.__name__ = function.__name__
    return guard


def install() -> None:
    """Guard os.urandom and random.SystemRandom, and with it the module ``secrets``."""
    os.urandom = _guarded(os.urandom, "os.urandom")
    for name in ("random", "getrandbits", "randbytes"):
        setattr(random.SystemRandom, name, _guarded(getattr(random.SystemRandom, name), f"SystemRandom.{name}"))
