"""The figure of README: what block verification gains on the blocks of the open model, as the kept runs have it.

``python -m draftproof.corpus.site.open_model`` writes corpus/site/open-model.svg.
"""

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from draftproof.corpus.site.kept_orderings import RUNS, gains
from draftproof.reports.pages.figures import BLOCK, STYLE, TOKEN, svg

PICTURE = Path(__file__).with_name("open-model.svg")
RUN = "smollm2-settings"


def says(row: dict[str, Any]) -> str:
    """Return an ordering in words."""
    interval = f"{row['mean']:.2f} [{row['lower']:.2f}, {row['upper']:.2f}]"
    return f"{row['where'].replace(', drafter 1', '')}: {interval}, {row['verdict']} on {row['n']:,} blocks"


def picture(rows: list[dict[str, Any]]) -> str:
    """Return each gain with its interval, filled where it is confirmed."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7.2, 2.9), facecolor="white")
        for at, row in enumerate(rows):
            sure = row["verdict"] == "confirmed"
            colour = BLOCK if sure else TOKEN
            axis.plot([row["lower"], row["upper"]], [at, at], color=colour, linewidth=2)
            axis.plot(row["mean"], at, "o", color=colour, markerfacecolor=colour if sure else "white")
        axis.axvline(0, color="#888888", linewidth=0.8)
        axis.set_yticks(range(len(rows)), [says(row).split(":")[0] for row in rows], fontsize=9)
        axis.invert_yaxis()
        axis.set_xlabel(
            "E[τ] of block less token verification on the same draft blocks (filled: confirmed)", fontsize=9
        )
        return svg(figure, f"Tokens a call that block verification gains. {'; '.join(map(says, rows))}.")


def main() -> None:
    PICTURE.write_text(picture(gains(RUNS[RUN])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
