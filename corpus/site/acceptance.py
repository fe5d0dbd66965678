"""The page of acceptance: how many drafted tokens each kept run accepted, by place in a block and by its length.

``python -m draftproof.corpus.site.acceptance`` writes acceptance.md here, and a picture of each run in acceptance/.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from scipy.special import stdtrit

from draftproof.corpus.site.kept_orderings import EVIDENCE, RUNS
from draftproof.models.store import stored
from draftproof.reports.pages.figures import BLOCK, LIMIT, STYLE, SUBJECT, TOKEN, svg
from draftproof_paper.tables.orderings import CONFIDENCE_LEVEL
from draftproof_paper.tables.plan import CELLS, CELLS_HOLD, PLAIN

PAGE = Path(__file__).with_name("acceptance.md")
PICTURES = Path(__file__).with_name("acceptance")

COLOURS = {"token": TOKEN, "block": BLOCK, "greedy-block": SUBJECT, "k-seq": LIMIT, "spec-infer": "#8a4fbf"}

HEAD = """\
# Acceptance of the kept runs

How many drafted tokens does each rule accept on real models, and at which place of a block? All figures are of the
[kept runs](measurements.md#kept-runs) of `draftproof tables`; other models, prompts and drafters have others.

A line is the share of blocks that keep at least i tokens, at the longest blocks of the run. Bars and ± are
{level:.0%} intervals over prompts, all blocks of a prompt together (the ratio's linearisation, Student's t): they hold
as the number of prompts grows, each alone. Drafters are numbered from the best. Whether one rule is better than
another is tested on [the same blocks](measurements.md#tables-on-the-open-model), not read off here.
"""


class Setting(NamedTuple):
    """What blocks of a run have in common. drafter: from 0, the best."""

    temperature: float
    drafter: int
    gamma: int
    verifier: str


Prompt = tuple[int, int]
"""A group of prompts, and the place in it."""

Blocks = Mapping[Prompt, Sequence[int]]
"""Prompt -> tokens that each block of its texts kept."""


def blocks_of(run: str) -> dict[Setting, Blocks]:
    """Return the blocks of a kept run, by their setting."""
    found: dict[Setting, dict[Prompt, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in stored(EVIDENCE / run / CELLS, CELLS_HOLD)[1]:
        _, group, temperature = row.key
        for column in row.row["columns"]:
            setting = Setting(temperature, column["drafter"], column["gamma"], column["verifier"])
            for place, kept in enumerate(column["accepted"]):
                found[setting][group, place] += kept
    return {setting: blocks for setting, blocks in found.items() if setting.verifier != PLAIN}


class Mean(NamedTuple):
    """A mean over blocks, and half of its interval; 0 of a single prompt, which has none."""

    value: float
    radius: float


def mean_of(blocks: Blocks, least: int | None = None) -> Mean:
    """Return the tokens that a block keeps on average; with ``least`` the share of blocks that keep so many.

    Guarantee: none for finitely many prompts; see HEAD.
    """
    sums = np.array([(sum(n if least is None else n >= least for n in kept), len(kept)) for kept in blocks.values()])
    total, number = sums.sum(0), len(sums)
    value = float(total[0] / total[1])
    if number < 2:
        return Mean(value, 0.0)
    spread = float(((sums[:, 0] - value * sums[:, 1]) ** 2).sum()) * number / (number - 1)
    return Mean(value, float(stdtrit(number - 1, (1 + CONFIDENCE_LEVEL) / 2)) * sqrt(spread) / float(total[1]))


def panels(found: Mapping[Setting, Blocks]) -> Iterator[tuple[str, dict[str, list[Mean]]]]:
    """Yield a title and a curve for each rule: of each temperature and drafter at the longest blocks."""
    several = len({setting.drafter for setting in found}) > 1
    for temperature, drafter in sorted({setting[:2] for setting in found}, key=lambda one: (-one[0], one[1])):
        gamma = max(setting.gamma for setting in found if setting[:2] == (temperature, drafter))
        rules = [s for s in found if s[:3] == (temperature, drafter, gamma)]
        curves = {s.verifier: [mean_of(found[s], i) for i in range(1, gamma + 1)] for s in _ordered(rules)}
        yield f"T = {temperature:g}" + (f", drafter {drafter + 1}" if several else ""), curves


def _ordered(settings: Sequence[Setting]) -> list[Setting]:
    return sorted(settings, key=lambda setting: [*COLOURS].index(setting.verifier))


def picture(run: str, found: Mapping[Setting, Blocks]) -> str:
    """Return the curves of a run."""
    shown, says = [*panels(found)], []
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(shown), figsize=(1 + 2.4 * len(shown), 2.6), sharey=True, squeeze=False, facecolor="white"
        )
        for axis, (title, curves) in zip(axes[0], shown):
            for k, (rule, curve) in enumerate(curves.items()):
                at = np.arange(1, len(curve) + 1) + 0.12 * (k - (len(curves) - 1) / 2)
                values, radii = zip(*curve)
                axis.errorbar(at, values, radii, color=COLOURS[rule], marker=".", linewidth=1.2, label=rule)
                says.append(f"{title}, {rule}: {', '.join(f'{value:.2f}' for value in values)}")
            axis.set_title(title, fontsize=9)
            axis.set(xlabel="i", xticks=range(1, max(map(len, curves.values())) + 1), ylim=(0, 1.02))
        axes[0][0].set_ylabel("blocks keeping i or more")
        handles = {label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels())}
        figure.legend([*handles.values()], [*handles], loc="lower center", ncol=len(handles), frameon=False,
                      bbox_to_anchor=(0.5, -0.16), fontsize=9)  # fmt: skip
        return svg(figure, f"Share of blocks of {run} that keep at least i tokens, i from 1. {'; '.join(says)}.") + "\n"


def table(runs: Mapping[str, Mapping[Setting, Blocks]]) -> str:
    """Return tokens a call of the target, in Markdown: a row for each setting, a column for each rule."""
    lines = [f"| run | T | drafter | gamma | {' | '.join(COLOURS)} |", "|---" * (4 + len(COLOURS)) + "|"]
    for run, found in runs.items():
        for key in sorted({setting[:3] for setting in found}, key=lambda key: (-key[0], *key[1:])):
            means = {rule: mean_of(found[s]) for rule in COLOURS if (s := Setting(*key, rule)) in found}
            said = {rule: f"{1 + mean.value:.2f}\u00a0±\u00a0{mean.radius:.2f}" for rule, mean in means.items()}
            cells = (said.get(rule, "") for rule in COLOURS)
            lines.append(f"| `{run}` | {key[0]:g} | {key[1] + 1} | {key[2]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def about(run: str) -> str:
    """Return what was run, in a sentence."""
    s = RUNS[run]["settings"]
    data = " and ".join(f"`{name}`" for name in s["data"])
    drafts = ", ".join(f"`{name}`" for name in s["drafts"])
    return f"`{s['target']}` with {drafts}, {s['dtype']}, on {s['machine']}; prompts of {data}."


def pages() -> dict[Path, str]:
    """Return each file with its content."""
    runs = {run: blocks_of(run) for run in sorted(RUNS)}
    files = {PICTURES / f"{run}.svg": picture(run, found) for run, found in runs.items()}
    sections = [f"## {run}\n\n{about(run)}\n\n![Acceptance by place]({PICTURES.name}/{run}.svg)" for run in runs]
    tokens = f"## Tokens a call, by length of block\n\nOne more than a block keeps on average.\n\n{table(runs)}"
    return files | {PAGE: "\n\n".join([HEAD.format(level=CONFIDENCE_LEVEL).strip(), *sections, tokens]) + "\n"}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
