"""The figures of a report, as SVG text: equal reports give equal bytes."""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("svg")
from markupsafe import escape
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...verifiers.evidence import Evidence, without_smallest

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "draftproof", "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#888888",
    "figure.facecolor": "none", "axes.facecolor": "none",
}  # fmt: skip
SUBJECT, BLOCK, TOKEN, BAD, LIMIT = "#1f5fbf", "#2a8c4a", "#999999", "#c43030", "#c77800"
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


def distance_axis(axis: Axes, names: Sequence[str], **font: Any) -> None:
    """Give the axis a row for each name, from the top, and total variation from left to right on a logarithmic
    scale."""
    axis.set_xscale("log")
    axis.set_xlim(FLOOR / 3, 3)
    axis.set_yticks(range(len(names)), names, **font)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.grid(axis="x", color="#dddddd", linewidth=0.6)


def acceptance(curves: list[dict[str, Any]]) -> str | None:
    """Draw Pr(tau >= i) of the subject between token and block verification's, for the most telling problems."""
    chosen = _telling(curves)
    if not chosen:
        return None
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(chosen), figsize=(3.3 * len(chosen), 2.7), sharey=True, squeeze=False)
        for axis, curve in zip(axes[0], chosen):
            steps = range(len(curve["block"]))
            axis.plot(steps, curve["block"], color=BLOCK, linewidth=5, alpha=0.35, label="block verification (optimum)")
            axis.plot(
                steps, curve["token"], color="#222222", linestyle=":", linewidth=2, zorder=5, label="token verification"
            )
            axis.plot(steps, curve["subject"], color=SUBJECT, marker="o", markersize=4, label="subject")
            axis.set_title(curve["problem"], fontsize=9)
            axis.set(xticks=list(steps), xlabel="i", ylim=(0, 1.05))
        axes[0][0].set_ylabel("Pr(τ ≥ i)")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncol=3, frameon=False,
                      bbox_to_anchor=(0.5, -0.2), fontsize=9)  # fmt: skip
        return svg(figure, "Acceptance, Pr(tau >= i) for i from 0. " + " ".join(map(_curve_says, chosen)))


def _curve_says(curve: dict[str, Any]) -> str:
    shown = {name: ", ".join(f"{p:.3g}" for p in curve[name]) for name in ("subject", "block", "token")}
    return (
        f"{curve['problem']}: subject {shown['subject']}; block verification, the optimum, {shown['block']}; "
        f"token verification {shown['token']}."
    )


def _telling(curves: list[dict[str, Any]], most: int = 3) -> list[dict[str, Any]]:
    """Return the problems where block and token verification, or the subject and block verification, lie furthest
    apart."""
    if not curves:
        return []
    numbers = curves[0]["dtype"]

    def spread(curve):
        apart = max(abs(a - b) for a, b in zip(curve["subject"], curve["block"]))
        return apart + max(abs(a - b) for a, b in zip(curve["token"], curve["block"]))

    ranked = sorted((c for c in curves if c["dtype"] == numbers), key=lambda c: (-spread(c), c["problem"]))
    distinct = {tuple(round(p, 3) for p in c["subject"] + c["block"]): c for c in reversed(ranked)}
    return sorted(distinct.values(), key=ranked.index)[:most]


def _lossless(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence on losslessness that states a deviation, without the smallest witness."""
    return [e for e in without_smallest(evidence) if e.claim == "lossless" and e.total_variation is not None]


def deviations(evidence: Sequence[Evidence]) -> str | None:
    """Draw the deviation from lossless on each problem, and what rounding allows, on a logarithmic axis."""
    items = _lossless(evidence)
    if not items:
        return None
    names = list(dict.fromkeys(e.problem or "" for e in items))
    numbers = list(dict.fromkeys(e.dtype for e in items))
    markers = dict(zip(numbers, "osD^v"))
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7.2, 0.24 * len(names) + 1.1))
        for kind in numbers:
            mine = [e for e in items if e.dtype == kind]
            places = [names.index(e.problem or "") for e in mine]
            colours = [BAD if e.refuted else SUBJECT for e in mine]
            axis.scatter([max(float(e.total_variation), FLOOR) for e in mine], places, c=colours,
                         marker=markers[kind], s=22, label=kind, zorder=3)  # fmt: skip
            bounds = [float(e.bound or 0) for e in mine]
            if any(bounds):
                axis.scatter([max(b, FLOOR) for b in bounds], places, c=LIMIT, marker="|", s=50, zorder=2)
        distance_axis(axis, names, fontsize=8)
        axis.set_xlabel(
            "total variation from the target's law (left edge: exactly 0; orange: what rounding allows)", fontsize=8
        )
        if len(numbers) > 1:
            axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        worst = max(items, key=lambda e: float(e.total_variation))
        refuted = sum(e.refuted for e in items)
        return svg(
            figure,
            f"Deviation on each of {len(names)} problems: the largest is a total variation of "
            f"{float(worst.total_variation):.2g}, on {worst.problem} in {worst.dtype}; {refuted} of {len(items)} are "
            f"above their limit.",
        )


def limits(evidence: Sequence[Evidence]) -> str | None:
    """Draw the largest deviation from lossless and the limit, by precision and by how the law was obtained."""
    groups: dict[str, list[Evidence]] = {}
    for e in _lossless(evidence):
        how = e.law.exactness.law if e.law.exactness and e.law.exactness.decides else e.method
        groups.setdefault(f"{e.dtype}, {how}", []).append(e)
    if not groups:
        return None
    worst = [max(float(e.total_variation) for e in group) for group in groups.values()]
    bounds = [max((float(e.bound) for e in group if e.bound is not None), default=0.0) for group in groups.values()]
    colours = [BAD if any(e.refuted for e in group) else SUBJECT for group in groups.values()]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 0.34 * len(groups) + 0.9))
        places = range(len(groups))
        axis.scatter([max(w, FLOOR) for w in worst], places, c=colours, s=30, zorder=3)
        shown = [(max(b, FLOOR), k) for k, b in enumerate(bounds) if b]
        axis.scatter([b for b, _ in shown], [k for _, k in shown], c=LIMIT, marker="|", s=160, linewidths=2.5, zorder=2)
        distance_axis(axis, list(groups), fontsize=9)
        axis.set_xlabel("total variation: largest deviation (dot; left edge: 0), limit (bar)", fontsize=8)
        texts = [f"{name}: largest {w:.2g}, limit {b:.2g}." for name, w, b in zip(groups, worst, bounds)]
        return svg(figure, "Largest deviation and limit by precision and method. " + " ".join(texts))


def by_prefix(prefixes: Sequence[tuple[str, float, float]]) -> str | None:
    """Draw how far the subject's law is from the target's on each prefix, shortest prefixes first."""
    if not prefixes:
        return None
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 1, figsize=(max(3.2, 0.34 * len(prefixes) + 1.6), 3.6), sharex=True,
                                    height_ratios=(1.2, 1))  # fmt: skip
        places = range(len(prefixes))
        above, below = axes
        above.bar([p - 0.2 for p in places], [e[1] for e in prefixes], width=0.38, color=BLOCK, label="target's law")
        above.bar([p + 0.2 for p in places], [e[2] for e in prefixes], width=0.38, color=BAD, label="subject's law")
        above.set_ylabel("probability")
        above.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        below.bar(list(places), [e[2] - e[1] for e in prefixes], width=0.6, color=BAD)
        below.axhline(0, color="#888888", linewidth=0.8)
        below.set_ylabel("difference")
        below.set_xticks(list(places), [e[0] for e in prefixes], fontsize=8, rotation=90 if len(prefixes) > 12 else 0)
        below.set_xlabel("emitted prefix")
        texts = [f"{prefix}: {expected:.3g} and {observed:.3g}." for prefix, expected, observed in prefixes]
        return svg(figure, "Probability of each emitted prefix, the target's and the subject's. " + " ".join(texts))
