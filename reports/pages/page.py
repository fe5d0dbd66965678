"""The HTML page of a report: one file, nothing loaded from elsewhere, every foreign word escaped."""

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...verifiers.evidence import CLAIMS, LOOP_CLAIMS, REFUTED, Evidence
from ..audits.report import Report
from . import figures
from .summary import allowance, also_refuted, price, reasons, rows


def page(report: Mapping[str, Any]) -> str:
    """The page of a report in its JSON form. Equal reports give equal bytes."""
    again = _restored(report)
    first = again.witness()
    pictures = {
        "acceptance": figures.acceptance(report["curves"]),
        "deviations": figures.deviations(report["evidence"]),
        "witness": figures.by_prefix(first.witness.get("prefixes", [])) if first and first.witness else None,
    }
    return rendered(
        "audit.html.j2",
        report=report,
        rows=rows(again),
        price=price(again),
        allowance=allowance(again),
        reasons=reasons(again),
        also=also_refuted(again),
        witness=first,
        claims=CLAIMS | LOOP_CLAIMS,
        refuted=[e for e in again.evidence if e.verdict == REFUTED],
        evidence=again.evidence,
        pictures={name: Markup(svg) if svg else None for name, svg in pictures.items()},
    )


def rendered(template: str, **content: Any) -> str:
    """A self-contained page: the template with its content, escaped, and the style sheet of all pages."""
    environment = Environment(
        loader=PackageLoader("draftproof.reports.pages", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = Markup(environment.get_template("page.css").render())
    return environment.get_template(template).render(css=css, **content)


def _restored(report: Mapping[str, Any]) -> Report:
    again = Report(report["subject"], report["claims"], report["seed"], report["environment"])
    again.evidence = [Evidence(**e) for e in report["evidence"]]
    again.smallest = next((e for e in again.evidence if (e.problem or "").startswith("smallest-of-")), None)
    again.diagnosis, again.failure = report["diagnosis"], report["failure"]
    again.findings = {f["kind"]: f["text"] for f in report["findings"]}
    return again
