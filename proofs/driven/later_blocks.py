"""Keyed numbers that the next block asks for again, and what the tokens of a block tell of them.

Where a generator is keyed by the place in the text, a block that emits n tokens is followed by one whose first place is
n further on: it gets the same numbers at all places from there. They have to be independent of what was emitted.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .laws import BlockLaw, DrivenLaws
from .partition import Box, leaves

FRESH = 1e-6
"""A probability that is off by no more is that of a fresh number, up to the grain of thresholds."""


class Told(NamedTuple):
    """What a block tells of a number that is asked for again.

    name, position: its key. emitted: the block. value: a threshold. below: the probability to be at most that, given
    what was emitted; fresh: of a fresh number.
    """

    name: str
    position: int
    emitted: tuple[int, ...]
    value: float
    below: float
    fresh: float

    def __str__(self) -> str:
        return (
            f"{self.name} at position {self.position} is asked for again by the block behind {self.emitted}, and is no "
            f"fresh number there: at most {self.value:.6g} with probability {self.below:.6g}, not {self.fresh:.6g}"
        )


def told(laws: DrivenLaws) -> Told | None:
    """That number which is furthest from a fresh one, given a text; None if all are fresh.

    max over texts, keys behind them, thresholds t of |Pr(U <= t | text) - Pr(U <= t)|, over all draft blocks.
    Guarantee: as of the laws, which it is read off; one number at a time, and rows of noise where they are compared
    with thresholds.
    """
    firsts = {one.name: one.first for one in laws.subject.random or () if one.first is not None}
    found = max(_all(laws, firsts), key=lambda one: abs(one.below - one.fresh), default=None) if firsts else None
    return found if found and abs(found.below - found.fresh) > FRESH else None


def _all(laws: DrivenLaws, firsts: Mapping[str, int]) -> Iterator[Told]:
    _, draft = laws.rows.in_use()
    intervals: dict[Any, list[tuple[int, int, float]]] = defaultdict(list)
    for block in laws.blocks:
        known, drafted = laws.laws[block], float(laws.rows.drafted(block, draft))
        for emitted, box, mass in _boxes(laws, known):
            for name, first in firsts.items():
                for key, axis in known.layout.keyed[name].items():
                    if key[1] >= first + len(emitted):
                        intervals[name, key, emitted].append((box.low[axis], box.high[axis], drafted * mass))
    for (name, key, emitted), parts in intervals.items():
        coordinate, total = laws.plain.kinds[name], sum(mass for *_, mass in parts)
        thresholds = {at for low, high, _ in parts for at in (low - 1, high)} - {coordinate.first - 1, coordinate.last}
        for at in thresholds if total else ():
            share = [
                mass * float(coordinate.mass(low, min(at, high)) / coordinate.mass(low, high))
                for low, high, mass in parts if low <= at
            ]  # fmt: skip
            below, fresh = sum(share) / total, float(coordinate.mass(coordinate.first, at))
            yield Told(name, key[1], emitted, coordinate.value(at), below, fresh)


def _boxes(laws: DrivenLaws, known: BlockLaw) -> Iterator[tuple[tuple[int, ...], Box, float]]:
    """Tokens emitted, a box of numbers on which they are, and its probability."""
    for piece in known.pieces.values():
        for leaf in leaves(piece.tree):
            mass = float(piece.mass) * float(leaf.box.mass(known.layout.coordinates, piece.axes))
            for kind, share in zip(leaf.race.outcomes, leaf.race.weights) if leaf.race else [(leaf.outcome, 1.0)]:
                if isinstance(emitted := laws.shown[kind], tuple):
                    yield emitted, leaf.box, mass * share
