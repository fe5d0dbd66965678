"""What became of each cell of a grid, from the evidence of its report."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from draftproof.verifiers.evidence import HOLDS, REFUTED, Evidence


class CellState(NamedTuple):
    """What became of a cell. word: "holds", "refuted", "sampled" or "not known". why: the limit, the witness or
    the reason.

    deviation: the largest, of the two claims about its law.
    """

    word: str
    why: str
    deviation: float | None = None


def states(evidence: Iterable[Evidence]) -> Iterator[tuple[str, str, CellState]]:
    """(row, way of drafting, state) of a report's cells, in their order."""
    cells: dict[tuple[str, str], list[Evidence]] = {}
    for e in evidence:
        if getattr(e.detail, "setting", ""):
            cells.setdefault((e.detail.setting, e.detail.sampling), []).append(e)  # type: ignore[union-attr]
    for (row, sampling), found in cells.items():
        yield row, sampling, state(found)


def state(found: Sequence[Evidence]) -> CellState:
    """Return the state of one cell: claims about its law and what is reported of it; support is shown beside."""
    judged = [e for e in found if e.claim != "support" and not e.own_alone]
    refuted = next((e for e in judged if e.verdict == REFUTED), None)
    if refuted is not None:
        return CellState("refuted", f"{refuted.claim}: {refuted.witness}", _size(refuted))
    limits = {e.claim: float(e.bound) for e in judged if e.method.sampled and e.bound is not None}
    if "lossless" in limits:
        said = [f"{claim} not refuted, limit TV {limit:.2g}" for claim, limit in limits.items()]
        said += [f"{e.claim}: {e.detail.reason}" for e in judged if e.detail.reason]
        return CellState("sampled", "; ".join(said), limits["lossless"])
    if open_ := next((e for e in judged if e.verdict != HOLDS), None):
        return CellState("not known", f"{open_.claim}: {open_.detail.reason}", None)
    rare = next((e for e in found if e.claim == "support" and e.verdict == REFUTED), None)
    beside = f"; an output that is ruled out has probability {_size(rare):.1g}" if rare else ""
    limit = max((float(e.bound) for e in judged if e.claim in ("lossless", "same-as-plain")), default=0.0)
    off = max((_size(e) for e in judged if e.claim in ("lossless", "same-as-plain")), default=0.0)
    return CellState("holds", f"TV {off:.1g}, allowed {limit:.1g}{beside}", off)


def _size(e: Evidence) -> float:
    return float(e.total_variation or 0.0)
