"""The compliance document as one HTML page made to be printed: nothing loaded from elsewhere, everything escaped."""

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from ....models.errors import InputError
from ....proofs.statements import summary
from ....verifiers.evidence import HOLDS, NOT_CLAIMED, REFUTED, Strength
from ...audits.compliance.requirements import FAILED, MET, OPEN, SAMPLED, VERDICTS, WITHOUT_LIMIT
from ...audits.nightly.states import STATE_MEANINGS
from ...audits.report import FINDINGS, Report
from ..nightly import summary as nightly
from ..nightly.page import by_subject
from ..page import rendered, shown_of
from ..summary import run_lines

PLAINLY = {
    MET: "Everything that the plan asks for was shown, on what was examined; each requirement says what that is.",
    SAMPLED: "Nothing was found to be wrong; a part of it rests on samples, or on one run, which can miss small "
    "differences.",
    OPEN: "Something that the plan asks for was not shown: that says neither that it is right nor that it is wrong.",
    FAILED: "Something that the plan asks for was refuted; the requirement says by what.",
}
"""What each verdict on a document says, for those who read nothing else."""


CAPTIONS = {
    "limits": "Largest deviation from the target's distribution by precision and method; left edge: exactly 0; red: "
    "refuted; orange: what is allowed to rounding, or left open by samples",
    "acceptance": "Probability that at least i draft tokens are accepted; no valid verifier lies above block "
    "verification",
    "witness": "The two distributions on the prefixes that deviate most",
}
"""What stands below each picture of a report."""


def page(data: Mapping[str, Any]) -> str:
    """Return the page of a document in its JSON form. Equal documents give equal bytes."""
    content = {
        "document": data, "parts": [part | _shown(part) for part in data["parts"]], "verdicts": VERDICTS,
        "plainly": PLAINLY, "strengths": {strength: strength.kind for strength in Strength}, "states": STATE_MEANINGS,
        "nightly": nightly, "findings": FINDINGS, "NOT_CLAIMED": NOT_CLAIMED, "limit": limit,
        "deciding": [strength.kind for strength in Strength if strength.decides],
    }  # fmt: skip
    return rendered("compliance/compliance.html.j2", **content)


def limit(row: Mapping[str, Any]) -> str:
    """Say what a row of evidence can leave unseen."""
    if row["verdict"] == REFUTED and row["counts"]:
        return ""
    if row["limit"] is None:
        return "nothing on these" if row["strength"] in WITHOUT_LIMIT and row["verdict"] == HOLDS else "not stated"
    if row["unit"] != "total variation":
        return f"{row['limit']:.3g} {row['unit']}"
    rounding = row["strength"] not in ("sampled", "resolution", "by-calls", "driven")
    return f"TV {row['limit']:.3g}{' allowed to rounding' if rounding else ''}"


def _shown(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a part in addition to its JSON form."""
    shown: dict[str, Any] = {"pictures": []}
    if "report" in part:
        report = Report.from_json(part["report"])
        shown |= {"made": report, "lines": run_lines(report), **shown_of(report)}
        shown["pictures"] = [(picture, CAPTIONS[name]) for name, picture in shown["pictures"].items() if picture]
    if "history" in part:
        text = ": log10 E by night, one line a check; red: alarm, orange: watch"
        panels = by_subject(part["history"]["checks"])
        shown["pictures"] += [(panel.picture, panel.subject + text) for panel in panels if panel.picture]
    if "proofs" in part:
        shown["by_claim"] = [line for line in summary(part["proofs"]) if line["shown"]]
    return shown


def pdf(html: str) -> bytes:
    """Return the page as a PDF with figures as vectors. Equal pages give equal bytes on one machine with one set of
    fonts.

    Raises: InputError if WeasyPrint, or a library that it needs, is not installed.
    """
    if reason := why_no_pdf():
        raise InputError(f"no PDF: {reason}")
    from weasyprint import HTML

    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    with _fonts_without_time():
        written: Any = HTML(string=html, url_fetcher=_nothing_from_elsewhere).write_pdf(pdf_identifier=identifier(html))
    return written


def identifier(html: str) -> bytes:
    """Return the identifier of a page's PDF, which stands in the PDF as plain text: the digest of the page."""
    return hashlib.sha256(html.encode()).hexdigest().encode()


@contextmanager
def _fonts_without_time() -> Iterator[None]:
    """Keep the time out of embedded fonts. Without HarfBuzz's subsetter fontTools would write it there."""
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    try:
        yield
    finally:
        del os.environ["SOURCE_DATE_EPOCH"]
        if before is not None:
            os.environ["SOURCE_DATE_EPOCH"] = before


def why_no_pdf() -> str | None:
    """Return why no PDF can be made here, and what to install; None if one can."""
    try:
        import weasyprint  # noqa: F401 (its libraries are looked for when it is imported)
    except (ImportError, OSError) as error:
        reason = "WeasyPrint is not installed" if isinstance(error, ImportError) else str(error).splitlines()[0]
        return f"{reason}; install draftproof[compliance] and Pango"
    return None


def _nothing_from_elsewhere(url: str, *arguments: Any, **options: Any) -> NoReturn:
    raise ValueError(f"{url}: the page loads nothing")
