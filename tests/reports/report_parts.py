"""Evidence, and reports on it, for the tests of what is made of reports."""

import io
import json
from collections.abc import Callable
from typing import Any

from rich.console import Console

from draftproof.reports.audits.comparison.changes import changes
from draftproof.reports.audits.comparison.states import states_of
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.terminal import MOST_LINES, show
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, Evidence, Method, Witness

WITNESS = Witness(sequence="0", expected="2/3", observed="1/2\x00<b>", problem={"vocabulary": 2})
GOOD_SUBJECT = {
    "name": "f", "source": "f.py", "digest": "sha256:1", "dtypes": ["float64"], "convention": {}, "calls": 3,
}  # fmt: skip


def item(verdict=HOLDS, method="interception", claim="lossless", problem="p", bound: float | None = 1e-13, **fields):
    exactness = {"exactness": "lattice"} if method == "interception" and verdict != NO_EVIDENCE else {}
    size = {"dtype": "float64", "vocabulary": 2, "gamma": 1, "smallest_probability": 0.1}
    detail = detail_by(method, **size | exactness | fields.pop("detail", {}))
    facts = {"verdict": verdict, "problem": problem, "bound": bound, "detail": detail}
    return Evidence(claim=claim, method=Method(method), **facts, **fields)


def report_on(*evidence, digest: Any = "sha256:1", **fields) -> Report:
    made = Report(GOOD_SUBJECT | {"digest": digest}, environment={"numpy": "2", "transformers": "5.23.0"})
    made.add(evidence)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def about(**subject):
    return report_on(item(), subject={**GOOD_SUBJECT, **subject})


GOOD = report_on(item(), item(problem="q"))


def compared(old, new):
    return changes(*(states_of(json.loads(one.text()), "r.json") for one in (old, new)))


def at_terminal(show: Callable[[Console], None]) -> str:
    """What a terminal of 80 columns is given."""
    file = io.StringIO()
    show(Console(width=80, file=file, force_terminal=True, color_system=None, highlight=False))
    return file.getvalue()


def require_short(text: str, first: str, written: str = "report.html") -> list[str]:
    """Check that a verdict stands first, and takes at most 15 lines of 80 columns; a command is a word. The lines."""
    lines = text.strip().splitlines()
    assert " ".join(text.split()).startswith(" ".join(first.split())) and len(lines) <= MOST_LINES == 15, text
    assert all(len(line) <= 80 or max(map(len, line.split())) > 60 for line in lines), text
    assert " ".join(text.split()).endswith(f"Report {written}"), text
    return lines


def fits_a_terminal(report: Report) -> list[str]:
    """Check it of a report, and return its lines."""
    word = {"inconclusive": "UNDECIDED"}.get(report.verdict, report.verdict.upper())
    text = at_terminal(lambda console: show(report, console, written=["report.html"]))
    return require_short(text, f"{report.subject['name']} {word}: ")
