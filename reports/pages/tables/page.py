"""The tables as one self-contained page, and as Markdown."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ..page import rendered
from . import formatting
from .figures import figure_3, figure_5


def page(report: Mapping[str, Any]) -> str:
    """The page of a report in its JSON form. Equal reports give equal bytes."""
    return rendered(
        "tables/tables.html.j2",
        report=report,
        formatting=formatting,
        figures={"3": Markup(figure_3(report["figures"]["3"])), "5": Markup(figure_5(report["figures"]["5"]))},
    )


def markdown(report: Mapping[str, Any]) -> str:
    """The same in Markdown, without the pictures."""
    level = f"{100 * report['level']:g} %"
    lines = ["# Block verification: the paper's tables", ""]
    lines += [f"- {name}: {_cell(text)}" for name, text in formatting.setting_lines(report)]
    lines += ["", f"Here: value ± standard deviation over seeds [{level} interval over prompts]. In brackets behind it: {report['paper']}.", ""]  # fmt: skip
    for table in report["tables"]:
        lines += [f"## {table['label']}", "", _cell(table["title"]), ""]
        lines += _rows([table["first"], *table["columns"]], [[row["name"], *map(_both, row["cells"])] for row in table["rows"]])  # fmt: skip
    lines += ["## What must be equal", ""]
    lines += _rows(
        ["statement", "verdict", "compared", "differing"],
        [[e["statement"], e["verdict"], f"{e['compared']:,} {e['unit']}", f"{e['differing']}"] for e in report["equalities"]],
    )  # fmt: skip
    lines += ["## Orderings", ""]
    lines += _rows(
        ["statement", "measured by", "where", "verdict", "pairs", "mean [interval]", "evidence"],
        [
            [o["statement"], o["measure"], o["where"], o["verdict"], str(o["n"]), formatting.mean_of(o), formatting.evidence_of(o)]
            for o in report["orderings"]
        ],
    )  # fmt: skip
    return "\n".join(lines)


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    made = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(map(_cell, row))} |" for row in made] + [""]


def _both(cell: Mapping[str, Any]) -> str:
    paper = formatting.theirs(cell)
    return " ".join(
        part for part in (formatting.here(cell), formatting.interval(cell), f"({paper})" if paper else "") if part
    )


def _cell(text: str) -> str:
    """Nothing in it is markup, nor ends the cell."""
    for sign in "\\|`<*_":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")
