"""Figures 3 and 5, drawn."""

from typing import Any

from ....models.battery import toy
from ....proofs.field import in_field
from ....proofs.laws import acceptance_ccdf, output_law
from ....verifiers.registry import reference
from ...audits.tables.estimates import Totals, block_efficiency, improvement, speedup
from ...audits.tables.plan import Column, TablesPlan
from ..figures import BLOCK, LIMIT, STYLE, SUBJECT, TOKEN, plt, svg
from .layout import SIZES, paper

LONG = 10
"""gamma of Figure 3."""


def acceptance_lengths(plan: TablesPlan, totals: Totals) -> dict[str, Any]:
    """Figure 3: Pr(tau >= i). toy: on the paper's models of Eq. (2), exactly; measured: at T = 1, as it came out with the
    best drafter and the longest blocks."""
    problem = in_field(toy(LONG))
    exact = {
        name: [float(p) for p in acceptance_ccdf(output_law(problem, reference(name)), LONG)]
        for name in ("token", "block")
    }
    hot, gamma = totals.of(1.0), max(plan.gammas)
    measured = {
        name: hot.acceptance(column)
        for name in plan.verifiers
        if any((column := Column(0, name, gamma)) in columns for columns in hot.columns.values())
    }
    return {"toy": exact, "gamma": gamma, "measured": measured}


COLOURS = {"token": TOKEN, "block": BLOCK, "greedy-block": LIMIT}


def figure_3(found: dict[str, Any]) -> str:
    titles = {"toy": f"toy models of Eq. (2), γ = {LONG}, exact", "measured": f"measured, T = 1, γ = {found['gamma']}"}
    shown = [kind for kind in titles if found[kind]]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(shown), figsize=(3.9 * len(shown), 2.8), sharey=True, squeeze=False)
        for axis, kind in zip(axes[0], shown):
            for name, curve in found[kind].items():
                axis.plot(range(len(curve)), curve, marker="o", markersize=4, color=COLOURS[name], label=name)
            axis.set_title(titles[kind], fontsize=9)
            axis.set_xlabel("i")
            axis.set_ylim(0, 1.05)
            axis.legend(frameon=False, fontsize=8)
        axes[0][0].set_ylabel("Pr(τ ≥ i)")
        return svg(figure)


def improvements(plan: TablesPlan, totals: Totals) -> list[dict[str, Any]]:
    """Figure 5: by how many percent block verification is better than token verification, by gamma, at T = 1.

    here: estimates by gamma; paper: of the numbers of Figure 4, by gamma.
    """
    hot, theirs, lines = totals.of(1.0), paper()["figures"][0]["rows"], []
    for drafter, size in enumerate(SIZES):
        for at, (short, of) in enumerate((("BE", block_efficiency), ("WS", speedup))):
            here = {gamma: hot.estimate(improvement(drafter, gamma, of)) for gamma in plan.gammas}
            lines.append(
                {
                    "of": short,
                    "drafter": drafter,
                    "here": {str(g): e.less_one_in_percent()._asdict() for g, e in here.items() if e},
                    "paper": {g: 100 * (row[size][2 + at] / row[size][at] - 1) for g, row in theirs.items()},
                }
            )
    return lines


def figure_5(lines: list[dict[str, Any]]) -> str:
    titles = {"BE": "block efficiency (BE)", "WS": "wall clock speedup (WS)"}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(7.8, 3.0), squeeze=False)
        for axis, (short, title) in zip(axes[0], titles.items()):
            for line in (line for line in lines if line["of"] == short):
                colour = (BLOCK, SUBJECT)[line["drafter"]]
                axis.plot(
                    list(map(int, line["paper"])), list(line["paper"].values()), color=colour, linestyle=":",
                    marker="s", markersize=3, label=f"paper, {SIZES[line['drafter']]}",
                )  # fmt: skip
                if line["here"]:
                    _with_intervals(axis, line, colour)
            axis.axhline(0, color="#888888", linewidth=0.8)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("γ")
            axis.xaxis.get_major_locator().set_params(integer=True)
        axes[0][0].set_ylabel("improvement in %")
        axes[0][1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return svg(figure)


def _with_intervals(axis: Any, line: dict[str, Any], colour: str) -> None:
    gammas, found = list(map(int, line["here"])), list(line["here"].values())
    values = [one["value"] for one in found]
    axis.plot(gammas, values, color=colour, marker="o", markersize=4, label=f"here, drafter {line['drafter'] + 1}")
    for gamma, one in zip(gammas, found):
        if one["lower"] is not None:
            axis.plot([gamma, gamma], [one["lower"], one["upper"]], color=colour, linewidth=1)
