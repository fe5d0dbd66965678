"""Where a refuted law is off: position, token, context. An explanation after the fact, not a test."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from math import copysign, inf, sqrt
from typing import NamedTuple

from scipy.special import xlogy

from .cells import Counts, Law, checked_counts, checked_law


class TokenDeviation(NamedTuple):
    """A token at a position, and how far its frequency there is from the law.

    position, token: the place, from 0, and the token there
    context: the tokens before, or None for whatever came before
    seen, n: it was seen in ``seen`` of ``n`` draws there
    expected: its probability there
    standard_errors: signed root of the deviance, near the number of standard errors where counts are large, and not
    misled by a single hit where they are small
    """

    position: int
    context: tuple | None
    token: Hashable
    seen: int
    n: int
    expected: float
    standard_errors: float

    def __str__(self) -> str:
        after = "" if self.context is None else f" after {','.join(map(str, self.context)) or 'nothing'}"
        return (
            f"token {self.token} at position {self.position}{after} was seen {self.seen} of {self.n} times, "
            f"expected {self.n * self.expected:.6g} ({self.standard_errors:+.1f} standard errors)"
        )


def largest_token_deviation(counts: Counts, law: Law) -> TokenDeviation:
    """The token whose frequency at some position, overall or after some context, is furthest from the law's.

    counts, law: of sequences of equal length (tuples), or of single tokens
    Guarantee: none; the largest of many deviations is large in a clean sample too. It says where to look once the
    joint law is refuted. Raises: InputError as ``goodness_of_fit``.
    """
    return oddities(counts, law)[0]


def oddities(counts: Counts, law: Law) -> list[TokenDeviation]:
    """All tokens at all positions and contexts that were seen, the most off first."""
    law = checked_law(law)
    seen, expected, rows = _by_place(checked_counts(counts, law)), _by_place(law), []
    for place, tokens in seen.items():
        n, weight = sum(tokens.values()), sum(expected[place].values())
        for token in expected[place].keys() | tokens.keys():
            p = expected[place][token] / weight if weight else 0.0
            rows.append(TokenDeviation(*place, token, tokens[token], n, p, _root(tokens[token], n, p)))
    # Of equally odd ones, the simplest to say: no context, then the earliest.
    return sorted(rows, key=lambda o: (-abs(o.standard_errors), o.context is not None, o.position, str(o.token)))


def _by_place(weights: Mapping) -> dict[tuple[int, tuple | None], Counter]:
    places: dict[tuple[int, tuple | None], Counter] = defaultdict(Counter)
    for outcome, weight in weights.items():
        tokens = outcome if isinstance(outcome, tuple) else (outcome,)
        for i, token in enumerate(tokens if weight else ()):
            places[i, None][token] += weight
            if i:
                places[i, tokens[:i]][token] += weight
    return places


def _root(seen: int, n: int, p: float) -> float:
    if (p <= 0 and seen) or (p >= 1 and seen < n):
        return copysign(inf, seen - n * p)
    if p <= 0 or p >= 1:
        return 0.0
    deviance = 2 * (xlogy(seen, seen / (n * p)) + xlogy(n - seen, (n - seen) / (n * (1 - p))))
    return copysign(sqrt(max(0.0, float(deviance))), seen - n * p)
