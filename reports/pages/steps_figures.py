"""The figures of a report on recorded steps: the path of the evidence, the transform, acceptance of every rule."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from matplotlib import pyplot as plt

from .figures import BAD, BLOCK, STYLE, SUBJECT, TOKEN, svg
from .steps import ON


def pictures_of(steps: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the pictures by name; none of a report on anything else."""
    if steps is None:
        return dict.fromkeys(("path", "transform", "rules", "places"))
    return {
        "path": _path(steps["path"], steps["alpha"]), "transform": _transform(steps["transform"]),
        "rules": _rules(steps), "places": _places(steps["by_place"]),
    }  # fmt: skip


def _path(path: Sequence[Sequence[float]], alpha: float) -> str | None:
    if len(path) < 2:
        return None
    at, evidence = [p[0] for p in path], [p[1] / log(10) for p in path]
    threshold = -log(alpha) / log(10)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 2.6))
        axis.plot(at, evidence, color=SUBJECT, linewidth=1.6)
        axis.axhline(threshold, color=BAD, linestyle="--", linewidth=1)
        axis.annotate("refuted above", (at[-1], threshold), ha="right", va="bottom", fontsize=9, color=BAD)
        axis.set(xlabel="recorded steps", ylabel="evidence, powers of ten")
        axis.set_ylim(min(-3.0, min(evidence) - 1), max(threshold + 2, min(max(evidence), 60.0)))
        says = f"Evidence against the rule after {at[-1]:,} steps: 10 to the {evidence[-1]:.1f}"
        return svg(figure, f"{says}; refuted above {threshold:.1f}.")


def _transform(counts: Sequence[int]) -> str | None:
    total = sum(counts)
    if not total:
        return None
    even, edges = total / len(counts), [k / len(counts) for k in range(len(counts))]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 2.2))
        axis.bar(edges, counts, width=1 / len(counts), align="edge", color=SUBJECT, alpha=0.7, edgecolor="white")
        axis.axhline(even, color="#222222", linewidth=1, linestyle=":")
        axis.set(xlabel="likely tokens on the left, unlikely ones on the right", ylabel="emitted tokens", xlim=(0, 1))
        largest = max(abs(count - even) for count in counts) / even
        return svg(figure, f"{total:,} tokens by their place in the target's row, even but for {largest:.1%} of a bin.")


def _rules(steps: Mapping[str, Any]) -> str | None:
    rows = []
    for key, _, what in ON:
        if acceptance := steps.get(key):
            rows += [(f"measured{what}", acceptance["measured"])]
            rows += [(n + what, r["expected"]) for n, r in acceptance["rules"].items()]
    if not rows:
        return None
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 0.42 * len(rows) + 0.6))
        for place, (name, (mean, low, high)) in enumerate(rows):
            colour = SUBJECT if name.startswith("measured") else BLOCK if name == "block" else TOKEN
            axis.barh(place, mean, color=colour, alpha=0.8)
            axis.plot([low, high], [place, place], color="#222222", linewidth=1.5)
            axis.annotate(f" {mean:.2f}", (max(high, mean), place), va="center", fontsize=9)
        axis.set_yticks(range(len(rows)), [name for name, _ in rows])
        axis.invert_yaxis()
        axis.set(xlabel="drafted tokens accepted a step")
        return svg(figure, "Accepted tokens a step: " + "; ".join(f"{n} {m[0]:.3g}" for n, m in rows) + ".")


def _places(by_place: Sequence[Sequence[float]]) -> str | None:
    if not by_place:
        return None
    shares = [kept / drafted if drafted else 0.0 for drafted, kept, _ in by_place]
    best = [expected / drafted if drafted else 0.0 for drafted, _, expected in by_place]
    places = range(1, len(shares) + 1)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 2.4))
        axis.plot(places, best, color=BLOCK, linewidth=5, alpha=0.35, label="block verification (optimum)")
        axis.plot(places, shares, color=SUBJECT, marker="o", markersize=4, label="measured")
        axis.set(xticks=list(places), xlabel="i", ylabel="Pr(τ ≥ i)", ylim=(0, 1.05))
        axis.legend(frameon=False, fontsize=9)
        return svg(figure, "Share of drafted tokens kept, by place: " + ", ".join(f"{s:.3g}" for s in shares) + ".")
