"""Keyed numbers that the next block asks for again, and what the tokens of a block tell of them.

Where a generator is keyed by the place in the text, a block that emits n tokens is followed by one whose first place is
n further on: it gets the same numbers at all places from there. They have to be independent of what was emitted.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..interception.outcomes import Raised
from .laws import BlockLaw, DrivenLaws
from .partition import Box, leaves

FRESH = 1e-6
"""How far off a fresh number's probability may be: the grain of thresholds."""


def asked_again(laws: DrivenLaws) -> str | None:
    """The number that is furthest from a fresh one given a text, in words; None if all are fresh.

    max over texts, keys behind them, thresholds t of |Pr(U <= t | text) - Pr(U <= t)|, over all draft blocks.
    Guarantee: as of the laws, which it is read off; one number at a time, noise where it is compared with thresholds.
    """
    firsts = {one.name: one.first for one in laws.subject.random or () if one.first is not None}
    if not firsts:
        return None
    intervals: dict[Any, list[tuple[int, int, float]]] = defaultdict(list)
    _, draft = laws.rows.in_use()
    for block, known in laws.laws.items():
        drafted = float(laws.rows.drafted(block, draft))
        for emitted, box, mass in _boxes(laws, known):
            for name, first in firsts.items():
                for (seed, position), axis in known.layout.keyed[name].items():
                    if position >= first + len(emitted):
                        key = name, seed, position, emitted
                        intervals[key].append((box.low[axis], box.high[axis], drafted * mass))
    worst, said = FRESH, None
    for (name, _, position, emitted), parts in intervals.items():
        number, total = laws.plain.kinds[name], sum(mass for *_, mass in parts)
        thresholds = {at for low, high, _ in parts for at in (low - 1, high)} - {number.first - 1, number.last}
        for at in thresholds if total else ():
            below = sum(
                mass * float(number.mass(low, min(at, high)) / number.mass(low, high))
                for low, high, mass in parts if low <= at
            ) / total  # fmt: skip
            fresh = float(number.mass(number.first, at))
            if abs(below - fresh) > worst:
                worst, said = abs(below - fresh), (
                    f"{name} at position {position} is asked for again by the block behind {emitted}, and is no fresh "
                    f"number there: at most {number.value(at):.6g} with probability {below:.6g}, not {fresh:.6g}"
                )  # fmt: skip
    return said


def _boxes(laws: DrivenLaws, known: BlockLaw) -> Iterator[tuple[tuple[int, ...], Box, float]]:
    """Tokens emitted, a box on which they are, its probability."""
    for piece in known.pieces.values():
        for leaf in leaves(piece.tree):
            mass = float(piece.mass) * float(leaf.box.mass(known.layout.coordinates, piece.axes))
            for kind, share in zip(leaf.race.outcomes, leaf.race.weights) if leaf.race else [(leaf.outcome, 1.0)]:
                if not isinstance(emitted := laws.shown[kind], Raised):
                    yield emitted, leaf.box, mass * share
