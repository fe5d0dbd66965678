"""The history drawn: log10 E by night, one line a check, versions marked."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from matplotlib import dates
from matplotlib import pyplot as plt

from ..figures import BAD, LIMIT, STYLE, SUBJECT, svg

QUIET_LINE = "#8aa6cc"
COLOURS = {"quiet": QUIET_LINE, "watch": LIMIT, "alarm": BAD}
NIGHT = timedelta(days=1)
LABEL = 0.2
"""The part of the picture's width that the name of a version needs."""

MOST_LINES = 12
"""Quiet checks that are drawn one by one; more become a band."""

LOWEST, HEADROOM = -2.0, 1.5
"""The least height of the picture below 0, and how far above the alarm's level a line is still followed."""


def history(checks: Sequence[dict[str, Any]], names: dict[str, str]) -> str | None:
    """log10 E of the checks of one subject by night.

    checks: as in ``status.status``; names: versions as they are shown. What lies above the picture is drawn at its
    upper edge as a triangle, E = infinity too.
    """
    drawn = [check for check in checks if check["nights"]]
    if not drawn:
        return None
    top = HEADROOM * max(_tens(check["alarm_at"]) for check in drawn)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8.2, 2.9))
        quiet = [check for check in drawn if check["state"] == "quiet"]
        if len(quiet) > MOST_LINES:
            _band(axis, quiet, top)
        for check in sorted(drawn, key=lambda c: ("quiet", "watch", "alarm").index(c["state"])):
            if check["state"] == "quiet" and len(quiet) > MOST_LINES:
                continue
            nights = [datetime.fromisoformat(night["night"]) for night in check["nights"]]
            heights = [_tens(night["log_e"]) for night in check["nights"]]
            colour = COLOURS[check["state"]]
            label = f"{check['check']}: {check['state']}" if check["state"] != "quiet" else None
            axis.plot(nights, [min(h, top) for h in heights], color=colour, linewidth=1.2, marker="o",
                      markersize=2.5 if len(nights) < 60 else 0, label=label)  # fmt: skip
            above = [night for night, height in zip(nights, heights) if height > top]
            axis.scatter(above, [top] * len(above), marker="^", s=34, color=colour, zorder=4)
        _mark_versions(axis, drawn, names, top)
        low = min(LOWEST, *(_tens(night["log_e"]) for check in drawn for night in check["nights"])) - 0.3
        axis.set_ylim(low, top * 1.06)
        axis.axhline(0, color="#888888", linewidth=0.6)
        axis.set_ylabel("log₁₀ E")
        begin, end = (datetime.fromisoformat(night) for night in _span(drawn))
        axis.set_xlim(begin - NIGHT, end + NIGHT)
        few = (end - begin).days <= 8
        locator = dates.DayLocator() if few else dates.AutoDateLocator(minticks=2, maxticks=8)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return svg(figure)


def _band(axis, checks: Sequence[dict[str, Any]], top: float) -> None:
    """Many quiet checks as the band between the least and the largest of each night."""
    heights: dict[str, list[float]] = {}
    for check in checks:
        for night in check["nights"]:
            heights.setdefault(night["night"], []).append(min(_tens(night["log_e"]), top))
    nights = sorted(heights)
    dates_of = [datetime.fromisoformat(night) for night in nights]
    low, high = ([least(heights[night]) for night in nights] for least in (min, max))
    axis.fill_between(
        dates_of, low, high, color=QUIET_LINE, alpha=0.4, linewidth=0, label=f"{len(checks)} quiet checks"
    )
    axis.plot(dates_of, high, color=QUIET_LINE, linewidth=1.0)


def _mark_versions(axis, drawn: Sequence[dict[str, Any]], names: dict[str, str], top: float) -> None:
    """A line where a version begins, and the levels of watch and alarm while it lasts."""
    spans: dict[str, tuple[str, str]] = {}
    for check in drawn:
        first, last = check["nights"][0]["night"], check["nights"][-1]["night"]
        known = spans.get(check["version"], (first, last))
        spans[check["version"]] = min(first, known[0]), max(last, known[1])
    begin, end = (datetime.fromisoformat(night) for night in _span(drawn))
    needed, labelled = LABEL * (end - begin + 2 * NIGHT), None
    for version, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
        left, right = datetime.fromisoformat(first) - NIGHT / 2, datetime.fromisoformat(last) + NIGHT / 2
        mine = [check for check in drawn if check["version"] == version]
        for level, colour in (("alarm_at", BAD), ("watch_at", LIMIT)):
            height = _tens(min(check[level] for check in mine))
            axis.hlines(height, left, right, color=colour, linewidth=0.9, linestyles="--")
        axis.axvline(left, color=SUBJECT, linewidth=0.8, linestyle=":")
        if labelled is None or left - labelled >= needed:
            axis.annotate(names[version], (left, top * 1.06), fontsize=7, color=SUBJECT, ha="left", va="bottom",
                          xytext=(2, 1), textcoords="offset points")  # fmt: skip
            labelled = left


def _span(drawn: Sequence[dict[str, Any]]) -> tuple[str, str]:
    nights = [night["night"] for check in drawn for night in check["nights"]]
    return min(nights), max(nights)


def _tens(log_e: float | str) -> float:
    return math.inf if log_e == "inf" else float(log_e) / math.log(10)
