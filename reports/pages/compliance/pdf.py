"""The compliance document as a PDF: its HTML page, printed by WeasyPrint with contents and page numbers."""

import hashlib
import logging
from typing import Any, NoReturn

from ....models.errors import InputError


def pdf(html: str) -> bytes:
    """The page as a PDF with figures as vectors. Equal pages give equal bytes, on one machine with one set of fonts.

    Raises: InputError if WeasyPrint, or a library that it needs, is not installed.
    """
    if reason := why_no_pdf():
        raise InputError(f"no PDF: {reason}")
    from weasyprint import HTML

    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    identifier = hashlib.sha256(html.encode()).digest()[:16]
    written: Any = HTML(string=html, url_fetcher=_nothing_from_elsewhere).write_pdf(pdf_identifier=identifier)
    return written


def why_no_pdf() -> str | None:
    """Why no PDF can be made here, if so, and what to install."""
    try:
        import weasyprint  # noqa: F401 (its libraries are looked for when it is imported)
    except (ImportError, OSError) as error:
        reason = "WeasyPrint is not installed" if isinstance(error, ImportError) else str(error).splitlines()[0]
        return f"{reason}; install draftproof[compliance] and Pango"
    return None


def _nothing_from_elsewhere(url: str, *arguments: Any, **options: Any) -> NoReturn:
    raise ValueError(f"{url}: the page loads nothing")
