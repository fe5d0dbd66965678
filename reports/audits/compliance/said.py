"""What the HTML page and the PDF of a compliance document say, read back from the files and compared with the JSON."""

import io
import logging
import re
import unicodedata
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from ....models.libraries import require
from .document import BADGE, JUNIT, PAGE, PDF, REPORT, Rendering, current_versions

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

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # of a damaged file it says every object
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


def against_pages(data: Mapping[str, Any], folder: Path, rendering: Rendering, draw: bool) -> tuple[list[str], str]:
    """What is wrong with the files for people, and what was compared of the PDF, in words.

    draw: whether the PDF is made again, which takes a second, where its text agrees.
    """
    html = rendering.page(data)
    shown, wrong, of_pdf = Shown(html), [], "there is no PDF"
    try:
        there = (folder / PAGE).read_bytes()
        wrong += differences(data, shown, said_by_html(there.decode()), PAGE)
        if not wrong and there != html.encode():
            wrong.append(f"{PAGE}: says what {REPORT} gives, and is not the page that it gives, byte for byte")
    except (OSError, UnicodeDecodeError):
        wrong.append(f"{PAGE}: cannot be read")
    if (folder / PDF).exists():
        try:
            content = (folder / PDF).read_bytes()
            wrong_here = differences(data, shown, said_by_pdf(content), PDF)
            draw = draw and not wrong_here and not wrong
            drawn = _drawn_as(html, content, data["draftproof"].get("weasyprint"), rendering) if draw else None
            if drawn is False:
                wrong_here.append(f"{PDF}: says what {REPORT} gives, and is not drawn as WeasyPrint draws that here")
            of_pdf = "the PDF too" if drawn else "of the PDF the text alone: it was made with other versions or fonts"
            wrong += wrong_here
        except (OSError, ValueError) as error:
            wrong.append(f"{PDF}: {error}")
    made = {BADGE: rendering.badge(data["verdict"], data["date"]), JUNIT: rendering.junit(data)}
    for name, content in made.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != content.encode():
            wrong.append(f"{name}: is not what {REPORT} gives")
    return wrong, of_pdf


def _drawn_as(html: str, content: bytes, version: str | None, rendering: Rendering) -> bool | None:
    """Whether a PDF is, byte for byte, what WeasyPrint makes of a page; None if that cannot be said here."""
    if version is None or current_versions().get("weasyprint") != version:
        return None
    try:
        own = rendering.pdf(html)
    except InputError:
        return None
    return True if own == content else False if _fonts_in(own) == _fonts_in(content) else None


def _fonts_in(content: bytes) -> set[str]:
    """The names of the fonts in a PDF, without the tags of their subsets."""
    from pypdf import PdfReader

    names: set[str] = set()
    for one in PdfReader(io.BytesIO(content)).pages:
        fonts: Any = one.get("/Resources", {}).get("/Font", {})
        names |= {str(font.get_object().get("/BaseFont")).rpartition("+")[2] for font in fonts.get_object().values()}
    return names
