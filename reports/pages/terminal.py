"""A report for a person at a terminal."""

import textwrap

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from ...verifiers.verdicts import EvidenceVerdict, ReportVerdict
from ..audits.report import Report
from .summary import allowance, also_refuted, price, reasons, run_lines, speaks_of, summaries

LONGEST_REPLAY = 600
"""Most characters of a command that is shown for a claim that does not decide."""

LINES = "https://github.com/draftproof/draftproof/blob/main/docs/reading.md#what-the-lines-say"
"""Address of the page that explains the lines."""


def coloured(verdict: EvidenceVerdict | ReportVerdict) -> str:
    """Return the word in its colour."""
    return f"[{verdict.colour}]{verdict}[/]"


def plain_table(*columns: Column | str) -> Table:
    """Return a table without lines."""
    return Table(*columns, box=None, pad_edge=False, header_style="bold")


def show_table(table: Table, console: Console) -> None:
    """Print a table without lines; where it is wider than the console, the last columns of each row stand below it."""
    rows = [[Text.from_markup(str(cell)) for cell in row] for row in zip(*(column.cells for column in table.columns))]
    names = [Text.from_markup(str(column.header), style="bold") for column in table.columns]
    widths = [max(cell.cell_len for cell in cells) for cells in zip(names, *rows)]
    fitting = max((k for k in range(1, len(widths) + 1) if sum(widths[:k]) + 2 * k - 2 <= console.width), default=1)
    if fitting == len(widths):
        console.print(table)
        return
    for row in [names, *rows]:
        for cell, width in zip(row[: fitting - 1], widths):
            cell.pad_right(width - cell.cell_len)
        console.print(Text("  ").join(row[:fitting]))
        below = [Text(f"{name.plain} ") + cell for name, cell in zip(names[fitting:], row[fitting:]) if cell.plain]
        if below and row is not names:
            console.print(Text("    ") + Text(", ").join(below))


def say(console: Console, label: str, text: str, colour: str = "") -> None:
    """Print a line that a terminal may wrap and a file holds whole: a label, in colour, and text next to it."""
    shown = f"[{colour}]{label}[/]" if colour else label
    space = " " * max(12 - len(label.lstrip()), 1)
    console.print(f"{shown}{space}{escape(text)}", soft_wrap=True, highlight=False)


def show(report: Report, console: Console) -> None:
    """Print the verdict, a row for each claim and dtype, what was noticed, the witness, the diagnosis."""
    for name, text in run_lines(report):
        console.print(escape(f"{name:<19} {text}"), soft_wrap=True)
    console.print(f"\n[bold]{escape(report.subject['name'])}[/]  {escape(report.subject['source'])}")
    table = plain_table("claim", "numbers", "verdict", "problems", "how", "worst", "allowed")
    for row in summaries(report):
        cells = map(escape, (row.problems, row.how, row.worst, row.limit))
        table.add_row(row.claim, row.dtype, coloured(row.verdict), *cells)
    if report.evidence:
        show_table(table, console)
    lines = [("\nacceptance", sentence) for sentence in [price(report)] if sentence]
    lines += [("noticed", report.findings[kind]) for kind in sorted(report.findings)]
    lines += [("no law", reason) for reason in reasons(report)]
    for label, text in lines:
        say(console, label, text)
    _show_witness(report, console)
    for item in also_refuted(report):
        say(console, "\nalso", f"{item.claim} is refuted on {item.problem}: {item.witness}")
        if item.replay and len(item.replay) < LONGEST_REPLAY:
            say(console, "replay", item.replay)
    for words, link in report.behaves_as:
        say(console, "diagnosis", words + (f"\n{'':<12}{link}" if link else ""))
    if caveat := allowance(report):
        say(console, "allowed", caveat)
    if report.failure:
        say(console, "failure", report.failure["message"], "magenta")
    verdict, words = report.verdict, report.reading
    console.print(f"verdict     [bold]{coloured(verdict)}[/]{escape(words.removeprefix(verdict))}")
    if not report.failure or report.evidence:
        _show_long("speaks of   ", speaks_of(report), console)
        for k, sentence in enumerate(report.not_examined):
            _show_long(f"{'' if k else 'not examined':<14}", sentence, console)
        if report.not_examined:
            _show_long("", f"what each line means, and what to do with it: {LINES}", console)
    console.print()


def _show_long(label: str, text: str, console: Console) -> None:
    """Print a line: whole in a file, wrapped next to its label on a terminal."""
    if console.is_terminal:
        wrapper = textwrap.TextWrapper(console.width, label, " " * len(label), break_on_hyphens=False)
        wrapper.break_long_words = False  # a link is one
        label, text = "", wrapper.fill(text)
    console.print(escape(label + text), soft_wrap=True)


def _show_witness(report: Report, console: Console) -> None:
    evidence = report.shown_refutation()
    if evidence is None or evidence.witness is None:
        return
    say(console, "\nwitness", f"{evidence.claim}, on {evidence.problem or ''}")
    laws = plain_table("outcome", "expected", "observed")
    for entry in evidence.witness.entries:
        laws.add_row(escape(entry.sequence), entry.expected, entry.observed)
    console.print(laws)
    if evidence.witness.why:
        say(console, "why", evidence.witness.why)
    if evidence.replay:
        say(console, "replay", evidence.replay)
