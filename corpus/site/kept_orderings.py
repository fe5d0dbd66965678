"""The orderings of the kept runs as tables of the page on end-to-end runs."""

import json
from pathlib import Path
from typing import Any

from draftproof_paper.pages.formatting import ordering_mean, verdict_counts
from draftproof_paper.tables.orderings import BLOCKS

EVIDENCE = Path(__file__).with_name("evidence")

RUNS = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in EVIDENCE.glob("*/tables.json")}
"""The reports of all kept runs of ``draftproof tables``, by their names."""


def gains(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the orderings "block above token verification" on the same blocks, as tables.json has them."""
    return [row for row in tables["orderings"] if (row["statement"], row["measure"]) == ("block > token", BLOCKS)]


def gains_table() -> str:
    """Return what block verification gains on the same blocks, in Markdown: a row for each run and setting."""
    lines = ["| run | setting | blocks | gain | verdict |", "|---|---|---|---|---|"]
    for run in sorted(RUNS):
        for row in filter(_measured, gains(RUNS[run])):
            lines.append(f"| `{run}` | {row['where']} | {row['n']:,} | {ordering_mean(row)} | {_verdict(row)} |")
    return "\n".join(lines)


def decided_table() -> str:
    """Return every other ordering that a run has decided, in Markdown."""
    lines = ["| run | statement | by | setting | mean | verdict |", "|---|---|---|---|---|---|"]
    for run in sorted(RUNS):
        for row in filter(_measured, RUNS[run]["orderings"]):
            if "theorem" not in row and row["verdict"] != "undecided":
                cells = f"`{run}`", row["statement"], row["measure"], row["where"], ordering_mean(row)
                lines.append(f"| {' | '.join(cells)} | {_verdict(row)} |")
    return "\n".join(lines)


def counts_table() -> str:
    """Return how many orderings of each kind the runs have decided, in Markdown."""
    rows = [row for run in sorted(RUNS) for row in filter(_measured, RUNS[run]["orderings"])]
    lines = ["| statement | by | settings of all runs |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in verdict_counts(rows))])


def equalities_table() -> str:
    """Return what must be equal and how much of it was, in Markdown: all runs together, each that differs named."""
    found: dict[tuple[str, str], list[int]] = {}
    differ: dict[tuple[str, str], list[str]] = {}
    for run in sorted(RUNS):
        for row in RUNS[run]["equalities"]:
            key = row["statement"], row["unit"]
            found.setdefault(key, []).append(row["compared"])
            differ.setdefault(key, []).extend([f"{row['differing']} in `{run}`"] if row["differing"] else [])
    lines = ["| statement | compared | differ |", "|---|---|---|"]
    for (statement, unit), compared in found.items():
        lines.append(f"| {statement} | {sum(compared):,} {unit} | {', '.join(differ[statement, unit]) or 'none'} |")
    return "\n".join(lines)


def _measured(row: dict[str, Any]) -> bool:
    return row["n"] > 0


def _verdict(row: dict[str, Any]) -> str:
    return "undecided" if row["verdict"] == "undecided" else f"**{row['verdict']}**"
