"""The grids of engines as tables: settings down, engines and ways of drafting across, and why a cell has no law."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from draftproof.corpus.site.cell_states import CellState, states
from draftproof.models.errors import InputError
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings_grid import GRID

KEPT = Path(__file__).with_name("engines")
"""The reports that ``draftproof engine NAME --grid --json`` wrote."""

ENDING = "-grid.json"

SERVERS = "### Servers, through a URL"
"""Stands before the grids of servers."""


def kept_grids() -> dict[str, Report]:
    """Return the reports of grids that are kept, by engine."""
    files = sorted(KEPT.glob(f"*{ENDING}"))
    return {file.name.removesuffix(ENDING): read_grid(file) for file in files}


def read_grid(file: Path) -> Report:
    """Raises: InputError for a file that is no report."""
    try:
        return Report.from_json(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, LookupError):
        raise InputError(f"{file}: no report of a grid; expected what draftproof engine --grid --json writes") from None


def grid_page(grids: dict[str, Report]) -> str:
    """In Markdown: what was counted, the table, and the reasons of cells without a law, each once; servers apart."""
    sampled = {name: report for name, report in grids.items() if report.server is not None}
    exact = {name: report for name, report in grids.items() if report.server is None}
    parts = [[*_counts(some), "", *_table(some), "", *_reasons(some)] for some in (exact, sampled) if some]
    return f"\n\n{SERVERS}\n\n".join(map("\n".join, parts))


def _cells(report: Report) -> dict[tuple[str, str], CellState]:
    return {(row, sampling): state for row, sampling, state in states(report.evidence)}


def _counts(grids: dict[str, Report]) -> Iterator[str]:
    for name, report in grids.items():
        found = [*_cells(report).values()]
        words = {
            word: sum(state.word == word for state in found) for word in ("holds", "refuted", "not known", "sampled")
        }
        if report.server is not None:
            yield _of_server(name, report, words, [state for state in found if state.word == "sampled"])
            continue
        largest = max((state.deviation or 0.0 for state in found if state.word == "holds"), default=0.0)
        versions = ", ".join(f"{p} {v}" for p, v in report.environment.items() if p == name)
        yield (
            f"- **{name}**{f' ({versions})' if versions else ''}: {len(found)} cells, {words['holds']} exact and hold "
            f"(largest deviation TV {largest:.1g}), {words['refuted']} refuted, "
            f"{words['not known']} without an exact distribution."
        )


def _of_server(name: str, report: Report, words: Mapping[str, int], passed: Sequence[CellState]) -> str:
    """Return what was counted of a server."""
    assert report.server is not None
    kinds, limits = report.server["kinds"].values(), [state.deviation or 1.0 for state in passed]
    texts = f"{max((kind['asked'] for kind in kinds), default=0):,} outputs of each kind of request"
    drafts = report.server["speculation"]
    seen = f", {drafts['accepted']:,} of {drafts['drafted']:,} drafted tokens accepted" if "drafted" in drafts else ""
    between = f" (limits TV {min(limits):.2g} to {max(limits):.2g})" if limits else ""
    return (
        f"- **{name}**: {texts}{seen}; {sum(words.values())} cells, {words['sampled'] + words['holds']} not refuted"
        f"{between}, {words['refuted']} refuted, {words['not known']} without an answer."
    )


def _table(grids: dict[str, Report]) -> Iterator[str]:
    cells = {name: _cells(report) for name, report in grids.items()}
    columns = [(name, s) for name, found in cells.items() for s in dict.fromkeys(s for _, s in found)]
    yield "| setting | " + " | ".join(f"{name}, {'draft' if s == 'speculative' else s}" for name, s in columns) + " |"
    yield "|" + "---|" * (len(columns) + 1)
    for row in dict.fromkeys([*(asked.name for asked in GRID), *(row for found in cells.values() for row, _ in found)]):
        shown = [_shown(cells[name].get((row, sampling))) for name, sampling in columns]
        if any(shown):
            yield f"| {row} | " + " | ".join(shown) + " |"


def _shown(state: CellState | None) -> str:
    if state is None:
        return ""
    if state.word == "holds":
        return f"holds, TV {state.deviation:.0e}" if state.deviation else "holds"
    if state.word == "sampled":
        return f"TV < {state.deviation:.2g}"
    if state.word == "refuted" and state.why.startswith("logprobs") and state.deviation:
        return f"**refuted**, logprobs off by {state.deviation:.2g}"
    if state.word == "refuted":
        return f"**refuted**, TV {state.deviation:.2g}" if state.deviation else "**refuted**"
    return "not known"


def _reasons(grids: dict[str, Report]) -> Sequence[str]:
    """Return one line for each reason, and for each refutation its witness."""
    lines: dict[str, list[str]] = {}
    for name, report in grids.items():
        for (row, sampling), state in _cells(report).items():
            if state.word not in ("holds", "sampled") or ":" in state.why:
                why = state.why.replace("|", "and")
                lines.setdefault(f"{name}, {state.word}: {why}", []).append(f"{row} ({sampling})")
    return [f"- {why}: {'; '.join(where)}." for why, where in lines.items()]
