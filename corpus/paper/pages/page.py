"""The tables as one self-contained page, and as Markdown."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from draftproof.reports.pages.figures import BLOCK, LIMIT, STYLE, SUBJECT, TOKEN, plt, svg
from draftproof.reports.pages.page import rendered
from draftproof_paper.pages import formatting
from draftproof_paper.tables.paper_comparison import FIGURE_3_GAMMA, PAPER_DRAFTERS


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a report in its JSON form. Equal reports give equal bytes."""
    figures = {"3": Markup(figure_3(report["figures"]["3"])), "5": Markup(figure_5(report["figures"]["5"]))}
    return rendered("tables.html.j2", "draftproof_paper.pages", report=report, formatting=formatting, figures=figures)


def markdown(report: Mapping[str, Any]) -> str:
    """Return the same in Markdown, without the figures."""
    legend = f"value ± standard deviation over seeds [{100 * report['level']:g} % interval over prompts]"
    lines = ["# Block verification: the paper's tables", ""]
    lines += [f"- {name}: {_escaped(text)}" for name, text in formatting.setting_lines(report)]
    lines += ["", f"Measured: {legend}. In parentheses after it: {report['paper']}.", ""]
    for table in report["tables"]:
        lines += [f"## {table['label']}", "", _escaped(table["title"]), ""]
        rows = [[row["name"], *map(_cell_text, row["cells"])] for row in table["rows"]]
        lines += _table_lines([table["first"], *table["columns"]], rows)
    lines += ["## What must be equal", ""]
    rows = [[e["statement"], e["verdict"], f"{e['compared']:,} {e['unit']}", str(e["differing"])]
            for e in report["equalities"]]  # fmt: skip
    lines += _table_lines(["statement", "verdict", "compared", "differing"], rows)
    lines += ["## Orderings", ""]
    theorems = dict.fromkeys(
        (o["statement"], o["measure"], o["theorem"]) for o in report["orderings"] if "theorem" in o
    )
    for statement, measure, theorem in theorems:
        lines += [_escaped(f"{statement}, {measure}: the sign is a theorem ({theorem}); what is new is the size."), ""]
    rows = [[*(o[name] for name in ("statement", "measure", "where", "verdict")), str(o["n"]),
             formatting.ordering_mean(o), formatting.ordering_evidence(o)] for o in report["orderings"]]  # fmt: skip
    head = ["statement", "measured by", "where", "verdict", "pairs", "mean [interval]", "evidence"]
    lines += _table_lines(head, rows)
    return "\n".join(lines)


def _table_lines(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(map(_escaped, row))} |" for row in (head, ["---"] * len(head), *rows)] + [""]


def _cell_text(cell: Mapping[str, Any]) -> str:
    paper = formatting.paper_text(cell)
    parts = formatting.measured_text(cell), formatting.interval_text(cell), f"({paper})" if paper else ""
    return " ".join(filter(None, parts))


def _escaped(text: str) -> str:
    """Return the text with nothing in it that is markup, or ends its cell."""
    for sign in "\\|`<*_":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")


VERIFIER_COLOURS = {"token": TOKEN, "block": BLOCK, "greedy-block": LIMIT}


def figure_3(data: dict[str, Any]) -> str:
    """data: as ``acceptance_lengths``."""
    titles = {
        "toy": f"toy models of Eq. (2), γ = {FIGURE_3_GAMMA}, exact",
        "measured": f"measured, T = 1, γ = {data['gamma']}",
    }
    shown = [kind for kind in titles if data[kind]]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(shown), figsize=(3.9 * len(shown), 2.8), sharey=True, squeeze=False)
        for axis, kind in zip(axes[0], shown):
            for name, curve in data[kind].items():
                colour = VERIFIER_COLOURS[name]
                axis.plot(range(len(curve)), curve, marker="o", markersize=4, color=colour, label=name)
            axis.set_title(titles[kind], fontsize=9)
            axis.set_xlabel("i")
            axis.set_ylim(0, 1.05)
            axis.legend(frameon=False, fontsize=8)
        axes[0][0].set_ylabel("Pr(τ ≥ i)")
        curves = [(titles[kind], name, curve) for kind in shown for name, curve in data[kind].items()]
        texts = [f"{title}, {name}: {', '.join(f'{p:.3g}' for p in curve)}." for title, name, curve in curves]
        return svg(figure, "Acceptance, Pr(tau >= i) for i from 0. " + " ".join(texts))


def figure_5(lines: list[dict[str, Any]]) -> str:
    """lines: as ``improvements``."""
    titles = {"BE": "block efficiency (BE)", "WS": "wall clock speedup (WS)"}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(7.8, 3.0), squeeze=False)
        for axis, (short, title) in zip(axes[0], titles.items()):
            for line in (line for line in lines if line["of"] == short):
                colour = (BLOCK, SUBJECT)[line["drafter"]]
                axis.plot(
                    list(map(int, line["paper"])), list(line["paper"].values()), color=colour, linestyle=":",
                    marker="s", markersize=3, label=f"paper, {PAPER_DRAFTERS[line['drafter']]}",
                )  # fmt: skip
                if line["here"]:
                    _draw_estimates(axis, line, colour)
            axis.axhline(0, color="#888888", linewidth=0.8)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("γ")
            axis.xaxis.get_major_locator().set_params(integer=True)
        axes[0][0].set_ylabel("improvement in %")
        axes[0][1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return svg(
            figure, "Improvement of block over token verification in percent, by gamma; the tables have the numbers."
        )


def _draw_estimates(axis: Any, line: dict[str, Any], colour: str) -> None:
    gammas, estimates = list(map(int, line["here"])), list(line["here"].values())
    values = [estimate["value"] for estimate in estimates]
    axis.plot(gammas, values, color=colour, marker="o", markersize=4, label=f"here, drafter {line['drafter'] + 1}")
    for gamma, estimate in zip(gammas, estimates):
        if estimate["lower"] is not None:
            axis.plot([gamma, gamma], [estimate["lower"], estimate["upper"]], color=colour, linewidth=1)
