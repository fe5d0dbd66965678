"""What the HTML page and the PDF of a compliance document say, read back from the files and compared with the JSON."""

import io
import re
import unicodedata
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from ....models.libraries import require

SILENT = ("head", "style", "script", "metadata", "title")
"""Elements whose content is not shown."""

CONTEXT = 40
"""Characters of a difference that are shown."""


class Shown(HTMLParser):
    """The text that a page shows, in its order; that of its figures and the headings of its tables apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.silent, self.drawing, self.text, self.figures, self.heading, self.headings = 0, False, "", [""], None, []
        self.feed(html)
        self.figures = [text for text in map(_squeezed, self.figures) if text]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.silent += tag in SILENT
        self.drawing = self.drawing or tag == "svg"
        if tag == "thead":
            self.heading = len(self.text)

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in SILENT and self.silent > 0
        if tag == "thead" and self.heading is not None:
            self.headings.append(_squeezed(self.text[self.heading :]))
        if tag == "svg":
            self.drawing = False
            self.figures.append("")

    def handle_data(self, data: str) -> None:
        if self.drawing and not self.silent:
            self.figures[-1] += data
        elif not self.silent:
            self.text += data


def said_by_html(html: str) -> str:
    """The text of a page, without spaces, the text of its figures at the end."""
    shown = Shown(html)
    return _squeezed(shown.text) + "".join(shown.figures)


def said_by_pdf(content: bytes) -> str:
    """The text of a PDF, without spaces, page numbers and the dots of the contents.

    Raises: InputError if pypdf is not installed; ValueError if it is no PDF that can be read.
    """
    require("pypdf", extra="compliance")
    from pypdf import PdfReader

    try:
        pages = [one.extract_text() for one in PdfReader(io.BytesIO(content)).pages]
    except Exception as error:  # pypdf's own, and whatever a damaged file makes of it
        raise ValueError(f"cannot be read as a PDF ({type(error).__name__})") from None
    furniture = re.compile(r"\d{4}-\d{2}-\d{2}\s*page\s*\d+\s*of\s*\d+\s*$")
    body = "\n".join(furniture.sub("", one.rstrip()) for one in pages)
    return _squeezed(re.sub(r"[.\s]{6,}\d+(?=\n|$)", "\n", body))


def _squeezed(text: str) -> str:
    return re.sub(r"[\s•\u00ad\u200b]+", "", unicodedata.normalize("NFKC", text))


def differences(document: Mapping[str, Any], shown: Shown, said: str, file: str) -> list[str]:
    """What a file says differently from the document, a line each: first verdict by verdict, then the whole text.

    shown: of the document's own page; said: the file's text, as ``said_by_html`` or ``said_by_pdf`` give it.
    """
    expected, wrong = _squeezed(shown.text), []
    for r in document["requirements"]:
        for what in map(_squeezed, (f"{r['id']}{r['verdict']}{r['statement']}", f"{r['statement']}{r['reading']}.")):
            if said.count(what) < expected.count(what):
                wrong.append(f"{file}: does not say that {r['id']} is {r['verdict']}, as report.json does")
                break
    if wrong:
        return wrong
    for figure in sorted(shown.figures, key=len, reverse=True):  # one's text can be the beginning of another's
        if figure not in said:
            return [f"{file}: has no figure that says {figure[:CONTEXT]!r}, as report.json gives"]
        said = "".join(said.rsplit(figure, 1))  # where it stands differs between a page and its PDF
    for heading in shown.headings:  # a table's is repeated on each page
        expected, said = expected.replace(heading, ""), said.replace(heading, "")
    if expected == said:
        return []
    at = next((k for k, (a, b) in enumerate(zip(expected, said)) if a != b), min(len(expected), len(said)))
    return [f"{file}: says {said[at : at + CONTEXT]!r} where report.json gives {expected[at : at + CONTEXT]!r}"]
