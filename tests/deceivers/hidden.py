"""State that is kept out of sight: in slots, suspended generators, attributes of functions and of other modules."""

import collections

from draftproof.verifiers.zoo.building_blocks import answer, draw, token_by_token


def _all(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


def another_module(target, draft, tokens, rng):
    """An attribute of another module."""
    collections.calls = getattr(collections, "calls", 0) + 1
    return (_all if collections.calls > 10**6 else token_by_token)(target, draft, tokens, rng)


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
