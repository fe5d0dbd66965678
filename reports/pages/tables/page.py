"""The tables as one self-contained page, and as Markdown."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ..page import rendered
from . import formatting
from .figures import figure_3, figure_5


def page(report: Mapping[str, Any]) -> str:
    """The page of a report in its JSON form. Equal reports give equal bytes."""
    figures = {"3": Markup(figure_3(report["figures"]["3"])), "5": Markup(figure_5(report["figures"]["5"]))}
    return rendered("tables/tables.html.j2", report=report, formatting=formatting, figures=figures)


def markdown(report: Mapping[str, Any]) -> str:
    """The same in Markdown, without the figures."""
    legend = f"value ± standard deviation over seeds [{100 * report['level']:g} % interval over prompts]"
    lines = ["# Block verification: the paper's tables", ""]
    lines += [f"- {name}: {_escaped(text)}" for name, text in formatting.setting_lines(report)]
    lines += ["", f"Measured: {legend}. In parentheses after it: {report['paper']}.", ""]
    for table in report["tables"]:
        lines += [f"## {table['label']}", "", _escaped(table["title"]), ""]
        rows = [[row["name"], *map(_cell_text, row["cells"])] for row in table["rows"]]
        lines += _table_lines([table["first"], *table["columns"]], rows)
    lines += ["## What must be equal", ""]
    rows = [[e["statement"], e["verdict"], f"{e['compared']:,} {e['unit']}", str(e["differing"])]
            for e in report["equalities"]]  # fmt: skip
    lines += _table_lines(["statement", "verdict", "compared", "differing"], rows)
    lines += ["## Orderings", ""]
    rows = [[*(o[name] for name in ("statement", "measure", "where", "verdict")), str(o["n"]),
             formatting.ordering_mean(o), formatting.ordering_evidence(o)] for o in report["orderings"]]  # fmt: skip
    head = ["statement", "measured by", "where", "verdict", "pairs", "mean [interval]", "evidence"]
    lines += _table_lines(head, rows)
    return "\n".join(lines)


def _table_lines(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(map(_escaped, row))} |" for row in (head, ["---"] * len(head), *rows)] + [""]


def _cell_text(cell: Mapping[str, Any]) -> str:
    paper = formatting.paper_text(cell)
    parts = formatting.measured_text(cell), formatting.interval_text(cell), f"({paper})" if paper else ""
    return " ".join(filter(None, parts))


def _escaped(text: str) -> str:
    """The text with nothing in it that is markup, or ends its cell."""
    for sign in "\\|`<*_":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")
