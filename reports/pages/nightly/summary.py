"""The history as text, for the terminal and for the page."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ...audits.nightly.detection import MISS_RATE, NIGHT_HORIZONS
from ...audits.nightly.states import worst_state
from ...audits.scope import counted
from ..terminal import headline, plain_table, show_table, show_verdict

STATE_STYLES = {"quiet": "green", "watch": "yellow", "alarm": "red"}


class VersionRow(NamedTuple):
    """A row on one version of one subject.

    highest: the check nearest to an alarm.
    log_e, alarm_at: its log10 E, and the level of the alarm.
    limits: the largest detection limit of the version's checks, for each number of nights; "-" if it is drawn from no
    more.
    """

    subject: str
    version: str
    state: str
    checks: int
    nights: int
    draws: int
    highest: str
    log_e: str
    alarm_at: str
    limits: str


def version_rows(checks: Sequence[dict[str, Any]]) -> list[VersionRow]:
    """Return a row for each version, in the order in which they began."""
    rows = []
    for subject, version in dict.fromkeys((check["subject"], check["version"]) for check in checks):
        of_version = [check for check in checks if (check["subject"], check["version"]) == (subject, version)]
        top = max(of_version, key=lambda check: log10_e(check["log_e"]) - log10_e(check["alarm_at"]))
        nights = {night["night"] for check in of_version for night in check["nights"]}
        state, draws = worst_state(check["state"] for check in of_version), sum(check["draws"] for check in of_version)
        evidence = top["check"], tens(top["log_e"]), tens(top["alarm_at"]), limits(of_version)
        rows.append(VersionRow(subject, short(version), state, len(of_version), len(nights), draws, *evidence))
    return rows


def show(
    report: dict[str, Any], checks: Sequence[dict[str, Any]], console: Console, verbose: bool, written: Sequence[str]
) -> None:
    """Print the overall state, each alarm with its witness, failures, and the versions among the checks.

    verbose: also what it speaks of, what is detectable, and a table of the versions. written: the files of the report.
    """
    failed = [failure for failure in report["failures"] if failure.get("kind") != "gone"]
    state = "error" if failed and report["state"] != "alarm" else report["state"]
    deviating = [check for check in checks if check["state"] == report["state"] != "quiet"]
    said = f"{len(deviating)} of {counted(len(checks), 'check')}" if deviating else f"{counted(len(checks), 'check')}"
    text = counted(len(failed), "failure") if state == "error" else said if checks else "nothing has been drawn yet"
    first = headline("nightly", state.upper(), STATE_STYLES.get(state, "magenta"), text)
    rows = [*_rows(report, checks)] + ([*_meaning(report, checks)] if verbose else [])
    show_verdict(console, first, rows, written, verbose)
    if verbose and checks:
        console.print()
        show_table(_table(checks), console)
    console.print()


def _rows(report: dict[str, Any], checks: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield alarms, failures, and what was drawn, each with its name."""
    for check in sorted(checks, key=lambda check: check["state"] != "alarm"):
        state = check["state"]
        if state != "quiet":
            level = f"log10 E {tens(check['log_e'])}, largest {tens(check['largest_log_e'])}"
            yield state.capitalize(), f"{check['subject']} on {check['check']}, {level}"
        if state == "alarm":
            yield "Witness", witness(check, explained(check, checks))
            if check["witness"]:
                yield "Reproduce", check["witness"]["replay"]
    yield from (("Failed", f"{failure['subject']}: {failure['message']}") for failure in report["failures"])
    if resumed := len(report.get("resumed", ())):
        yield "Resumed", f"drawn earlier for this night by the same seed, and not drawn again: {resumed}"
    for row in sorted(version_rows(checks), key=lambda row: row.state == "quiet"):
        drawn = f"{counted(row.checks, 'check')}, {counted(row.nights, 'night')}, {row.draws:,} draws"
        level = f"log10 E {row.log_e}, alarm at {row.alarm_at}; detectable TV {row.limits}"
        yield "Drawn", f"{row.subject} {row.version}: {row.state}, {drawn}; {level}"
    yield "History", report["history"]


def _meaning(report: dict[str, Any], checks: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what a night speaks of, and what its alarms and limits mean."""
    if report["scope"]:
        yield "Speaks of", report["scope"]
    yield "Budget", f"false alarms: {report['lifetime_alpha']:g} over the life of the history"
    if any(check["detects"] for check in checks):
        yield "Detectable", f"TV: {limits_meaning()}"


def _table(checks: Sequence[dict[str, Any]]) -> Table:
    words = (Column(name, overflow="fold") for name in ("subject", "version", "state"))
    names = "checks", "nights", "draws", "log10 E", "alarm at", "detectable TV"
    numbers = (Column(n, justify="right", overflow="fold", no_wrap=n == "detectable TV") for n in names)
    table = plain_table(*words, *numbers)
    for row in version_rows(checks):
        state = f"[{STATE_STYLES[row.state]}]{row.state}[/]"
        table.add_row(
            escape(row.subject), escape(row.version), state, str(row.checks), str(row.nights), f"{row.draws:,}",
            row.log_e, row.alarm_at, row.limits,
        )  # fmt: skip
    return table


def limits(checks: Sequence[dict[str, Any]]) -> str:
    """Return the largest detection limit of the checks, within 1 / 7 nights, rounded up."""
    known = [[limit["total_variation"] for limit in check["detects"]["within"]] for check in checks if check["detects"]]
    return " / ".join(map(variation, map(max, zip(*known)))) or "-"


def variation(distance: float) -> str:
    """Return a detectable total variation, rounded up. A limit of 1 means that nothing is certain to be detected."""
    return "nothing" if distance >= 1 else f"{math.ceil(distance * 1000) / 1000:.3f}"


def limits_meaning() -> str:
    """Return the meaning of the limits, in one sentence."""
    return (
        f"a deviation of that total variation or more, in any direction, is in alarm within "
        f"{' / '.join(map(str, NIGHT_HORIZONS))} nights of as many draws as the last one, except with probability "
        f"{MISS_RATE:g}; a smaller one may be missed"
    )


def explained(check: dict[str, Any], checks: Sequence[dict[str, Any]]) -> str | None:
    """Return the check of the same version that has the witness, if one has."""
    version = check["subject"], check["version"]
    return next((c["check"] for c in checks if (c["subject"], c["version"]) == version and c["witness"]), None)


def witness(check: dict[str, Any], elsewhere: str | None) -> str:
    """Return the evidence for an alarm, in one line. elsewhere: the check of the same version that has the witness."""
    shown, impossible = check["witness"], check["impossible"]
    text = ""
    if impossible:
        text = f"{impossible['sequence']}, which the distribution excludes, was drawn (count {impossible['count']}); "
    if shown:
        counts = f"expected {shown['expected']}, observed {shown['observed']}"
        if "recorded" in check["parameters"]:
            return f"{text}{shown['sequence']}: {counts}"
        size = f"vocabulary {shown['problem']['vocabulary']}, gamma {shown['problem']['gamma']}"
        return f"{text}{shown['sequence']} {counts} on fresh draws ({size})"
    if elsewhere:
        return text + f"see {elsewhere}"
    return text + "none yet: fresh draws did not show the deviation again (the search is repeated each night)"


def log10_e(log_e: float | str) -> float:
    return math.inf if log_e == "inf" else float(log_e) / math.log(10)


def tens(log_e: float | str) -> str:
    """Return a natural logarithm as a power of ten."""
    return f"{log10_e(log_e):.1f}"


def short(version: str) -> str:
    """Return a version with its digest shortened to 8 digits."""
    return re.sub(r"sha256:([0-9a-f]{8})[0-9a-f]*", r"\1", version)
