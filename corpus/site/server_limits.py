"""How many tokens a server has to emit until a deviation shows: the table of the tutorial about servers."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from draftproof.models.problem import Problem, problem_from
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import joint_law
from draftproof.reports.audits.engines.texts import judged, text_length
from draftproof.reports.audits.servers.reference import LIMITED_BY, limit_of
from draftproof.reports.audits.servers.requests import KINDS
from draftproof.stattests.arguments import ALPHA

DISTANCES = (0.3, 0.2, 0.1, 0.05, 0.02)
"""Total variations of the table."""

REQUESTS_A_SECOND = 100
"""Requests of a forged model that a server answers in a second, for the column of minutes."""

TOKENS_A_SECOND = 50
"""Tokens of real weights that a server emits in a second, all requests together."""

PRECISION = 1.02
"""Factor to which a number of tokens is found."""

TESTS = len(KINDS) + 2
"""Tests that an audit of all kinds of requests shares its false alarms among."""

SERVED = problem_from({"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]})
"""The tutorial's problem."""


class Needed(NamedTuple):
    """What one row of the table says.

    texts: of each kind of request of a forged pair.
    tokens: of real weights, without drift of the server's arithmetic.
    """

    distance: float
    texts: int
    tokens: int


def limit_of_texts(problem: Problem, texts: int) -> float:
    """Return the limit that an audit states which counted texts exactly as expected."""
    law = joint_law(in_field(problem).target, text_length(problem))
    counts = Counter({text: round(texts * float(p)) for text, p in law.items()})
    bound = judged(problem, counts, ALPHA / TESTS).bound
    assert bound is not None
    return bound


def least(enough: Callable[[int], bool], guess: int) -> int:
    """Return the least number that is enough, to within PRECISION. guess: a number near it."""
    low = high = guess
    while not enough(high):
        low, high = high, int(1.5 * high)
    while low == high or enough(low):
        low, high = int(low / 1.5), low
    while high > PRECISION * low:
        middle = int((low * high) ** 0.5)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def needed(distance: float) -> Needed:
    """Return what shows a deviation of this total variation, except with probability BETA."""
    guess = int(25 / distance**2)
    texts = least(lambda n: limit_of_texts(SERVED, n) <= distance, guess)
    tokens = least(lambda n: max(limit_of(name, n, 0.0) for name in LIMITED_BY) <= distance, guess)
    return Needed(distance, texts, tokens)


def row(distance: float) -> str:
    """Return the line of the table for a total variation."""
    found = needed(distance)
    texts, tokens = (_rounded_up(n) for n in found[1:])
    requests = len(KINDS) * texts / REQUESTS_A_SECOND / 60
    return (
        f"| {distance:g} | {texts:,} | {_minutes(requests)} | {tokens:,} | {_minutes(tokens / TOKENS_A_SECOND / 60)} |"
    )


def _minutes(minutes: float) -> str:
    return f"{minutes:.1f}" if minutes < 10 else f"{minutes:.0f}"


def _rounded_up(number: int) -> int:
    """Return two digits of a number, not less than it is."""
    size = 10 ** (len(str(number)) - 2)
    return -(-number // size) * size
