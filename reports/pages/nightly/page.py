"""The history as one HTML page: log10 E by night, one line a check, with versions marked, and its tables."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib import dates
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from ...audits.nightly.states import STATE_MEANINGS
from ..figures import BAD, LIMIT, STYLE, SUBJECT, svg
from ..page import rendered
from ..plain_words import NO_DRAWS, STATES
from . import summary
from .summary import log10_e

STATE_COLOURS = {"quiet": "#8aa6cc", "watch": LIMIT, "alarm": BAD}

LABEL_WIDTH = 0.2
"""Width of a version's name, as a share of the figure's."""

BOTTOM = -2.0
"""Highest bottom of the figure, in log10 E."""

TOP_FACTOR = 1.5
"""Top of the figure, as a multiple of the alarm's level."""


class Panel(NamedTuple):
    """The checks of one subject, with their picture if anything was drawn."""

    subject: str
    checks: list[dict[str, Any]]
    picture: Markup | None


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a history in its JSON form. Equal histories give equal bytes."""
    checks = report["checks"]
    return rendered(
        "nightly/nightly.html.j2",
        report=report,
        panels=by_subject(checks),
        alarms=[check for check in checks if check["state"] == "alarm"],
        states=STATE_MEANINGS,
        summary=summary,
        sentence=STATES[report["state"]] if any(check["nights"] for check in checks) else NO_DRAWS,
    )


def by_subject(checks: Sequence[dict[str, Any]]) -> list[Panel]:
    """Return the checks of each subject with their picture."""
    subjects: dict[str, list[dict[str, Any]]] = {}
    for check in checks:
        subjects.setdefault(check["subject"], []).append(check)
    return [Panel(subject, mine, _history(mine)) for subject, mine in subjects.items()]


def _history(checks: Sequence[dict[str, Any]]) -> Markup | None:
    """Draw log10 E of the checks of one subject by night.

    What lies above the figure, E = infinity too, is drawn at its upper edge as a triangle.
    """
    drawn = [check for check in checks if check["nights"]]
    if not drawn:
        return None
    top = TOP_FACTOR * max(log10_e(check["alarm_at"]) for check in drawn)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8.2, 2.9))
        for check in sorted(drawn, key=lambda c: [*STATE_COLOURS].index(c["state"])):
            _draw_line(axis, check, top)
        _mark_versions(axis, drawn, top)
        low = min(BOTTOM, *(log10_e(night["log_e"]) for check in drawn for night in check["nights"])) - 0.3
        axis.set_ylim(low, top * 1.06)
        axis.axhline(0, color="#888888", linewidth=0.6)
        axis.set_ylabel("log₁₀ E")
        begin, end = _span(drawn)
        axis.set_xlim(begin - 1, end + 1)
        locator = dates.DayLocator() if end - begin <= 8 else dates.AutoDateLocator(minticks=2, maxticks=8)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        states = Counter(check["state"] for check in drawn)
        largest = max(log10_e(night["log_e"]) for check in drawn for night in check["nights"])
        counted = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
        says = f"Evidence, log10 E, by night. Checks: {counted}. The largest value is {largest:.3g}."
        return Markup(svg(figure, says))


def _draw_line(axis: Axes, check: dict[str, Any], top: float) -> None:
    nights = [_day(night["night"]) for night in check["nights"]]
    heights = [log10_e(night["log_e"]) for night in check["nights"]]
    colour = STATE_COLOURS[check["state"]]
    label = f"{check['check']}: {check['state']}" if check["state"] != "quiet" else None
    axis.plot(nights, [min(h, top) for h in heights], color=colour, linewidth=1.2, marker="o",
              markersize=2.5 if len(nights) < 60 else 0, label=label)  # fmt: skip
    above = [night for night, height in zip(nights, heights) if height > top]
    axis.scatter(above, [top] * len(above), marker="^", s=34, color=colour, zorder=4)


def _mark_versions(axis: Axes, drawn: Sequence[dict[str, Any]], top: float) -> None:
    """Draw a line where a version begins, and the levels of watch and alarm while it lasts."""
    versions: dict[str, list[dict[str, Any]]] = {}
    for check in drawn:
        versions.setdefault(check["version"], []).append(check)
    begin, end = _span(drawn)
    needed, labelled = LABEL_WIDTH * (end - begin + 2), -math.inf
    for version, checks in sorted(versions.items(), key=lambda item: _span(item[1])):
        left, right = _span(checks)[0] - 0.5, _span(checks)[1] + 0.5
        for level, colour in (("alarm_at", BAD), ("watch_at", LIMIT)):
            height = log10_e(min(check[level] for check in checks))
            axis.hlines(height, left, right, color=colour, linewidth=0.9, linestyles="--")
        axis.axvline(left, color=SUBJECT, linewidth=0.8, linestyle=":")
        if left - labelled >= needed:
            axis.annotate(summary.short(version), (left, top * 1.06), fontsize=7, color=SUBJECT, ha="left", va="bottom",
                          xytext=(2, 1), textcoords="offset points")  # fmt: skip
            labelled = left


def _span(checks: Sequence[dict[str, Any]]) -> tuple[float, float]:
    nights = [_day(night["night"]) for check in checks for night in check["nights"]]
    return min(nights), max(nights)


def _day(night: str) -> float:
    return float(dates.date2num(datetime.fromisoformat(night)))
