"""List matching by shared noise: each draft picks by noise of its own, the target by the least noise of them all."""

from functools import lru_cache
from numbers import Rational, Real
from typing import NamedTuple

from ..arithmetic import Number, Row, normalised, or_else
from ..chance import Chance
from .descent import Choice, Siblings

Piece = tuple[Number, Number, tuple[Number, ...]]
"""A draft's pick in a part of the time t: weight exp(-rate t) (1 - exp(-clock t)), the last without a clock."""


LEAST = 2.0**-120
"""q(v) / p(v) below which a token is left out of a race of floats: products of times overflow in float32."""


class RacePieces(NamedTuple):
    """A piece of the time between p_v t / q_v, when a draft's token v is out, and the next; v comes at the rate q_v
    after.

    starts: v -> p_v / q_v. points: these in order. slopes, rates, clocks: of each piece, in units of t.
    """

    starts: dict[int, Number]
    points: list[Number]
    slopes: list[Number]
    rates: list[Number]
    clocks: list[tuple[Number, ...]]

    def span(self, draft: Row, x: int, end: int | None = None) -> list[Piece]:
        """Return Pr(a draft picks x before the time of ``end``), no noise of it lying before the target's time."""
        if x not in self.starts:
            return []
        first, *last = (self.points.index(self.starts[v]) for v in (x, end) if v in self.starts)
        return [
            (draft[x] / self.slopes[j], self.rates[j], self.clocks[j])
            for j in range(first, last[0] if last else len(self.points))
        ]


@lru_cache(maxsize=4096)
def pieces(target: Row, draft: Row) -> RacePieces:
    """Return the pieces of time for a draft that picks the least E_v / q_v; given the target's time t, E_v >= p_v t.

    In floats a token is left out that is too unlikely for the draft.
    """

    def there(p: Number, q: Number) -> bool:
        exact = isinstance(q, Rational) or not isinstance(q, Real)
        return q != 0 if exact else float(q) > LEAST * float(p)

    starts = {v: p / q for v, (p, q) in enumerate(zip(target, draft, strict=True)) if there(p, q)}
    points = sorted(set(starts.values()))
    before = [[v for v, s in starts.items() if s <= point] for point in points]
    slopes = [sum(draft[v] for v in tokens) for tokens in before]
    rates = [sum(draft[v] * (point - starts[v]) for v in tokens) for point, tokens in zip(points, before, strict=True)]
    clocks = [(slope * (b - a),) for slope, a, b in zip(slopes, points, points[1:], strict=False)]
    return RacePieces(starts, points, slopes, rates, [*clocks, ()])


def rings(rate: Number, clocks: tuple[Number, ...]) -> Number:
    """Return the integral of exp(-rate t) prod(1 - exp(-c t)) over the clocks c: all ring first, whichever is next."""
    if not clocks:
        return 1 / rate
    parts = (c * rings(rate, (*clocks[:i], *clocks[i + 1 :])) for i, c in enumerate(clocks))
    return sum(parts) / (rate + sum(clocks))


def race(spans: list[list[Piece]], rate: Number, clocks: tuple[Number, ...] = ()) -> Number:
    """Return the same of products of pieces, one of each draft's: sums of positive numbers alone."""
    if not spans:
        return rings(rate, clocks)
    return sum(share * race(spans[1:], rate + r, (*c, *clocks)) for share, r, c in spans[0])


@lru_cache(maxsize=4096)
def given_drafts(target: Row, draft: Row, tokens: tuple[int, ...]) -> list[Number]:
    """Return the law of the target's pick, given what the drafts picked, [V].

    The target picks y at a time t of rate K, for K drafts; which of them has that noise is even, and ends its race: it
    picks y itself, or what comes before. Given both, the drafts are independent: what remains is one integral over t.
    """
    law, cut, k = [], pieces(target, draft), len(tokens)
    spans = [cut.span(draft, x) for x in tokens]
    for y, p in enumerate(target):
        total = 0
        for i, x in enumerate(tokens if p != 0 else ()):
            own = [(1, cut.rates[cut.points.index(cut.starts[y])], ())] if x == y in cut.starts else []
            total += race([*spans[:i], own or cut.span(draft, x, y), *spans[i + 1 :]], k)
        law.append(p * total)
    # Nothing is left of drafts that were left out, or are less likely than any number of the rows' type.
    return normalised(or_else(law, target))


def step(siblings: Siblings, chance: Chance) -> Choice:
    """Return the target's pick under the noise with which the drafts picked; accepted if it is one of theirs.

    Draft k picks the least E_kv / q_v, the target the least min_k E_kv / p_v, all E exponential.
    Guarantee: valid for siblings drawn independently from one row; with one draft it is ``shared_gumbel``.
    Source: Rowan, Phan and Khisti 2025, "List-Level Distribution Coupling" (Gumbel-max list sampling).
    """
    target, draft = tuple(siblings.target), tuple(siblings.drafts[0])
    order = tuple(sorted(siblings.tokens))
    y = chance.draw(given_drafts(target, draft, order))
    return Choice(y, y in order)
