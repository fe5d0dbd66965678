"""Whole numbers that third-party code has as plain ones (``int(k)``, an index): followed in groups that it treats
alike.

A number drawn from many values is handed over as one value of a group, at first of all values. Each path is then walked
again, followed, with other values of the group: both ends, and scattered ones; and its rehearsals take further ones.
Where one of them changes what is asked of later random numbers or what is emitted, the place at which this begins is
found by bisection, the group is cut there, and the exploration starts anew. So a decision by a thousand levels takes
two paths and not a thousand. A number whose values are treated alike nowhere (taken modulo, looked up) ends with a
path for each value.
"""

import zlib
from collections.abc import Callable
from typing import Any

from .exploration import Exploration
from .following import following_once
from .hook_random import PlainRandom
from .numbers import MOST_VALUES
from .outcomes import Outcome, kind_of
from .sources import RandomSource, switch
from .tracer import NotInterceptable, Tracer

MOST_CUTS = 24
"""Cuts of one number beyond which each of its values is a path."""
FEW, MANY, ALL_VALUES = 1, 64, 128
"""Values that are walked in addition to the ends: on each path; on the first that a group is on; values up to which all
are."""


class Regroup(Exception):
    """A group has values that are not treated alike: those below ``cut``, and the others."""

    def __init__(self, source: RandomSource, cut: int):
        super().__init__(source.label, cut)
        self.source, self.cut = source, cut

    def note(self, cuts: dict[tuple, set[int]]) -> None:
        """Add the cut to those that the next exploration starts with."""
        known = cuts.setdefault(self.source.label, set())
        known.add(self.cut)
        if len(known) > MOST_CUTS and self.source.grouped_at:
            self.source.tracer.exploration.by_value.add(self.source.grouped_at)


def confirm(tracer: Tracer, call: Callable[[], Outcome], outcome: Outcome) -> None:
    """Walk the path just walked again, followed, with other values of its groups.

    Raises: Regroup where one of them leads elsewhere.
    """
    sources, drawn, path, rows = tracer.sources, tracer.drawn, list(tracer.path), tracer.rows
    grouped = [source for source in sources if source.grouped_at and source.high - source.low > 1]

    def alike(source: RandomSource, point: int) -> bool:
        tracer.path = list(path)
        tracer.replay({source.order: point})
        try:
            same = kind_of(following_once(tracer, call)) == kind_of(outcome)
        except NotInterceptable:
            if not tracer.departed:
                raise
            same = False
        return same and not tracer.departed and tracer.path == path

    for source in grouped:
        stood, group = (source.low + source.high - 1) // 2, (source.label, source.low, source.high)
        count = FEW if group in tracer.groups else MANY
        tracer.groups.add(group)
        for point in _others(source, count, f"{outcome}{float(tracer.probability)}"):
            if not alike(source, point):
                raise Regroup(source, _beginning(stood, point, lambda k, s=source: alike(s, k)))
    tracer.sources, tracer.drawn, tracer.path, tracer.rows = sources, drawn, path, rows
    tracer.replaying, tracer.probes = False, {}


def blame(tracer: Tracer, call: Callable[[], Outcome], outcome: Outcome, points: list[int]) -> None:
    """Of a call with plain numbers at these points that leaves the path: which number of a group is the cause.

    Raises: Regroup if one is.
    """
    sources, drawn = tracer.rehearsed

    def alike(here: list[int]) -> bool:
        tracer.walk(here, drawn)
        return kind_of(following_once(tracer, call)) == kind_of(outcome)

    grouped = [s for s in sources if s.grouped_at and points[s.order] != s.stands()]
    here = [s.stands() if s in grouped else points[s.order] for s in sources]
    if not grouped or not alike(here):
        return
    for source in grouped:
        there = _with(here, source.order, points[source.order])
        if not alike(there):
            begins = _beginning(
                here[source.order], there[source.order],
                lambda k, h=here, s=source: alike(_with(h, s.order, k)),
            )  # fmt: skip
            raise Regroup(source, begins)
        here = there


def _with(points: list[Any], at: int, point: int) -> list[Any]:
    return [*points[:at], point, *points[at + 1 :]]


def _beginning(right: int, wrong: int, alike: Callable[[int], bool]) -> int:
    """The cut between a point that is alike and one that is not."""
    return switch(min(right, wrong), max(right, wrong), alike, right < wrong)


def _others(source: RandomSource, count: int, seed: str) -> list[int]:
    """Points of the source: both ends, and so many others."""
    low, high = source.low, source.high
    exploration: Exploration = source.tracer.exploration
    if source.steps:
        return [low, *(k for k in source.steps if low < k < high)] if count == MANY else [low, high - 1]
    if count == MANY and high - low <= max(ALL_VALUES, min(exploration.values_left, MOST_VALUES)):
        exploration.values_left -= high - low if high - low > ALL_VALUES else 0
        return [*range(low, high)]
    draw = PlainRandom(zlib.crc32(seed.encode()))
    return [low, high - 1, *(draw.randrange(low, high) for _ in range(count))]
