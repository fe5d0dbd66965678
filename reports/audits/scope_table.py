"""The sizes that a verdict speaks of, as a table: V, gamma, dtypes, positions of a block, ids of wide vocabularies."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...verifiers.evidence import Evidence
from .positions import TOGETHER, decided_positions, how_decided, ranges

HEAD = ("V", "gamma", "numbers", "positions decided", "ids drafted", "ids emitted")
"""The columns."""


class ScopeRow(Struct, frozen=True, kw_only=True):
    """A row: each gamma was examined over each V, in all these numbers.

    vocabularies, gammas: every V and gamma. numbers: of the rows. positions: of a block that were decided, in words;
    empty if that is not known. ids_drafted, ids_emitted: of wide vocabularies, the shares of the ids that one draft
    had, and that calls emitted.
    """

    vocabularies: list[int]
    gammas: list[int]
    numbers: list[str]
    positions: str = ""
    ids_drafted: float | None = None
    ids_emitted: float | None = None

    def cells(self) -> tuple[str, ...]:
        """Return the row in words."""
        ids = ("" if share is None else _share(share) for share in (self.ids_drafted, self.ids_emitted))
        sizes = ranges(self.vocabularies), ranges(self.gammas)
        return *sizes, ", ".join(self.numbers), self.positions.removesuffix(" together"), *ids


def scope_rows(items: Sequence[Evidence], ids: Mapping[str, Mapping[str, int]]) -> list[ScopeRow]:
    """Return the table. items: what a verdict stands on. ids: V -> how many ids were "drafted", and "emitted"."""
    over: dict[int, list[Evidence]] = {}
    for e in items:
        if e.detail.vocabulary and e.detail.gamma:
            over.setdefault(e.detail.vocabulary, []).append(e)
    rows: dict[tuple, list[int]] = {}
    for v, of in sorted(over.items()):
        decided, lengths = decided_positions(of), dict[tuple[tuple[str, ...], str], list[int]]()
        for gamma in sorted({e.detail.gamma for e in of if e.detail.gamma}):
            numbers = tuple(dict.fromkeys(e.dtype for e in of if e.detail.gamma == gamma))
            how = how_decided(gamma, decided[str(gamma)]) if str(gamma) in decided else ""
            lengths.setdefault((numbers, how), []).append(gamma)
        shares = tuple(n / v for n in ids[str(v)].values()) if str(v) in ids else (None, None)
        for (numbers, how), gammas in lengths.items():
            rows.setdefault((tuple(gammas), numbers, how, *shares), []).append(v)
    return [
        ScopeRow(vocabularies=vs, gammas=[*gammas], numbers=[*numbers], positions=how, ids_drafted=drafted,
                 ids_emitted=emitted)
        for (gammas, numbers, how, drafted, emitted), vs in rows.items()
    ]  # fmt: skip


def table(rows: Sequence[ScopeRow]) -> list[tuple[str, ...]]:
    """Return the head and the rows in words, without columns that are empty in each."""
    every = [HEAD, *(row.cells() for row in rows)]
    filled = [k for k in range(len(HEAD)) if any(row[k] for row in every[1:])]
    return [tuple(row[k] for k in filled) for row in every]


def beside(rows: Sequence[ScopeRow]) -> list[str]:
    """Say what lies between the rows: nothing, if there is one row and all of a block was decided together."""
    partial = [row for row in rows if row.positions and row.positions != TOGETHER]
    sentences = []
    if len(rows) > 1:
        sentences.append("combinations of V, gamma and numbers that are in no row of the scope's table")
    if partial:
        sentences.append("mistakes at other positions of a block, or at more positions together, than the table has")
    if any(row.ids_drafted is not None for row in rows):
        sentences.append("ids of wide vocabularies beyond the shares in the table")
    return sentences


def _share(share: float) -> str:
    return "all" if share == 1 else f"{min(100 * share, 99):.2g} %"
