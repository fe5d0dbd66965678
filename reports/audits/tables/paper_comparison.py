"""The paper's tables with what was measured here beside what the paper has: cells of numbers, not yet text."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ....models.battery import toy
from ....proofs.field import in_field
from ....proofs.laws import acceptance_ccdf, output_law
from ....verifiers.registry import reference
from .estimates import (
    SAME_BLOCK,
    SAME_TOKEN,
    Estimate,
    Totals,
    block_efficiency,
    improvement,
    quotient,
    speedup,
)
from .plan import Column, TablesPlan

DATA_SET_NAMES = {
    "lm1b": "LM1B",
    "gpt-prompts": "GPT Prompt",
    "webqa": "Web QA",
    "piqa": "PIQA",
    "sharegpt": "Share GPT",
    "xsum": "XSum",
    "gsm8k": "GSM8K",
    "wmt-deen": "WMT-De En",
}
"""Our names of the paper's data sets, and the paper's."""

ALL, AVERAGE = "all prompts", "average"
EFFICIENCY, SPEEDUP, BETTER = "block efficiency", "wall clock speedup", "improvement in %"
TOKEN, BLOCK, GREEDY = "token", "block", "greedy-block"

FIGURE_3_GAMMA = 10

PAPER_SETTINGS = {1: (0, 8), 6: (0, 4), 7: (0, 6), 8: (1, 4), 9: (1, 6), 10: (1, 8)}
"""Number of a table -> drafter and gamma. The paper's XXS is in the place of our first drafter, XXXS of our second."""

PAPER_DRAFTERS = "XXS", "XXXS"


@cache
def paper() -> dict[str, Any]:
    """The numbers of Sun et al. 2025, as published."""
    return json.loads(files("draftproof.reports.audits.tables").joinpath("paper.json").read_text(encoding="utf-8"))


def paper_table(number: int) -> dict[str, Any]:
    return next(table for table in paper()["tables"] if table["table"] == number)


def paper_tables(plan: TablesPlan, totals: Totals) -> list[dict[str, Any]]:
    """All tables, each with title, columns, and rows of a name and cells of {"here", "paper"}.

    here: value, deviation, lower, upper, or None if it was not measured; paper: [value] or [value, deviation], or None.
    """
    hot = totals.of(1.0)
    by_number = {number: _of_data_sets(plan, hot, number, *of) for number, of in PAPER_SETTINGS.items()}
    by_number |= {2: _by_temperature(plan, totals), 4: _with_greedy(plan, hot)}
    rest = _averages(plan, hot), _everything(plan, totals), _same_blocks(plan, totals)
    return [*(by_number[number] for number in sorted(by_number)), *rest]


def _both(totals: Totals, drafter: int, gamma: int) -> list[Estimate | None]:
    """Token, block and improvement, of block efficiency and of speedup: the columns of Tables 1, 2 and 6 to 10."""
    found = []
    for of in (block_efficiency, speedup):
        found += [totals.estimate(of(Column(drafter, verifier, gamma))) for verifier in (TOKEN, BLOCK)]
        gain = totals.estimate(improvement(drafter, gamma, of))
        found.append(gain and gain.less_one_in_percent())
    return found


COLUMNS = [f"{of}: {column}" for of in (EFFICIENCY, SPEEDUP) for column in (TOKEN, BLOCK, BETTER)]


def _row(name: str, here: list[Estimate | None] | None, theirs: list[Any] | None) -> dict[str, Any]:
    width = len(here or theirs or [])
    cells = zip(here or [None] * width, theirs or [None] * width, strict=True)
    return {
        "name": name,
        "cells": [
            {"here": mine and mine._asdict(), "paper": his if his is None or isinstance(his, list) else [his]}
            for mine, his in cells
        ],
    }


def _table(label: str, title: str, first: str, columns: list[str], rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"label": label, "title": title, "first": first, "columns": columns, "rows": rows}


def _of_data_sets(plan: TablesPlan, hot: Totals, number: int, drafter: int, gamma: int) -> dict[str, Any]:
    given = paper_table(number)

    def theirs(row: dict[str, Any]) -> list[Any]:
        return [
            row[of][column]
            for of in ("block_efficiency", "wall_clock_speedup")
            for column in ("token", "block", "improvement_percent")
        ]

    in_paper = {name: theirs(row) for name, row in given["rows"].items()}
    rows = []
    for data in _data_sets(hot):
        here = _both(hot.of(1.0, data), drafter, gamma)
        if any(here):
            rows.append(_row(DATA_SET_NAMES.get(data, data), here, in_paper.pop(DATA_SET_NAMES.get(data, ""), None)))
    rows.append(_row(f"{ALL} / {AVERAGE}", _both(hot, drafter, gamma), theirs(given["average"])))
    rows += [_row(name, None, numbers) for name, numbers in in_paper.items()]
    title = f"gamma = {gamma}, T = 1, {_drafter(plan, drafter)}; paper: {given['target']} with {given['drafter']}"
    return _table(f"Table {number}", title, "data set", COLUMNS, rows)


def _by_temperature(plan: TablesPlan, totals: Totals) -> dict[str, Any]:
    given = paper_table(2)
    names = [f"{of}_{column}" for of in ("be", "ws") for column in ("token", "block", "improvement_percent")]
    rows = []
    for t in sorted({*plan.temperatures, *map(float, given["rows"])}):
        theirs = next((row for key, row in given["rows"].items() if float(key) == t), None)
        rows.append(_row(f"T = {t:g}", _both(totals.of(t), 0, 8), theirs and [theirs[name] for name in names]))
    title = f"gamma = 8, {_drafter(plan, 0)}; paper: {given['target']} with {given['drafter']} on {given['benchmark']}"
    return _table("Table 2", title, "temperature", COLUMNS, rows)


def _with_greedy(plan: TablesPlan, hot: Totals) -> dict[str, Any]:
    in_paper = dict(paper_table(4)["rows"])
    columns = [block_efficiency(Column(0, verifier, 8)) for verifier in (TOKEN, BLOCK, GREEDY)]
    rows = []
    for data in _data_sets(hot):
        here = [hot.of(1.0, data).estimate(column) for column in columns]
        if any(here):
            theirs = in_paper.pop(DATA_SET_NAMES.get(data, ""), None)
            rows.append(_row(DATA_SET_NAMES.get(data, data), here, theirs and list(theirs.values())))
    rows.append(_row(ALL, [hot.estimate(column) for column in columns], None))
    rows += [_row(name, None, list(numbers.values())) for name, numbers in in_paper.items()]
    title = f"block efficiency with greedy block verification, gamma = 8, T = 1, {_drafter(plan, 0)}"
    return _table("Table 4", f"{title}; paper: PaLM-2-S with PaLM-2-XXS", "data set", [TOKEN, BLOCK, GREEDY], rows)


def _averages(plan: TablesPlan, hot: Totals) -> dict[str, Any]:
    """Figure 4, which is a table."""
    given = paper()["figures"][0]
    rows = []
    for gamma in sorted({*plan.gammas, *map(int, given["rows"])} - {1}):
        for drafter in range(2):
            theirs = given["rows"].get(str(gamma), {}).get(PAPER_DRAFTERS[drafter])
            here = [
                hot.estimate(of(Column(drafter, verifier, gamma)))
                for verifier in (TOKEN, BLOCK)
                for of in (block_efficiency, speedup)
            ]
            if theirs or any(here):
                rows.append(_row(f"gamma = {gamma}, drafter {drafter + 1} / {PAPER_DRAFTERS[drafter]}", here, theirs))
    columns = [f"{verifier}: {of}" for verifier in (TOKEN, BLOCK) for of in (EFFICIENCY, SPEEDUP)]
    return _table("Figure 4", "over all prompts, T = 1; paper: averages over data sets", "setting", columns, rows)


def _everything(plan: TablesPlan, totals: Totals) -> dict[str, Any]:
    """Every setting that was measured, the paper's or not."""
    rows = []
    for t in plan.temperatures:
        for drafter in plan.drafters():
            for gamma in sorted({c.gamma for c in plan.columns(t) if c.gamma}):
                found = totals.of(t)
                here = [
                    found.estimate(of(Column(drafter, verifier, gamma)))
                    for of in (block_efficiency, speedup)
                    for verifier in plan.verifiers
                ]
                rows.append(_row(f"T = {t:g}, drafter {drafter + 1}, gamma = {gamma}", here, None))
    columns = [f"{of}: {verifier}" for of in (EFFICIENCY, SPEEDUP) for verifier in plan.verifiers]
    return _table("All settings", "whatever was measured, over all prompts", "setting", columns, rows)


def _same_blocks(plan: TablesPlan, totals: Totals) -> dict[str, Any]:
    """What both verifiers can expect of one and the same blocks: the noise between runs left out."""
    rows = []
    for t in plan.temperatures:
        found = totals.of(t)
        for drafter in plan.drafters():
            for gamma in sorted({1, *plan.gammas}):
                token, block = (block_efficiency(Column(drafter, name, gamma)) for name in (SAME_TOKEN, SAME_BLOCK))
                gain = found.estimate(quotient(block, token))
                here = [found.estimate(token), found.estimate(block), gain and gain.less_one_in_percent()]
                rows.append(_row(f"T = {t:g}, drafter {drafter + 1}, gamma = {gamma}", here, None))
    title = "expected tokens a call of the draft blocks of one run, each block given to both verifiers"
    return _table("Same blocks", title, "setting", [TOKEN, BLOCK, BETTER], rows)


def _data_sets(totals: Totals) -> list[str]:
    return sorted({found["data"] for found in totals.cells.values()})


def _drafter(plan: TablesPlan, drafter: int) -> str:
    return f"drafter {drafter + 1}" + (f" ({_last(plan.drafts[drafter])})" if drafter < len(plan.drafts) else " (none)")


def _last(name: str) -> str:
    return name.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]


def acceptance_lengths(plan: TablesPlan, totals: Totals) -> dict[str, Any]:
    """Figure 3: Pr(tau >= i). toy: on the paper's models of Eq. (2), exactly; measured: at T = 1, as it came out with the
    best drafter and the longest blocks."""
    problem = in_field(toy(FIGURE_3_GAMMA))
    exact = {
        name: [float(p) for p in acceptance_ccdf(output_law(problem, reference(name)), FIGURE_3_GAMMA)]
        for name in ("token", "block")
    }
    hot, gamma = totals.of(1.0), max(plan.gammas)
    measured = {
        name: hot.acceptance(column)
        for name in plan.verifiers
        if any((column := Column(0, name, gamma)) in columns for columns in hot.columns.values())
    }
    return {"toy": exact, "gamma": gamma, "measured": measured}


def improvements(plan: TablesPlan, totals: Totals) -> list[dict[str, Any]]:
    """Figure 5: by how many percent block verification is better than token verification, by gamma, at T = 1.

    here: estimates by gamma; paper: of the numbers of Figure 4, by gamma.
    """
    hot, theirs, lines = totals.of(1.0), paper()["figures"][0]["rows"], []
    for drafter, size in enumerate(PAPER_DRAFTERS):
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
