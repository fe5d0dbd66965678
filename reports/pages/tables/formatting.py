"""Numbers of a report as text, for the page, the Markdown file and the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...audits.tables.orderings import SCALES

UNMEASURED = "–"


def here(cell: Mapping[str, Any]) -> str:
    """What was measured: value ± deviation over seeds. Nothing where the paper alone has a number."""
    mine = cell["here"]
    if mine is None:
        return "" if cell["paper"] else UNMEASURED
    deviation = "" if mine["deviation"] is None else f" ± {mine['deviation']:.2f}"
    return f"{mine['value']:.2f}{deviation}"


def interval(cell: Mapping[str, Any]) -> str:
    """The interval over prompts."""
    mine = cell["here"]
    return "" if mine is None or mine["lower"] is None else f"[{mine['lower']:.2f}, {mine['upper']:.2f}]"


def theirs(cell: Mapping[str, Any]) -> str:
    """The paper's number."""
    return " ± ".join(f"{number:.2f}" for number in cell["paper"]) if cell["paper"] else ""


def mean_of(ordering: Mapping[str, Any]) -> str:
    """The mean of an ordering and its interval, in its unit."""
    if not ordering["n"]:
        return UNMEASURED
    mean, lower, upper = (_scaled(ordering, name) for name in ("mean", "lower", "upper"))
    return f"{mean:+.3g} [{lower:+.3g}, {upper:+.3g}] {ordering['unit']}"


def evidence_of(ordering: Mapping[str, Any]) -> str:
    """log E, and from which mean on it would have been decided."""
    if not ordering["n"]:
        return UNMEASURED
    return f"log E {ordering['log_e']:.1f}; decides from {_scaled(ordering, 'detectable'):.2g} on"


def _scaled(ordering: Mapping[str, Any], name: str) -> float:
    return SCALES[ordering["unit"]] * ordering[name]


def by_statement(orderings: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """One line a statement and measure: how many settings are confirmed, refuted, undecided."""
    groups: dict[tuple[str, str], Counter[str]] = {}
    for one in orderings:
        groups.setdefault((one["statement"], one["measure"]), Counter())[one["verdict"]] += 1
    return [
        (statement, measure, ", ".join(f"{times} {verdict}" for verdict, times in found.items()))
        for (statement, measure), found in groups.items()
    ]


def setting_lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What it was measured with."""
    given = report["settings"]
    listed = [
        ("target", given["target"]),
        *((f"drafter {n}", name) for n, name in enumerate(given["drafts"], 1)),
        ("device", f"{given['device']} ({given['machine']}), {given['dtype']}"
                   + (f", {given['threads']} thread{'s' * (given['threads'] > 1)}" if given["threads"] else "")),
        ("prompts", f"{given['prompts']} of {', '.join(given['data'])}, {given['new_tokens']} new tokens each, "
                    f"{given['batch']} at a time"),
        ("seeds", f"{given['seeds']} (one at T = 0, where no seed changes a text)"),
        ("versions", f"torch {given['torch']}, transformers {given['transformers']}"),
    ]  # fmt: skip
    cells = report["cells"]
    if cells["measured"] < cells["of"]:
        listed.append(("measured", f"{cells['measured']} of {cells['of']} cells; the run was cut short"))
    return listed
