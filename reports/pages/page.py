"""The HTML page of a report, and its badge: one file, nothing loaded from elsewhere, every foreign word escaped."""

import re
from html import escape as attribute
from html import unescape
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ...verifiers.verdicts import ReportVerdict
from ..audits.report import Report
from ..audits.report_form import SCHEMA_VERSION
from ..audits.scope_table import table
from . import figures
from .glossary import Links
from .plain_words import plain_sentence, problem_rows
from .steps import gain_rows, steps_lines
from .steps_figures import pictures_of
from .summary import allowance, also_refuted, level_lines, price, reasons, regions, server_lines, speaks_of, summaries

FEW_PROBLEMS = 12
"""Largest number of problems whose deviations are shown without being asked for."""


def page(report: Report) -> str:
    """Return the page of a report. Equal reports give equal bytes."""
    content = shown_of(report)
    first = content["witness"]
    return rendered(
        "audit.html.j2",
        **content,
        report=report,
        schema_version=SCHEMA_VERSION,
        regions=regions(report),
        sentence=plain_sentence(report),
        problem_rows=problem_rows(first.witness.problem if first and first.witness else {}),
        server_lines=[*server_lines(report.server), *level_lines(report.server)] if report.server else [],
        steps=report.steps,
        steps_lines=steps_lines(report.steps) if report.steps else [],
        gain_rows=gain_rows(report.steps) if report.steps else [],
        steps_pictures={name: _picture(svg) for name, svg in pictures_of(report.steps).items()},
        few_problems=len({e.problem for e in report.evidence}) <= FEW_PROBLEMS,
        evidence=report.evidence,
        deviations=_picture(figures.deviations(report.evidence)),
    )


def shown_of(report: Report) -> dict[str, Any]:
    """Return what every page shows of a report: its rows, sentences, witness and pictures."""
    first = report.shown_refutation()
    pictures = {
        "limits": figures.limits(report.evidence),
        "acceptance": figures.acceptance(report.curves),
        "sweep": figures.sweep((report.server or {}).get("levels", ())),
        "witness": figures.by_prefix(first.witness.prefixes if first and first.witness else ()),
    }
    return {
        "rows": summaries(report), "price": price(report), "allowance": allowance(report), "reasons": reasons(report),
        "also": also_refuted(report), "speaks_of": speaks_of(report), "witness": first,
        "scope_table": table(report.scope.table) if report.scope and report.scope.table else [],
        "pictures": {name: _picture(svg) for name, svg in pictures.items()},
    }  # fmt: skip


def _picture(svg: str | None) -> Markup | None:
    return Markup(svg) if svg else None


def rendered(template: str, package: str = "", **content: Any) -> str:
    """Return a self-contained page: the template with its content, escaped, and the style sheet of all pages.

    package: where templates are looked for in addition to those here.
    """
    places = ["draftproof.reports.pages", *([package] if package else [])]
    loader = ChoiceLoader([PackageLoader(place, ".") for place in places])
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["formulas"] = formulas
    css = Markup(environment.get_template("page.css").render())
    return labelled(environment.get_template(template).render(css=css, links=Links(), **content))


BADGE_COLOURS = {verdict: verdict.badge for verdict in ReportVerdict} | {
    "met": ReportVerdict.HOLDS.badge,
    "sampled only": ReportVerdict.INCONCLUSIVE.badge,
    "open": ReportVerdict.ERROR.badge,
}
BADGE_OF_OTHERS = "#55555a"
LONGEST_ON_BADGE = 60
"""Most characters of a verdict on a badge."""


def badge(verdict: str, date: str, label: str = "draftproof", words: str = "") -> str:
    """Return a badge. Equal words give equal bytes. words: shown in place of the verdict."""
    words = words or verdict
    text = f"{words[:LONGEST_ON_BADGE]}, {date}" if date else words[:LONGEST_ON_BADGE]
    left, right = (7 * len(part) + 12 for part in (label, text))
    colour = BADGE_COLOURS.get(verdict, BADGE_OF_OTHERS)
    return rendered("badge.svg.j2", label=label, text=text, colour=colour, left=left, right=right)


INDEX = re.compile(r"(?<!\w)([A-Za-z]|sum)_(?:\{([^{}]+)\}|(\w)(?!\w))")
POWER = re.compile(r"(?<=[\w\)>])\^(?:\{([^{}]+)\}|(-?\w+))")
SIGNS = (("&lt;=", "≤"), ("&gt;=", "≥"), (r"\btau\b", "τ"), (r"\bgamma\b", "γ"), (r"\balpha\b", "α"))


def formulas(text: str) -> Markup:
    """Return the text, escaped, with x_i, x^i and x^{i+1} as indices and powers. Names such as lemma_2 stay
    unchanged."""
    said = str(escape(text))
    said = INDEX.sub(lambda m: f"{'Σ' if m[1] == 'sum' else f'<i>{m[1]}</i>'}<sub>{m[2] or m[3]}</sub>", said)
    said = POWER.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", said)
    for word, sign in SIGNS:
        said = re.sub(word, sign, said)
    return Markup(said)


TABLE = re.compile(r"<table\b((?:(?!</table>).)*?</thead>)", re.DOTALL)
HEADING = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def labelled(html: str) -> str:
    """Return the page whose tables of more than two columns hold their headings, for the rules of ``td::before`` in
    CSS.

    The heading of column k is the variable --ck of the table, once for all rows.
    """
    return TABLE.sub(_with_headings, html)


def _with_headings(match: re.Match[str]) -> str:
    names = [" ".join(unescape(TAG.sub("", heading)).split()) for heading in HEADING.findall(match[1])]
    if len(names) < 3:
        return match[0]
    quoted = ("".join(c if c not in '"\\' else f"\\{c}" for c in f"{name}: " if name) for name in names)
    style = ";".join(f'--c{k}:"{name}"' for k, name in enumerate(quoted, start=1))
    return f'<table style="{attribute(style)}"{match[1]}'
