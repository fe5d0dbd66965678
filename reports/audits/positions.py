"""The positions of a block that were decided, alone and together, by problems on whose laws a verdict stands."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from ...verifiers.details import LawDetail
from ...verifiers.evidence import Evidence

Sets = Sequence[Sequence[int]]
"""Sets of positions that one draft block decides together."""

TOGETHER = "all positions together"
PAIRS = "each position, with the next one, and some far apart"
ALONE = "each position by itself"


def decided_positions(items: Iterable[Evidence]) -> dict[str, list[list[int]]]:
    """Return gamma -> the sets of positions decided together in every dtype, by evidence that holds or refutes. No set
    is part of another."""
    by_dtype: dict[str, dict[int, set[frozenset[int]]]] = {}
    for e in items:
        if e.claim == "lossless" and isinstance(e.detail, LawDetail) and e.detail.decided is not None:
            sets = by_dtype.setdefault(e.dtype, {}).setdefault(e.detail.gamma or 0, set())
            sets |= set(map(frozenset, e.detail.decided)) if e.holds or e.refuted else set()
    gammas = sorted({gamma for sets in by_dtype.values() for gamma in sets})
    return {str(gamma): _in_all([sets.get(gamma, set()) for sets in by_dtype.values()]) for gamma in gammas}


def _in_all(kinds: Sequence[set[frozenset[int]]]) -> list[list[int]]:
    common, *others = kinds
    for sets in others:
        common = {one & other for one in common for other in sets}
    return sorted(sorted(one) for one in common if one and not any(one < other for other in common))


def how_decided(gamma: int, sets: Sets) -> str:
    """Say which positions are decided."""
    if any(len(one) == gamma for one in sets):
        return TOGETHER
    every = {i for one in sets for i in one}
    if len(every) < gamma:
        return f"position{'' if len(every) == 1 else 's'} {ranges(every)}" if every else "no position"
    pairs = _pairs(sets)
    return PAIRS if all((i, i + 1) in pairs for i in range(gamma - 1)) else ALONE


def _pairs(sets: Sets) -> set[tuple[int, int]]:
    return {(a, b) for one in sets for a, b in combinations(sorted(one), 2)}


def counted(number: int, what: str) -> str:
    """Return the number and the noun, in the plural unless it is one."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def ranges(sizes: Iterable[int]) -> str:
    """Return whole numbers as ranges: 2 to 5, 8, 127 to 129."""
    runs: list[list[int]] = []
    for size in sorted(sizes):
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
