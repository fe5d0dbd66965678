"""Numbers of a report as text, for the page, the Markdown file and the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from draftproof_paper.tables.orderings import UNIT_FACTORS

UNMEASURED = "–"


def measured_text(cell: Mapping[str, Any]) -> str:
    """Return the measured value ± its deviation over seeds. Empty where only the paper has a number."""
    here = cell["here"]
    if here is None:
        return "" if cell["paper"] else UNMEASURED
    deviation = "" if here["deviation"] is None else f" ± {here['deviation']:.2f}"
    return f"{here['value']:.2f}{deviation}"


def interval_text(cell: Mapping[str, Any]) -> str:
    """Return the interval over prompts."""
    here = cell["here"]
    return "" if here is None or here["lower"] is None else f"[{here['lower']:.2f}, {here['upper']:.2f}]"


def paper_text(cell: Mapping[str, Any]) -> str:
    """Return the paper's number."""
    return " ± ".join(f"{number:.2f}" for number in cell["paper"]) if cell["paper"] else ""


def ordering_mean(ordering: Mapping[str, Any]) -> str:
    """Return the mean of an ordering and its interval, in its unit."""
    if not ordering["n"]:
        return UNMEASURED
    mean, lower, upper = (_scaled(ordering, name) for name in ("mean", "lower", "upper"))
    return f"{mean:+.3g} [{lower:+.3g}, {upper:+.3g}] {ordering['unit']}"


def ordering_evidence(ordering: Mapping[str, Any]) -> str:
    """log E, and the smallest mean that these pairs would have decided."""
    if not ordering["n"]:
        return UNMEASURED
    evidence = f"log E {ordering['log_e']:.1f}; detectable: {_scaled(ordering, 'detectable'):.2g}"
    return evidence + (f"; needs about {_rounded(ordering['needed'])} pairs" if ordering.get("needed") else "")


def _rounded(number: int) -> str:
    """Round to two digits: it is an extrapolation."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _scaled(ordering: Mapping[str, Any], name: str) -> float:
    return UNIT_FACTORS[ordering["unit"]] * ordering[name]


def verdict_counts(orderings: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return one line a statement and measure: how many settings are confirmed, refuted, undecided."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for ordering in orderings:
        groups.setdefault((ordering["statement"], ordering["measure"]), []).append(ordering)
    return [(statement, measure, _verdicts(group)) for (statement, measure), group in groups.items()]


def _verdicts(orderings: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(ordering["verdict"] for ordering in orderings)
    needed = min((ordering["needed"] for ordering in orderings if ordering.get("needed")), default=None)
    text = ", ".join(f"{times} {verdict}" for verdict, times in counts.items())
    return text + (f" (the nearest needs about {_rounded(needed)} pairs)" if needed else "")


def setting_lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the settings of the run, by name."""
    given, cells = report["settings"], report["cells"]
    paths = f", {given['paths']} draft paths for k-seq and spec-infer" if "paths" in given else ""
    threads = f", {given['threads']} thread{'s' * (given['threads'] > 1)}" if given["threads"] else ""
    prompts = f"{given['prompts']} of {', '.join(given['data'])}, {given['new_tokens']} new tokens each"
    lines = [
        ("target", given["target"]),
        *((f"drafter {n}", name) for n, name in enumerate(given["drafts"], 1)),
        ("device", f"{given['device']} ({given['machine']}), {given['dtype']}{threads}"),
        ("prompts", f"{prompts}, {given['batch']} at a time{paths}"),
        ("seeds", f"{given['seeds']} (one at T = 0, where no seed changes a text)"),
        ("versions", f"torch {given['torch']}, transformers {given['transformers']}"),
    ]
    if cells["measured"] < cells["of"]:
        lines.append(("measured", f"{cells['measured']} of {cells['of']} cells; the run was cut short"))
    return lines
