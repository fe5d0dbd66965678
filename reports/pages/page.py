"""The HTML page of a report: one file, nothing loaded from elsewhere, every foreign word escaped; and its badge."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...verifiers.verdicts import ReportVerdict
from ..audits.migration import SCHEMA_VERSION
from ..audits.report import Report
from . import figures
from .formulas import formulas
from .glossary import Links
from .narrow import labelled
from .plain_words import plain_sentence, problem_rows
from .summary import allowance, also_refuted, price, reasons, regions, server_lines, speaks_of, summaries

FEW_PROBLEMS = 12
"""Up to which the deviation on each is shown unasked."""


def page(report: Report) -> str:
    """The page of a report. Equal reports give equal bytes."""
    first = report.shown_refutation()
    problem = first.witness.problem if first and first.witness else {}
    pictures = {
        "acceptance": figures.acceptance(report.curves),
        "limits": figures.limits(report.evidence),
        "deviations": figures.deviations(report.evidence),
        "witness": figures.by_prefix(first.witness.prefixes) if first and first.witness else None,
    }
    return rendered(
        "audit.html.j2",
        report=report,
        schema_version=SCHEMA_VERSION,
        rows=summaries(report),
        price=price(report),
        allowance=allowance(report),
        reasons=reasons(report),
        regions=regions(report),
        also=also_refuted(report),
        sentence=plain_sentence(report),
        problem_rows=problem_rows(problem),
        server_lines=server_lines(report.server) if report.server else [],
        speaks_of=speaks_of(report),
        witness=first,
        few_problems=len({e.problem for e in report.evidence}) <= FEW_PROBLEMS,
        evidence=report.evidence,
        pictures={name: Markup(svg) if svg else None for name, svg in pictures.items()},
    )


def rendered(template: str, **content: Any) -> str:
    """A self-contained page: the template with its content, escaped, and the style sheet of all pages."""
    loader = PackageLoader("draftproof.reports.pages", ".")
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
"""Characters of a verdict that are shown."""


def badge(verdict: str, date: str, label: str = "draftproof", words: str = "") -> str:
    """The badge. Equal words give equal bytes. words: in place of the verdict."""
    words = words or verdict
    text = f"{words[:LONGEST_ON_BADGE]}, {date}" if date else words[:LONGEST_ON_BADGE]
    left, right = (7 * len(part) + 12 for part in (label, text))
    colour = BADGE_COLOURS.get(verdict, BADGE_OF_OTHERS)
    return rendered("badge.svg.j2", label=label, text=text, colour=colour, left=left, right=right)
