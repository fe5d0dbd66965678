"""Wrong decoders whose drafts are drawn by another law than the one that their tests take them to have."""

import struct
from itertools import product
from math import exp, log, prod

from ...verifiers.arithmetic import normalised
from ..law import Prefix
from .reference import Decoder, DrawnToken, Row

P_MIN = 0.3
"""Probability below which a drafted token is dropped."""


def coarse(row: Row) -> Row:
    """Return the row that scores have after a conversion to bfloat16, cut off and not rounded."""
    kept = [struct.pack(">f", log(p))[:2] + b"\0\0" if p else b"" for p in row]
    return normalised([exp(struct.unpack(">f", score)[0]) if score else 0.0 for score in kept])


def likeliest(row: Row, count: int) -> Row:
    """Return a row cut to its likeliest tokens."""
    kept = sorted(range(len(row)), key=lambda t: -row[t])[:count]
    return normalised([p if t in kept else 0.0 for t, p in enumerate(row)])


class LikeliestDrafts(Decoder):
    """A decoder that drafts the likeliest tokens, and tests them as if they were drawn."""

    def sampled_row(self, text: Prefix) -> Row:
        return likeliest(self.draft_row(text), 1)


class DraftsOfTwo(Decoder):
    """A decoder that draws drafts from the two likeliest tokens, and tests them by the whole row."""

    def sampled_row(self, text: Prefix) -> Row:
        return likeliest(self.draft_row(text), 2)


class CoarseDrafts(Decoder):
    """A decoder that draws drafts from scores in bfloat16, and tests them by the row in full."""

    def sampled_row(self, text: Prefix) -> Row:
        return coarse(self.draft_row(text))


class UnlikelyDraftsDropped(Decoder):
    """A decoder that ends a draft at a token that the draft finds unlikely, and drops that token untested."""

    def drafted(self) -> list[DrawnToken]:
        block = super().drafted()
        return block[: next((i for i, (token, q) in enumerate(block) if q[token] < P_MIN), None)]


class BeamDrafts(Decoder):
    """A decoder that drafts by a beam search, and tests the tokens as if they were drawn."""

    def drafted(self) -> list[DrawnToken]:
        size, length = len(self.target.row(self.prompt)), min(self.gamma, self.room)
        best = max(product(range(size), repeat=length), key=lambda tokens: prod(self.along(tokens)))
        return [(token, self.row_of(best, place)) for place, token in enumerate(best)]

    def along(self, tokens: Prefix) -> Row:
        """Return the probabilities of tokens, each after those before it."""
        return [self.draft_row(self.text + tokens[:i])[token] for i, token in enumerate(tokens)]

    def row_of(self, tokens: Prefix, place: int) -> Row:
        """Return the row that a token is tested by."""
        return self.draft_row(self.text + tokens[:place])


class DraftsMassOfOneToken(Decoder):
    """A decoder that keeps of a drafted token's row its own probability alone."""

    def replacement(self, p: Row, q: Row, text: Prefix, token: int) -> int:
        return super().replacement(p, [x if t == token else 0.0 for t, x in enumerate(q)], text, token)
