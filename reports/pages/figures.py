"""The figures of a report, as SVG text: equal reports give equal bytes."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any

import matplotlib

matplotlib.use("svg")
from markupsafe import escape
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ...verifiers.evidence import REFUTED, Evidence, without_smallest

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "draftproof", "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#888888",
    "figure.facecolor": "none", "axes.facecolor": "none",
}  # fmt: skip
SUBJECT, BLOCK, TOKEN, BAD, LIMIT = "#1f5fbf", "#2a8c4a", "#999999", "#c43030", "#c77800"
Of = Callable[[Evidence], str]

FLOOR = 1e-18
"""Place of a deviation of exactly zero on a logarithmic axis."""


def svg(figure: Figure, says: str = "") -> str:
    """Return the figure as SVG, and close it.

    says: a description for those who do not see it; empty only if the text next to it says the same.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    plt.close(figure)
    text = buffer.getvalue()
    text = re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.DOTALL)
    label = f'role="img" aria-label="{escape(says)}"' if says else 'aria-hidden="true"'
    return text.replace("<svg ", f"<svg {label} ", 1)


def acceptance(curves: list[dict[str, Any]], most: int = 3) -> str | None:
    """Draw Pr(tau >= i) of the subject between token and block verification's, for the most telling problems."""
    chosen = _telling(curves)[:most]
    if not chosen:
        return None
    styles: dict[str, dict[str, Any]] = {
        "block": {"color": BLOCK, "linewidth": 5, "alpha": 0.35, "label": "block verification (optimum)"},
        "token": {"color": "#222222", "ls": ":", "linewidth": 2, "zorder": 5, "label": "token verification"},
        "subject": {"color": SUBJECT, "marker": "o", "markersize": 4, "label": "subject"},
    }
    says = ["Acceptance, Pr(tau >= i) for i from 0."]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(chosen), figsize=(3.3 * len(chosen), 2.7), sharey=True, squeeze=False)
        for axis, curve in zip(axes[0], chosen):
            steps = range(len(curve["block"]))
            for name, style in styles.items():
                axis.plot(steps, curve[name], **style)
            axis.set_title(curve["problem"], fontsize=9)
            axis.set(xticks=list(steps), xlabel="i", ylim=(0, 1.05))
            shown = {name: ", ".join(f"{p:.3g}" for p in curve[name]) for name in styles}
            says.append(f"{curve['problem']}: subject {shown['subject']}; block verification, the optimum, "
                        f"{shown['block']}; token verification {shown['token']}.")  # fmt: skip
        axes[0][0].set_ylabel("Pr(τ ≥ i)")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncol=3, frameon=False,
                      bbox_to_anchor=(0.5, -0.2), fontsize=9)  # fmt: skip
        return svg(figure, " ".join(says))


def sweep(levels: Sequence[Mapping[str, Any]]) -> str | None:
    """Draw tokens drafted and kept a step, and the evidence, against the requests in flight."""
    if not levels:
        return None
    names, at = [str(level["in_flight"]) for level in levels], range(len(levels))
    with plt.rc_context(STYLE):
        figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 3.6), sharex=True)
        for name, colour in (("drafted", TOKEN), ("kept", BLOCK)):
            steps = [level["tokens"] - level.get("kept", 0) or 1 for level in levels]
            above.plot(at, [level.get(name, 0) / n for level, n in zip(levels, steps)], "o-", color=colour, label=name)
        above.set(ylabel="tokens a step", ylim=(0, None))
        above.legend(frameon=False, fontsize=9)
        alarm = levels[0]["alarm"] / log(10)
        evidence = [4 * alarm if level.get("impossible") else level["log_e"] / log(10) for level in levels]
        colours = [BAD if level["verdict"] == REFUTED else SUBJECT for level in levels]
        below.scatter(at, [min(one, 4 * alarm) for one in evidence], c=colours, zorder=3)
        below.axhline(alarm, color=BAD, linestyle="--", linewidth=1)
        below.annotate("refuted above", (len(levels) - 1, alarm), ha="right", va="bottom", fontsize=9, color=BAD)
        below.set(xlabel="requests in flight", ylabel="evidence,\npowers of ten", xticks=at, xticklabels=names)
        said = (f"{name} {level_evidence:.1f}" for name, level_evidence in zip(names, evidence))
        return svg(figure, f"Evidence in powers of ten by requests in flight: {', '.join(said)}; alarm at {alarm:.1f}.")


def _telling(curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the problems where block and token verification, or the subject and block verification, lie furthest
    apart, without those that look the same."""

    def spread(curve: dict[str, Any]) -> tuple[float, str]:
        apart = sum(max(abs(a - b) for a, b in zip(curve[name], curve["block"])) for name in ("subject", "token"))
        return -apart, curve["problem"]

    ranked = sorted((c for c in curves if c["dtype"] == curves[0]["dtype"]), key=spread)
    distinct = {tuple(round(p, 3) for p in c["subject"] + c["block"]): c for c in reversed(ranked)}
    return sorted(distinct.values(), key=ranked.index)


def deviations(evidence: Sequence[Evidence]) -> str | None:
    """Draw the deviation from lossless on each problem, and what rounding allows, by precision."""
    label = "total variation from the target's distribution (left edge: exactly 0; orange: what rounding allows)"
    return _distances(evidence, lambda e: e.problem or "", lambda e: e.dtype, label, "Deviation on each problem.", 8)


def limits(evidence: Sequence[Evidence]) -> str | None:
    """Draw the largest deviation from lossless and the limit, by precision and by how the law was obtained."""

    def row(e: Evidence) -> str:
        how = e.law.exactness.law if e.law.exactness and e.law.exactness.decides else e.method
        return f"{e.dtype}, {how}"

    label = "total variation: largest deviation (dot; left edge: 0), limit (bar)"
    says = "Largest deviation and limit by precision and method."
    return _distances(evidence, row, lambda e: "", label, says, 9)


MOST_SAID = 8
"""Most points of a figure that its description lists, the largest first."""


def _distances(evidence: Sequence[Evidence], row_of: Of, series_of: Of, label: str, says: str, size: int) -> str | None:
    """Draw the largest deviation from lossless and the largest limit, by row and series, on a logarithmic axis.

    says: the beginning of the description. size: of the rows' names, in points.
    """
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for e in without_smallest(evidence):
        if e.claim == "lossless" and e.total_variation is not None:
            groups.setdefault((row_of(e), series_of(e)), []).append(e)
    if not groups:
        return None
    names, series = (list(dict.fromkeys(key[k] for key in groups)) for k in (0, 1))
    said: list[tuple[float, str]] = []
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7.2 if len(series) > 1 else 6.4, 0.03 * size * len(names) + 1.1))
        for kind, marker in zip(series, "osD^v"):
            mine = [(names.index(name), group) for (name, other), group in groups.items() if other == kind]
            places = [place for place, _ in mine]
            largest = [max(float(e.total_variation) for e in group) for _, group in mine]
            bounds = [max((float(e.bound) for e in group if e.bound is not None), default=0.0) for _, group in mine]
            colours = [BAD if any(e.refuted for e in group) else SUBJECT for _, group in mine]
            axis.scatter([max(x, FLOOR) for x in largest], places, c=colours, marker=marker, s=22, label=kind, zorder=3)
            shown = [(max(bound, FLOOR), place) for bound, place in zip(bounds, places) if bound]
            if shown:
                axis.scatter(*zip(*shown), c=LIMIT, marker="|", s=80, linewidths=2, zorder=2)
            for place, x, bound in zip(places, largest, bounds):
                what = f"{names[place]}, {kind}" if kind else names[place]
                said.append((x, f"{what}: largest {x:.2g}, limit {bound:.2g}."))
        axis.set_xscale("log")
        axis.set_xlim(FLOOR / 3, 3)
        axis.set_yticks(range(len(names)), names, fontsize=size)
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.grid(axis="x", color="#dddddd", linewidth=0.6)
        axis.set_xlabel(label, fontsize=8)
        if len(series) > 1:
            axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return svg(figure, " ".join([says, *(text for _, text in sorted(said, reverse=True)[:MOST_SAID])]))


def by_prefix(prefixes: Sequence[tuple[str, float, float]]) -> str | None:
    """Draw how far the subject's law is from the target's on each prefix, shortest prefixes first."""
    if not prefixes:
        return None
    names, expected, observed = zip(*prefixes)
    places = range(len(names))
    with plt.rc_context(STYLE):
        figure, (above, below) = plt.subplots(2, 1, figsize=(max(3.2, 0.34 * len(names) + 1.6), 3.6), sharex=True,
                                              height_ratios=(1.2, 1))  # fmt: skip
        above.bar([p - 0.2 for p in places], expected, width=0.38, color=BLOCK, label="target's distribution")
        above.bar([p + 0.2 for p in places], observed, width=0.38, color=BAD, label="subject's distribution")
        above.set_ylabel("probability")
        above.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        below.bar(places, [o - e for e, o in zip(expected, observed)], width=0.6, color=BAD)
        below.axhline(0, color="#888888", linewidth=0.8)
        below.set_ylabel("difference")
        below.set_xticks(list(places), names, fontsize=8, rotation=90 if len(names) > 12 else 0)
        below.set_xlabel("emitted prefix")
        texts = [f"{prefix}: {e:.3g} and {o:.3g}." for prefix, e, o in prefixes]
        return svg(figure, "Probability of each emitted prefix, the target's and the subject's. " + " ".join(texts))
