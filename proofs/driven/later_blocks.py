"""Keyed numbers that the next block asks for again, and what the tokens of a block tell of them.

Where a generator is keyed by the place in the text, a block that emits n tokens is followed by one whose first place is
n further on: it gets the same numbers at all places from there. They have to be independent of what was emitted.
"""

from collections import defaultdict
from typing import Any

from ..interception.outcomes import Raised
from .laws import DrivenLaws

FRESH = 1e-6
"""How far off a fresh number may be, by probability of the text: the grain of thresholds."""


def asked_again(laws: DrivenLaws) -> str | None:
    """The number that is furthest from a fresh one given a text, in words; None if all are fresh.

    max over texts, keys behind them, thresholds t of Pr(text) |Pr(U <= t | text) - Pr(U <= t)|, over all draft blocks.
    A key that no block asks for so many places before never comes again.
    Guarantee: as of the laws, which it is read off; one number at a time, without those of rows that may race.
    """
    firsts = {one.name: one.first for one in laws.subject.random or () if one.first is not None}
    if not firsts:
        return None
    asked, texts = defaultdict[Any, set[int]](set), defaultdict[Any, float](float)
    intervals: dict[Any, list[tuple[int, int, float]]] = defaultdict(list)
    _, draft = laws.rows.in_use()
    for block, known in laws.laws.items():
        drafted, axes = float(laws.rows.drafted(block, draft)), {*known.layout.axes}
        keys = [(n, *key, axis) for n in firsts for key, axis in known.layout.keyed[n].items() if axis in axes]
        for name, seed, position, _ in keys:
            asked[name, seed].add(position)
            if position < firsts[name]:
                return f"{name} is asked for position {position}, before the first, {firsts[name]}"
        for emitted, box, exactly in laws.boxes(block):
            if isinstance(emitted, Raised):
                continue
            mass = drafted * float(exactly)
            texts[emitted] += mass
            for name, seed, position, axis in keys:
                if position >= firsts[name] + len(emitted):
                    intervals[name, seed, position, emitted].append((box.low[axis], box.high[axis], mass))
    worst, said = FRESH, None
    for (name, seed, position, emitted), parts in intervals.items():
        if not texts[emitted] or min(asked[name, seed]) > position - len(emitted):
            continue
        number, total = laws.plain.kinds[name], texts[emitted]
        for at in {at for low, high, _ in parts for at in (low - 1, high)} - {number.first - 1, number.last}:
            fresh = float(number.mass(number.first, at))
            off = sum(
                mass * (float(number.mass(low, min(at, high)) / number.mass(low, high)) if low <= at else 0.0)
                - mass * fresh for low, high, mass in parts
            )  # fmt: skip
            if abs(off) > worst:
                worst, said = abs(off), (
                    f"{name} at position {position} is asked for again by the block behind {emitted}, and is no fresh "
                    f"number there: at most {number.value(at):.6g} with probability {fresh + off / total:.6g}, not "
                    f"{fresh:.6g}"
                )  # fmt: skip
    return said
