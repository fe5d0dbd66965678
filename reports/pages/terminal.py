"""A report for a person at a terminal."""

import io
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from ...verifiers.claims import CLAIMS
from ...verifiers.details import TextLawDetail
from ...verifiers.evidence import Evidence
from ...verifiers.verdicts import EvidenceVerdict, ReportVerdict, Strength
from ..audits.not_examined import left_out
from ..audits.report import Report
from ..audits.scope_table import table
from .errors import OF_KIND
from .plain_words import problem_rows
from .summary import (
    acceptance,
    allowance,
    also_refuted,
    examined,
    level_lines,
    price,
    reasons,
    run_lines,
    speaks_of,
    summaries,
)

NAME = 16
"""Characters of a line's name."""

MOST_ROWS = 6
"""Most rows of a problem that are written out."""

MOST_ENTRIES = 4
"""Most entries of two laws side by side, the worst first."""

LONGEST_ENTRY = 9
"""Most characters of an entry of a row that is written out."""

WIDE = 54
"""Characters of a table of laws from which on each entry is written in two lines."""

MOST_LINES = 15
"""Most lines that a verdict has, if no more are asked for."""

FEW = 3
"""Most lines of a kind that are shown unasked."""

WORDS = {"inconclusive": "UNDECIDED"}
"""Verdicts whose word at a terminal is another one, in capitals."""

PRECISION = "precision"
"""The finding that float32 excuses every deviation."""

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


def show_verdict(
    console: Console, headline: Text, rows: Iterable[tuple[str, str]], written: Sequence[str] = (), whole: bool = False
) -> None:
    """Print a verdict, and below it what a reader needs next, the most important first: at most MOST_LINES lines, those
    of a terminal wrapped.

    rows: each with its name. written: the files that hold everything. whole: whether to print all lines.
    """
    console.print()
    first = _wrapped(headline, console.width) if console.is_terminal else [headline]
    for line in first:
        console.print(line, soft_wrap=True)
    console.print()
    last = _lines("Report", ", ".join(written), console) if written else []
    every = [_lines(label, text, console) for label, text in rows]
    room = MOST_LINES - len(first) - 1 - len(last)
    lines, total = [], sum(map(len, every))
    for k, row in enumerate(every):
        if total > room and len(lines) + len(row) >= room and not whole:
            lines += row[: room - 1] if not k else []
            lines += _lines("", f"{total - len(lines)} more lines (--verbose shows all)", console)
            break
        lines += row
    for line in lines + last:
        console.print(escape(line), soft_wrap=True, highlight=False)


def _wrapper(width: int, **options: Any) -> textwrap.TextWrapper:
    """Return what breaks lines between words: a link and a path are one."""
    return textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False, **options)


def _wrapped(text: Text, width: int) -> list[Text]:
    """Return the lines of a text, in its styles."""
    lines, at = [], 0
    for line in _wrapper(width, expand_tabs=False, replace_whitespace=False).wrap(text.plain):
        at = text.plain.index(line, at)
        lines.append(text[at : at + len(line)])
        at += len(line)
    return lines


def headline(name: str, word: str, colour: str, text: str) -> Text:
    """Return the first line of what a terminal shows: what was examined, the verdict in its colour, and why."""
    return Text.from_markup(f"[bold]{escape(name)}[/]   [bold {colour}]{word}[/]") + Text(f": {text}")


def show(
    report: Report, console: Console, verbose: bool = False, scope: bool = False, written: Sequence[str] = ()
) -> None:
    """Print the verdict, and what a reader needs next.

    verbose: also a row for each claim and dtype, every finding, and the scope. scope: also what the verdict speaks of,
    and what was not examined. written: the files that hold the report.
    """
    word = WORDS.get(report.verdict, report.verdict.upper())
    first = headline(str(report.subject["name"]), word, report.verdict.colour, _headline(report))
    rows, more = [*_rows(report)], []
    if scope or verbose:
        more = [("Speaks of", speaks_of(report))]
        more += [("", "\n".join(_columns(table(report.scope.table))))] if report.scope and report.scope.table else []
        more += [("" if k else "Not examined", sentence) for k, sentence in enumerate(report.not_examined)]
    if verbose or scope or report.verdict == ReportVerdict.ERROR:
        more.append(("Explained", LINES))
    show_verdict(console, first, rows if verbose else rows + more, written, whole=scope or verbose)
    if verbose:
        _show_everything(report, console)
        for label, text in more:
            _row(label, text, console)
    console.print()


OF_TORCH = {"array"}
"""Findings that every function of torch has: ``--verbose`` and pages show them."""


def _headline(report: Report) -> str:
    """Return what follows the verdict's word."""
    if report.verdict == ReportVerdict.ERROR and report.failure:
        code = OF_KIND.get(report.failure["kind"])
        return report.failure["message"] + (f" ({code})" if code else "")
    words = report.reading.removeprefix(report.verdict).strip(": ")
    shown = report.shown_refutation()
    refuted = {e.claim for e in report.evidence if e.refuted and e.claim in report.claims}
    if refuted == {"lossless"} and PRECISION in report.findings:
        return "in float64, by what float32 rounds alone; for float32 code add --dtype float32"
    if report.verdict == ReportVerdict.REFUTED and shown and shown.claim in CLAIMS and not _told(report):
        return CLAIMS[shown.claim].fault or f"{shown.claim} does not hold"
    return words or "nothing was examined"


def _told(report: Report) -> bool:
    """Return whether the verdict's own words say where it was refuted."""
    return bool(report.steps or (report.server or {}).get("levels"))


def _rows(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the lines below the verdict, each with its name."""
    of_run, shown = [(name[0].upper() + name[1:], text) for name, text in run_lines(report)], report.shown_refutation()
    yield from level_lines(report.server)
    if report.verdict == ReportVerdict.REFUTED:
        if not _told(report):
            yield "Seen on", _seen_on(report, report.claims)
        yield from _why_refuted(report, shown)
        yield from of_run
    else:
        yield from of_run
        yield from (("Undecided", reason) for reason in reasons(report)[:FEW])
        of_texts = [e for e in report.evidence if e.claim == "lossless" and isinstance(e.detail, TextLawDetail)]
        own = dict.fromkeys(e.detail.why for e in of_texts if e.detail.why)
        yield from (("Not judged", f"lossless: {why}") for why in own)
        if len(report.claims) > 1 and report.evidence:
            yield "Claims", _claims(report)
        if report.verdict == ReportVerdict.INCONCLUSIVE:
            yield from (("Sampled", text) for text in _sampled(report))
        if known := examined(report):
            yield "Checked", known
        if accepted := acceptance(report):
            yield "Accepts", accepted
        for item in also_refuted(report):
            if CLAIMS[item.claim].level == "error":
                yield "But", f"{CLAIMS[item.claim].refuted} ({item.claim}, not asked for)"
                yield "", f"on {item.problem}: {item.witness}"
                yield "", item.replay or ""
        if caveat := allowance(report):
            yield "Rounding", caveat
        if report.verdict == ReportVerdict.HOLDS:
            yield "Not checked", f"{'; '.join(left_out(report))} (--scope shows all)"
    findings = sorted(report.findings.keys() - OF_TORCH)
    yield from (("Noticed", report.findings[kind]) for kind in findings[:FEW])
    if len(findings) > FEW:
        yield "", f"{len(findings) - FEW} more findings (--verbose shows all)"
    if report.failure and report.verdict != ReportVerdict.ERROR:
        yield "Failed", report.failure["message"]


def show_first(shown: Evidence, console: Console) -> None:
    """Print the first refutation of an audit that goes on."""
    console.print(Text.from_markup(f"[bold red]REFUTED[/] on {escape(str(shown.problem))}; the audit goes on"))
    for label, text in _witness_rows(shown) if shown.witness else ():
        _row(label, text, console)


def refutation(report: Report, shown: Evidence) -> str:
    """Return why one claim is refuted, for a failing test: the smallest case, the bug, the line and the command."""
    console = Console(width=80, file=io.StringIO(), force_terminal=True)
    rows = ("Seen on", _seen_on(report, [shown.claim])), *_why_refuted(report, shown)
    return "\n".join(line for label, text in rows for line in _lines(label, text, console))


def _why_refuted(report: Report, shown: Evidence | None) -> Iterator[tuple[str, str]]:
    """Yield the smallest case, the bug that it looks like, the line that decides it, and the command."""
    if shown and shown.witness:
        yield from _witness_rows(shown)
    if report.diagnosis:
        first = report.diagnosis[0]
        yield "Looks like", f"{first['mutant']}: {first['title']}\n{first['link'] or ''}".rstrip()
    else:
        yield from (("Looks like", words) for words, _ in report.behaves_as)
    if shown and shown.witness and shown.witness.where:
        yield "Where", "\n".join(filter(None, (shown.witness.where, shown.witness.line)))
    if shown and shown.replay:
        yield "Reproduce", shown.replay


def _seen_on(report: Report, claims: Collection[str]) -> str:
    """Say on how many problems each of the claims is refuted, and by how much."""
    said = []
    for row in summaries(report):
        if row.claim in claims and row.verdict == EvidenceVerdict.REFUTED:
            how = "exactly" if row.how == Strength.LATTICE.law else row.how
            facts = [f"{row.problems} in {row.dtype}", how, f"worst {row.worst}" if row.worst else ""]
            claim = f"{row.claim}: " if len(claims) > 1 else ""
            said.append(claim + ", ".join(filter(None, facts)))
    return "\n".join(said)


def _claims(report: Report) -> str:
    """Return the deciding claims by their verdict: "holds: lossless, support; no-evidence: batch"."""
    by_verdict: dict[str, dict[str, None]] = {}
    rows = [row for row in summaries(report) if row.claim in report.claims]
    made = {row.claim for row in rows if row.verdict != EvidenceVerdict.NOT_CLAIMED}
    for row in rows:
        if row.verdict != EvidenceVerdict.NOT_CLAIMED or row.claim not in made:
            by_verdict.setdefault(row.verdict, {})[row.claim] = None
    return "; ".join(f"{verdict}: {', '.join(claims)}" for verdict, claims in by_verdict.items())


def _sampled(report: Report) -> list[str]:
    """Return what was sampled for each deciding claim, and what would have shown."""
    rows = [row for row in summaries(report) if row.claim in report.claims and row.verdict != EvidenceVerdict.HOLDS]
    rows = [row for row in rows if row.limit not in ("", "TV 1")]
    return [f"{row.claim}: {row.how}; {row.limit} or more would have shown" for row in rows[: 2 * FEW]]


def _witness_rows(shown: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the smallest problem, and the two laws side by side."""
    witness = shown.witness
    assert witness is not None
    problem, rows = witness.problem, problem_rows(witness.problem)
    sizes = (("V", "vocabulary"), ("gamma", "gamma"))
    said = [", ".join(f"{symbol} = {problem[name]}" for symbol, name in sizes if name in problem)]
    short = 0 < len(rows) <= MOST_ROWS and all(len(entry) <= LONGEST_ENTRY for _, _, row in rows for entry in row)
    for model in ("target", "draft") if short else ():
        of_model = [(prefix, " ".join(row)) for one, prefix, row in rows if one == model]
        written = [f"{prefix} {row}" if k else row for k, (prefix, row) in enumerate(of_model)]
        said.append(f"{model} {', '.join(written)}")
    said += [] if len(said) > 1 else [shown.problem or ""]
    yield "Smallest case" if witness.smallest else "Witness", "; ".join(filter(None, said))
    entries = witness.entries[:MOST_ENTRIES]
    side_by_side = [("emitted", "expected", "observed"), *((e.sequence, e.expected, e.observed) for e in entries)]
    if sum(max(map(len, column)) for column in zip(*side_by_side)) > WIDE:
        yield "", "\n".join(f"{e.sequence}\nexpected {e.expected}, observed {e.observed}" for e in entries)
    else:
        yield "", "\n".join(_columns(side_by_side))
    if witness.why:
        yield "Why", witness.why


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, column under column."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _show_everything(report: Report, console: Console) -> None:
    """Print a row for each claim and dtype, and every finding, reason and refutation that does not decide."""
    table = plain_table("claim", "numbers", "verdict", "problems", "how", "worst", "allowed")
    for row in summaries(report):
        cells = map(escape, (row.problems, row.how, row.worst, row.limit))
        table.add_row(row.claim, row.dtype, coloured(row.verdict), *cells)
    console.print()
    if report.evidence:
        show_table(table, console)
        console.print()
    if sentence := price(report):
        _row("Acceptance", sentence, console)
    for kind in [*sorted(report.findings.keys() - OF_TORCH)[FEW:], *(report.findings.keys() & OF_TORCH)]:
        _row("Noticed", report.findings[kind], console)
    for reason in reasons(report)[FEW:]:
        _row("Undecided", reason, console)
    for words, link in report.behaves_as:
        _row("Looks like", words + (f"\n{link}" if link else ""), console)
    for item in also_refuted(report):
        _row("Also refuted", f"{item.claim} on {item.problem}: {item.witness}\n{item.replay or ''}".rstrip(), console)


def _row(label: str, text: str, console: Console) -> None:
    """Print a line next to its name."""
    for line in _lines(label, text, console):
        console.print(escape(line), soft_wrap=True, highlight=False)


def _lines(label: str, text: str, console: Console) -> list[str]:
    """Return a line next to its name: whole in a file, wrapped on a terminal."""
    lines, other = [], " " * (NAME + 3)
    for k, line in enumerate(text.split("\n")):
        start = other if k else f"  {label:<{NAME}} "
        if console.is_terminal and len(line) + len(start) > console.width:
            wrapper = _wrapper(console.width, initial_indent=start, subsequent_indent=other)
            lines += wrapper.wrap(line)
        else:
            lines.append(start + line)
    return lines
