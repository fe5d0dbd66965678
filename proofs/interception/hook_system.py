"""Randomness of the operating system: it cannot be repeated, so a call that uses it cannot be followed."""

import os
import random
from typing import Any

from .generators import guarded
from .places import place
from .tracer import refuse


def install() -> None:
    """Guard os.urandom and random.SystemRandom, and with it the module ``secrets``."""

    def guard(owner: Any, name: str) -> None:
        what = f"{owner.__name__}.{name}"
        before = lambda: refuse(f"{what} at {place()}: randomness of the operating system cannot be followed")  # noqa: E731
        setattr(owner, name, guarded(getattr(owner, name), before))

    guard(os, "urandom")
    for name in ("random", "getrandbits", "randbytes"):
        guard(random.SystemRandom, name)
