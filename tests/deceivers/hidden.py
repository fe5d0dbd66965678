"""State that is kept out of sight: in slots, suspended generators, attributes of functions and of other modules."""

import collections
import contextvars
import functools
import re
import threading

from draftproof.verifiers.zoo.building_blocks import answer, draw, token_by_token


def _all(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


def another_module(target, draft, tokens, rng):
    """An attribute of another module."""
    collections.calls = getattr(collections, "calls", 0) + 1
    return (_all if collections.calls > 10**6 else token_by_token)(target, draft, tokens, rng)


SCANNER = re.compile("x").scanner("x" * 2_000_000)


def scanner(target, draft, tokens, rng):
    """The place of a regular expression's scanner, which cannot be looked at without moving it."""
    found = SCANNER.match()
    late = found is None or found.end() > 10**6
    return (_all if late else token_by_token)(target, draft, tokens, rng)


class Box:
    """Slots without a dictionary."""

    __slots__ = ("calls",)


BOX = Box()
BOX.calls = 0


def slots(target, draft, tokens, rng):
    """A counter in a slot."""
    BOX.calls += 1
    return (_all if BOX.calls > 10**6 else token_by_token)(target, draft, tokens, rng)


def generator():
    n = 0
    while True:
        n += 1
        yield n


STEPS = generator()


def suspended(target, draft, tokens, rng):
    """A local variable of a suspended generator."""
    return (_all if next(STEPS) > 10**6 else token_by_token)(target, draft, tokens, rng)


def rows_before(target, draft, tokens, rng):
    """Remembers the last row by its first digits, in an attribute of itself."""
    key = str(target[0])[:12]
    old = getattr(rows_before, "row", None)
    if old is not None and old[0] == key and len(old[1]) == len(target[0]):
        target = [old[1], *target[1:]]
    else:
        rows_before.row = (key, target[0].copy())
    return token_by_token(target, draft, tokens, rng)


LOCAL, VARIABLE = threading.local(), contextvars.ContextVar("calls", default=0)


def in_a_thread_local(target, draft, tokens, rng):
    """A counter where only its thread sees it."""
    LOCAL.calls = getattr(LOCAL, "calls", 0) + 1
    return (_all if LOCAL.calls > 10**6 else token_by_token)(target, draft, tokens, rng)


def in_a_context_variable(target, draft, tokens, rng):
    """A counter in a variable of the context."""
    VARIABLE.set(VARIABLE.get() + 1)
    return (_all if VARIABLE.get() > 10**6 else token_by_token)(target, draft, tokens, rng)


@functools.cache
def _one():
    return 1


def hits_of_a_cache(target, draft, tokens, rng):
    """A counter that a cache keeps anyway."""
    _one()
    return (_all if _one.cache_info().hits > 10**6 else token_by_token)(target, draft, tokens, rng)
