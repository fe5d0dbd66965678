"""The commands draftproof report show and diff: reports that were written before."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models.errors import InputError
from ...verifiers.verdicts import ReportVerdict
from .exit_status import NOT_AUDITED, OK, REFUTED
from .output import Output, require_writable, write_text
from .parameters import json_option, kept_option, report_options, sarif_option

if TYPE_CHECKING:
    from rich.console import Console

    from ..audits.comparison.changes import Change

COLOURS = {"better": "green", "known": "green", "worse": "red", "unknown": "magenta"}
SHOWN = 3
"""Problems that a line of the comparison names at most."""


@click.group(name="report")
def command() -> None:
    """Reports that were written before: show one, compare two."""


@command.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@json_option("the changes")
def diff(old: str, new: str, json_file: str | None) -> None:
    """Show what changed from OLD to NEW: files of --json of any command, or folders of draftproof compliance run.

    worse: refuted now, or less is known of what held (an exact law gave way to samples, a limit grew, a claim or a
    problem is not examined any more). unknown: refuted before, and not decided now. Exit status 1 if there is
    either, else 0: what is equal as printed, limits that the draw of a sample moves, and a claim that was not claimed
    or not examined before and does not decide the verdict are neither. The two verdicts and what they speak of are
    shown where they differ."""
    output = Output(json_file)
    from ..audits.comparison.changes import changes, got_worse, versions_changed
    from ..audits.comparison.states import load, states_of

    before, after = (states_of(load(file), file) for file in (old, new))
    made, versions = changes(before, after), versions_changed(before, after)
    counts = {kind: sum(change.kind == kind for change in made) for kind in COLOURS}
    output.write({"kind": after.kind, "counts": counts, "changes": [change._asdict() for change in made],
                  "versions": [dict(zip(("name", "before", "after"), line)) for line in versions]})  # fmt: skip
    _show_changes(made, versions, output.console)
    raise SystemExit(REFUTED if got_worse(made) else OK)


def _show_changes(made: "list[Change]", versions: list[tuple[str, str, str]], console: "Console") -> None:
    from rich.markup import escape

    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for change in made:
        groups.setdefault((change.kind, change.what, change.before, change.after), []).append(change.problem)
    for (kind, what, before, after), problems in sorted(groups.items(), key=lambda item: (*COLOURS,).index(item[0][0])):
        named = [problem for problem in problems if problem]
        on = f" on {', '.join(named[:SHOWN])}" + (f" and {len(named) - SHOWN} more" if len(named) > SHOWN else "")
        line = f"{what}{on if named else ''}: {before} -> {after}"
        console.print(f"[{COLOURS[kind]}]{kind:<9}[/]{escape(line)}", soft_wrap=True)
    for name, before, after in versions:
        console.print(f"changed  {escape(f'{name}: {before} -> {after}')}", soft_wrap=True)
    counted = ", ".join(f"{sum(c.kind == kind for c in made)} {kind}" for kind in COLOURS)
    console.print(f"\n{counted}; {len(versions)} versions and digests changed")


@command.command()
@click.argument("file", metavar="FILE")
@report_options
@sarif_option
@click.option("--badge", "badge_file", metavar="FILE", help="Write a badge (SVG) with the verdict and its date.")
@click.option(
    "--date",
    metavar="DATE",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Of the badge.  [default: today, or that of SOURCE_DATE_EPOCH]",
)
def show(file: str, json_file: str | None, html_file: str | None, require_decision: bool, sarif_file: str | None,
         badge_file: str | None, date: datetime | None) -> None:  # fmt: skip
    """Show the report in FILE, or a compliance folder's, and write it in other forms."""
    output = Output(json_file, html_file, sarif_file, badge=badge_file)
    require_writable(badge_file)
    from ..audits.comparison.states import load, states_of
    from ..audits.compliance.document import today

    data = load(file)
    kind = states_of(data, file).kind
    show_one = {"report": _show_report, "nightly history": _show_history}.get(kind, _show_states)
    if kind != "report" and (html_file or sarif_file):
        raise click.UsageError(f"{file}: a {kind}; its page is written by the command that made it")

    def with_badge(verdict: str, words: str = "") -> None:
        if badge_file:
            from ..pages.page import badge

            own = data["date"] if kind == "compliance document" else f"{date:%Y-%m-%d}" if date else today()
            write_text(badge_file, badge(verdict, own, words=words))

    show_one(data, file, output, require_decision, with_badge)


Badge = Callable[..., None]


def _show_report(data: Any, file: str, output: Output, require_decision: bool, badge: Badge) -> None:
    from ..audits.report import Report
    from ..pages.summary import in_brief, of_whole_battery

    report = Report.from_json(data)
    whole = report.verdict != ReportVerdict.HOLDS or of_whole_battery(report)
    # Green is for an audit of the whole battery alone.
    badge(report.verdict if whole else "in part", in_brief(report))
    output.finish(report, require_decision)


def _show_history(data: Any, file: str, output: Output, require_decision: bool, badge: Badge) -> None:
    from ..audits.nightly.states import ALARM, worst_state
    from ..pages.nightly.summary import show as show_history

    current = [check for check in data["checks"] if check["current"]]
    if (state := worst_state([check["state"] for check in current])) != data["state"]:
        raise InputError(f"{file}: says {data['state']}, and its checks give {state}")
    failed = bool(data["failures"]) and state != ALARM
    output.write(data)
    badge("error" if failed else state)
    show_history(data, current, output.console, bool(kept_option("verbose")), output.written)
    raise SystemExit(NOT_AUDITED if failed else REFUTED if state == ALARM else OK)


def _show_states(data: Any, file: str, output: Output, require_decision: bool, badge: Badge) -> None:
    """Show any other kind: each item with what is known of it."""
    from ..audits.comparison.states import states_of

    states = states_of(data, file)
    output.write(data)
    for (what, problem), state in states.items.items():
        limits = ", ".join(f"{name} {limit:.3g}" for name, (limit, _) in state.limits.items() if limit is not None)
        output.echo(f"{state!s:<13}{what}{f' on {problem}' if problem else ''}{f' ({limits})' if limits else ''}")
    words = {str(state) for state in states.items.values()}
    verdict = next((word for word in ("refuted", "error", "open") if word in words), "not refuted")
    failed = "error" in words
    if states.kind == "compliance document":
        from ..audits.compliance.document import read_document

        document = read_document(data, file)
        verdict, failed = document.verdict, any(part.state != "done" for part in document.parts)
    badge(verdict)
    output.echo(f"\n{Path(file).name}: {states.kind}, {verdict}")
    raise SystemExit(REFUTED if verdict == "refuted" else NOT_AUDITED if failed else OK)
