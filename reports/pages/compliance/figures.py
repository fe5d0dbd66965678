"""Figures of the compliance document that no other page has."""

from collections.abc import Sequence

from matplotlib import pyplot as plt

from ....verifiers.evidence import Evidence
from ..figures import BAD, FLOOR, LIMIT, STYLE, SUBJECT, svg


def deviation_by_precision(evidence: Sequence[Evidence]) -> str | None:
    """The deviation from the target's law on each problem, a line a kind of numbers, and what rounding is allowed."""
    items = [e for e in evidence if e.claim == "lossless" and e.total_variation is not None]
    items = [e for e in items if not (e.witness and e.witness.smallest)]
    if not items:
        return None
    kinds = list(dict.fromkeys(e.dtype for e in items))
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 0.42 * len(kinds) + 0.8))
        for place, kind in enumerate(kinds):
            mine = [e for e in items if e.dtype == kind]
            for refuted, colour, marker in ((False, SUBJECT, "o"), (True, BAD, "X")):
                shown = [max(float(e.total_variation), FLOOR) for e in mine if e.refuted == refuted]
                axis.scatter(shown, [place] * len(shown), c=colour, marker=marker, s=22, alpha=0.6, zorder=3)
            bounds = [max(float(e.bound), FLOOR) for e in mine if e.bound]
            axis.scatter(bounds, [place] * len(bounds), c=LIMIT, marker="|", s=120, zorder=2)
        axis.set_xscale("log")
        axis.set_xlim(FLOOR / 3, 3)
        axis.set_yticks(range(len(kinds)), kinds)
        axis.set_ylim(len(kinds) - 0.4, -0.6)
        axis.grid(axis="x", color="#dddddd", linewidth=0.6)
        axis.set_xlabel("total variation", fontsize=9)
        return svg(figure)
