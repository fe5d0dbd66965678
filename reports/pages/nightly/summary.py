"""The history in words and numbers, for the terminal and for the page."""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...audits.nightly.detection_limits import MISS_RATE, NIGHT_HORIZONS
from ...audits.nightly.verdicts import worst_state

COLOURS = {"quiet": "green", "watch": "yellow", "alarm": "red"}


class VersionRow(NamedTuple):
    """One version of one subject; highest: the check that comes nearest to an alarm, with its log10 E and the alarm's.

    limits: what the check that sees least would have seen, within each of the numbers of nights; none if the version is
    no longer drawn from.
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


def summary(checks: Sequence[dict[str, Any]]) -> list[VersionRow]:
    """A row for each version, in the order in which they began."""
    rows = []
    for subject, version in dict.fromkeys((check["subject"], check["version"]) for check in checks):
        mine = [check for check in checks if (check["subject"], check["version"]) == (subject, version)]
        top = max(mine, key=lambda check: number(check["log_e"]) - check["alarm_at"])
        rows.append(
            VersionRow(
                subject,
                short(version),
                worst_state([check["state"] for check in mine]),
                len(mine),
                len({night["night"] for check in mine for night in check["nights"]}),
                sum(check["draws"] for check in mine),
                top["check"],
                tens(top["log_e"]),
                tens(top["alarm_at"]),
                limits(mine),
            )
        )
    return rows


def show(report: dict[str, Any], checks: Sequence[dict[str, Any]], console: Console) -> None:
    """The versions among the checks, each alarm with its witness, what failed, and the state of all."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("subject", "version", "state", "checks", "nights", "draws", "log10 E", "alarm at", "TV seen"):
        right = column not in ("subject", "version", "state")
        table.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=column == "TV seen")
    for row in summary(checks):
        state = f"[{COLOURS[row.state]}]{row.state}[/]"
        table.add_row(
            escape(row.subject), escape(row.version), state, str(row.checks), str(row.nights), f"{row.draws:,}",
            row.log_e, row.alarm_at, row.limits,
        )  # fmt: skip
    console.print(table if checks else "nothing has been drawn yet")
    for check in checks:
        if check["state"] != "quiet":
            level = f"log10 E {tens(check['log_e'])}, largest {tens(check['largest_log_e'])}"
            name = f"{check['subject']} on {check['check']}"
            console.print(f"\n[{COLOURS[check['state']]}]{check['state']}[/]       {escape(name)}, {level}")
        if check["state"] == "alarm":
            console.print(f"witness     {escape(witness(check, explained(check, checks)))}")
            if check["witness"]:
                console.print("replay      ", end="")
                console.print(escape(check["witness"]["replay"]), soft_wrap=True, highlight=False)
    for failure in report["failures"]:
        console.print(f"[magenta]failure[/]     {escape(failure['subject'])}: {escape(failure['message'])}")
    resumed = len(report.get("resumed", ()))
    if resumed:
        console.print(f"resumed     drawn before for this night by the same seed, and not drawn again: {resumed}")
    console.print(f"\nstate       [{COLOURS[report['state']]}]{report['state']}[/]")
    console.print(f"history     {escape(report['history'])}", soft_wrap=True)
    console.print(f"budget      false alarms: {report['lifetime_alpha']:g} over the life of the history")
    if any(check["detects"] for check in checks):
        console.print(f"TV seen     {limits_meaning()}", soft_wrap=True)
    console.print()


def limits(checks: Sequence[dict[str, Any]]) -> str:
    """What the check that sees least would have seen, within 1 / 7 nights, rounded up."""
    told = [[limit["total_variation"] for limit in check["detects"]["within"]] for check in checks if check["detects"]]
    return " / ".join(map(variation, map(max, zip(*told)))) or "-"


def variation(distance: float) -> str:
    """A total variation that is certain to be seen, rounded up; all of it is none."""
    return "nothing" if distance >= 1 else f"{math.ceil(distance * 1000) / 1000:.3f}"


def limits_meaning() -> str:
    """What the limits say, in one sentence."""
    return (
        f"a deviation of that total variation or more, in any direction, is in alarm within {' / '.join(map(str, NIGHT_HORIZONS))} "
        f"nights of as many draws as the last one, except with probability {MISS_RATE:g}; a smaller one may go unseen"
    )


def explained(check: dict[str, Any], checks: Sequence[dict[str, Any]]) -> str | None:
    """The check of the same version that has the witness, if one has."""
    same = (other for other in checks if (other["subject"], other["version"]) == (check["subject"], check["version"]))
    return next((other["check"] for other in same if other["witness"]), None)


def witness(check: dict[str, Any], elsewhere: str | None) -> str:
    """What is known of an alarm, in one line; elsewhere: the check of the same version that has the witness."""
    found, impossible = check["witness"], check["impossible"]
    text = ""
    if impossible:
        text = f"{impossible['sequence']}, which the law excludes, was drawn (count {impossible['count']}); "
    if found:
        problem = found["problem"]
        size = f"vocabulary {problem['vocabulary']}, gamma {problem['gamma']}"
        return text + (
            f"{found['sequence']} expected {found['expected']}, observed {found['observed']} on fresh draws ({size})"
        )
    if elsewhere:
        return text + f"see {elsewhere}"
    return text + "none yet, fresh draws did not show it again (they are tried again each night)"


def number(log_e: float | str) -> float:
    return math.inf if log_e == "inf" else float(log_e)


def tens(log_e: float | str) -> str:
    """A natural logarithm as a power of ten."""
    return f"{number(log_e) / math.log(10):.1f}"


def short(version: str) -> str:
    """A version with its digest cut to what tells it apart."""
    return re.sub(r"sha256:([0-9a-f]{8})[0-9a-f]*", r"\1", version)
