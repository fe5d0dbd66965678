"""Writes into what it is given, or returns what reads otherwise a second time."""

from draftproof.tests.deceivers.occasions import accept_all
from draftproof.verifiers.zoo.building_blocks import token_by_token


def inputs_changed(target, draft, tokens, rng):
    """Writes the draft's rows over the target's, then verifies rightly against those."""
    target[: len(draft)] = draft
    return token_by_token(target, draft, tokens, rng)


def draft_tokens_changed(target, draft, tokens, rng):
    """Replaces the draft tokens in place, and accepts them."""
    for i in range(len(tokens)):
        tokens[i] = int(target[i].argmax())
    return token_by_token(target, draft, tokens, rng)


class _Tokens(list):
    """A list that gives other tokens when it is read a second time."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        return iter([0] if self.reads > 1 else list.copy(self))


def result_of_another_mind(target, draft, tokens, rng):
    return _Tokens(accept_all(target, draft, tokens, rng))
