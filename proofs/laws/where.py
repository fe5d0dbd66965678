"""Find where a law departs from the target: in accepted tokens, after a rejection, or at the bonus token."""

import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ...models.law import Prefix
from ..field import QQ, rational
from .reference_laws import is_output
from .small_law import Measurement

LONGEST_LINE = 44
"""Characters of a source line that are shown."""

Emitted = Callable[[Prefix, Any], bool]
"""emitted(draft block, outcome) -> whether an outcome belongs to an event."""


class Decision(NamedTuple):
    """A path of random decisions in one call. block: drafted. outcome: emitted. lines: (file, line) of each."""

    block: Prefix
    outcome: Any
    path: Sequence[int]
    lines: Sequence[tuple[str, int]]


class Departing(NamedTuple):
    """A place at which a law departs first. words: for a reader. more, less: events that come too often and too rarely.

    drawn: whether the token that departs is drawn, and not kept.
    """

    words: str
    more: Emitted
    less: Emitted
    drawn: bool


def where_it_departs(law: Measurement) -> Departing | None:
    """Return the first place at which what is emitted departs from the target; None if no such place is known.

    Let A(x) be the probability that the tokens x are drafted and accepted, and E(x, y) that y is emitted behind them
    and ends the call. A law is lossless if A(x, y) + E(x, y) = A(x) M_b(y | x) for all x and y: the first length at
    which this fails is the place. If some A(x, y) is above A(x) M_b(y | x), no replacement can mend it.
    """
    if law.draws_trees or law.modifies_target or not law.known or () in law.blocks:
        return None
    slack = max(map(rational, (law.tolerance, law.explained, 1e-15))) + rational(law.grain)
    accepted: dict[Prefix, Any] = {(): QQ(1)}
    ended: dict[Prefix, Any] = {}
    for block, given in law.blocks.items():
        for outcome, probability in given.items():
            if not is_output(outcome, law.problem) or outcome[:-1] != block[: len(outcome) - 1]:
                return None
            mass = law.drafted(block) * probability
            ended[outcome] = ended.get(outcome, 0) + mass
            for n in range(1, len(outcome)):
                accepted[outcome[:n]] = accepted.get(outcome[:n], 0) + mass
    for length in range(law.problem.gamma + 1):
        gaps, kept = {}, {}
        for before, alive in accepted.items():
            if len(before) == length:
                for y, p in enumerate(law.in_use.asked.row(before)):
                    x = (*before, y)
                    kept[x] = accepted.get(x, 0) - alive * p
                    gaps[x] = kept[x] + ended.get(x, 0)
        if max(map(abs, gaps.values()), default=0) > slack:
            return _departing(gaps, kept, slack, length == law.problem.gamma)
    return None


def _departing(gaps: Mapping[Prefix, Any], kept: Mapping[Prefix, Any], slack: Any, at_end: bool) -> Departing:
    """Return the place. gaps, kept: by how much tokens are emitted, and accepted alone, more often than they may be."""
    often, most = max(kept, key=kept.__getitem__), max(gaps, key=gaps.__getitem__)
    least, n = min(gaps, key=gaps.__getitem__), len(often)
    if kept[often] > slack:
        words = f"drafted token {often[-1]} is accepted too often at position {n}"
        return Departing(words, lambda block, o: len(o) > n and o[:n] == often,
                         lambda block, o: len(o) <= n and block[:n] == often, drawn=False)  # fmt: skip
    words = "the bonus token" if at_end else f"the replacement after a rejection at position {n}"
    return Departing(words, lambda block, o: o == most, lambda block, o: o == least, drawn=True)


def deciding_line(where: Departing, decisions: Iterable[Decision]) -> str | None:
    """Return the line of the decision that leads to what is emitted too often and not to what is too rare.

    It is the last decision that a path to the one and a path to the other share, over all draft blocks. A token that is
    kept without a decision has no line.
    """
    every = [d for d in decisions if isinstance(d.outcome, tuple) and d.path]
    more, less = ([d for d in every if event(d.block, d.outcome)] for event in (where.more, where.less))
    found = [(_common(one.path, other.path), one) for one, other in _pairs(more, less)]
    if not found and where.drawn:
        found = [(len(one.path) - 1, one) for one in more]
    deepest, one = max(found, key=lambda pair: pair[0], default=(0, None))
    if one is None or deepest >= len(one.lines):
        return None
    file, number = one.lines[deepest]
    source = linecache.getline(file, number).strip()
    cut = f"{source[:LONGEST_LINE]}..." if len(source) > LONGEST_LINE else source
    return f"{Path(file).name}:{number}   {cut}".rstrip()


def _pairs(more: Sequence[Decision], less: Sequence[Decision]) -> Iterator[tuple[Decision, Decision]]:
    return ((one, other) for one in more for other in less if one.block == other.block)


def _common(path: Sequence[int], other: Sequence[int]) -> int:
    """Return how many decisions two paths share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, other)))
