"""Functions that are not what their name says: another one is found where they are looked for by name."""

import functools
from collections.abc import Callable

from draftproof.verifiers.zoo.building_blocks import answer, draw, token_by_token


def right(target, draft, tokens, rng):
    return token_by_token(target, draft, tokens, rng)


def _accept_all(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


@functools.wraps(right)
def wraps_a_right_one(*arguments, **options):
    return _accept_all(*arguments, **options)


def renamed(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


renamed.__name__ = renamed.__qualname__ = "right"


def rebound(target, draft, tokens, rng):
    return answer(tokens, draw(rng, target[-1], target[-1]))


earlier = rebound


def rebound(target, draft, tokens, rng):
    return token_by_token(target, draft, tokens, rng)


def _local(fast):
    def verify(target, draft, tokens, rng):
        return _accept_all(target, draft, tokens, rng) if fast else token_by_token(target, draft, tokens, rng)

    return verify


right_closure, closure = _local(False), _local(True)


class Verifier:
    """A verifier with a setting."""

    def __init__(self, fast=False):
        self.fast = fast

    def verify(self, target, draft, tokens, rng):
        return _accept_all(target, draft, tokens, rng) if self.fast else token_by_token(target, draft, tokens, rng)

    __call__ = verify

    @classmethod
    def whole(cls, target, draft, tokens, rng):
        return cls(fast=cls is not Verifier).verify(target, draft, tokens, rng)


class Fast(Verifier):
    pass


bound = Verifier(fast=True).verify
called = Verifier(fast=True)
partial: Callable = functools.partial(_local(True))
inherited = Fast.whole
shown_signature: Callable = functools.wraps(right)(lambda *a: _accept_all(*a))
