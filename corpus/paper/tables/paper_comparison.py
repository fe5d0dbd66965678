"""The paper's tables and figures with the measured numbers beside the paper's: numbers, not yet text."""

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from draftproof.models.battery import toy
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import acceptance_ccdf, output_law
from draftproof.verifiers.registry import reference
from draftproof_paper.tables.orderings import (
    SAME_BLOCK,
    SAME_TOKEN,
    Estimate,
    Totals,
    block_efficiency,
    improvement,
    quotient,
    speedup,
)
from draftproof_paper.tables.plan import PATH_VERIFIERS, VERIFIERS, Column, TablesPlan

DATA_SET_NAMES = {
    "lm1b": "LM1B", "gpt-prompts": "GPT Prompt", "webqa": "Web QA", "piqa": "PIQA", "sharegpt": "Share GPT",
    "xsum": "XSum", "gsm8k": "GSM8K", "wmt-deen": "WMT-De En",
}  # fmt: skip
"""Our names of the paper's data sets, and the paper's."""

ALL_PROMPTS, AVERAGE = "all prompts", "average"
EFFICIENCY, SPEEDUP, IMPROVEMENT = "block efficiency", "wall clock speedup", "improvement in %"
TOKEN, BLOCK, GREEDY = "token", "block", "greedy-block"
K_SEQ, SPEC_INFER = PATH_VERIFIERS
COLUMNS = [f"{quantity}: {column}" for quantity in (EFFICIENCY, SPEEDUP) for column in (TOKEN, BLOCK, IMPROVEMENT)]

PAPER_SETTINGS = {1: (0, 8), 6: (0, 4), 7: (0, 6), 8: (1, 4), 9: (1, 6), 10: (1, 8)}
"""Number of a table -> drafter and gamma. Our first drafter corresponds to the paper's XXS, our second to its XXXS."""

PAPER_DRAFTERS = "XXS", "XXXS"

FIGURE_3_GAMMA = 10

Table = dict[str, Any]


@cache
def paper() -> dict[str, Any]:
    """Return the numbers of Sun et al. 2025, as published."""
    return json.loads(files("draftproof_paper.tables").joinpath("paper.json").read_text(encoding="utf-8"))


def paper_table(number: int) -> Table:
    return next(table for table in paper()["tables"] if table["table"] == number)


def paper_tables(plan: TablesPlan, totals: Totals) -> list[Table]:
    """Return all tables, each with title, columns, and rows of a name and cells of {"here", "paper"}.

    here: value, deviation, lower, upper; None if it was not measured
    paper: [value] or [value, deviation]; None if the paper has no number
    """
    at_1 = totals.select(1.0)
    by_number = {number: _by_data_set(plan, at_1, number, *setting) for number, setting in PAPER_SETTINGS.items()}
    by_number |= {2: _by_temperature(plan, totals), 4: _with_greedy(plan, at_1)}
    if plan.path_verifiers:
        by_number[5] = _with_several_paths(plan, at_1)
    rest = _averages(plan, at_1), _all_settings(plan, totals), _same_blocks(plan, totals)
    return [*(by_number[number] for number in sorted(by_number)), *rest]


def _token_block_improvement(totals: Totals, drafter: int, gamma: int) -> list[Estimate | None]:
    """COLUMNS, of Tables 1, 2 and 6 to 10."""
    estimates = []
    for quantity in (block_efficiency, speedup):
        estimates += [totals.estimate(quantity(Column(drafter, verifier, gamma))) for verifier in (TOKEN, BLOCK)]
        gain = totals.estimate(improvement(drafter, gamma, quantity))
        estimates.append(gain and gain.improvement_percent())
    return estimates


def _row(name: str, here: list[Estimate | None] | None, published: list[Any] | None) -> dict[str, Any]:
    width = len(here or published or [])
    cells = [
        {"here": ours and ours._asdict(), "paper": its if its is None or isinstance(its, list) else [its]}
        for ours, its in zip(here or [None] * width, published or [None] * width, strict=True)
    ]
    return {"name": name, "cells": cells}


def _table(label: str, title: str, first: str, columns: list[str], rows: list[dict[str, Any]]) -> Table:
    return {"label": label, "title": title, "first": first, "columns": columns, "rows": rows}


def _data_set_rows(
    totals: Totals, estimates: Callable[[Totals], list[Estimate | None]], in_paper: dict[str, list[Any]],
    overall: str, average: list[Any] | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """A row for each data set that was measured, for all prompts together, and for each that only the paper has."""
    rows = []
    for data in sorted({measured["data"] for measured in totals.cells.values()}):
        here = estimates(totals.select(1.0, data))
        if any(here):
            name = DATA_SET_NAMES.get(data, "")
            rows.append(_row(name or data, here, in_paper.pop(name, None)))
    rows.append(_row(overall, estimates(totals), average))
    return rows + [_row(name, None, numbers) for name, numbers in in_paper.items()]


def _by_data_set(plan: TablesPlan, at_1: Totals, number: int, drafter: int, gamma: int) -> Table:
    published = paper_table(number)

    def numbers(row: dict[str, Any]) -> list[Any]:
        columns = "token", "block", "improvement_percent"
        return [row[quantity][c] for quantity in ("block_efficiency", "wall_clock_speedup") for c in columns]

    in_paper = {name: numbers(row) for name, row in published["rows"].items()}
    rows = _data_set_rows(
        at_1, lambda t: _token_block_improvement(t, drafter, gamma), in_paper, f"{ALL_PROMPTS} / {AVERAGE}",
        numbers(published["average"]),
    )  # fmt: skip
    models = f"{published['target']} with {published['drafter']}"
    title = f"gamma = {gamma}, T = 1, {_drafter(plan, drafter)}; paper: {models}"
    return _table(f"Table {number}", title, "data set", COLUMNS, rows)


def _by_temperature(plan: TablesPlan, totals: Totals) -> Table:
    published = paper_table(2)
    names = [
        f"{quantity}_{column}" for quantity in ("be", "ws") for column in ("token", "block", "improvement_percent")
    ]
    in_paper = {float(key): [row[name] for name in names] for key, row in published["rows"].items()}
    rows = [
        _row(f"T = {t:g}", _token_block_improvement(totals.select(t), 0, 8), in_paper.get(t))
        for t in sorted({*plan.temperatures, *in_paper})
    ]
    models = f"{published['target']} with {published['drafter']} on {published['benchmark']}"
    return _table("Table 2", f"gamma = 8, {_drafter(plan, 0)}; paper: {models}", "temperature", COLUMNS, rows)


def _with_greedy(plan: TablesPlan, at_1: Totals) -> Table:
    in_paper = {name: list(row.values()) for name, row in paper_table(4)["rows"].items()}
    columns = [block_efficiency(Column(0, verifier, 8)) for verifier in (TOKEN, BLOCK, GREEDY)]
    rows = _data_set_rows(at_1, lambda t: [t.estimate(column) for column in columns], in_paper, ALL_PROMPTS, None)
    title = f"block efficiency with greedy block verification, gamma = 8, T = 1, {_drafter(plan, 0)}"
    return _table("Table 4", f"{title}; paper: PaLM-2-S with PaLM-2-XXS", "data set", [TOKEN, BLOCK, GREEDY], rows)


def _with_several_paths(plan: TablesPlan, at_1: Totals) -> Table:
    columns = (TOKEN, BLOCK, K_SEQ, SPEC_INFER)
    in_paper = {
        name: [number for quantity in ("block_efficiency", "wall_clock_speedup") for number in row[quantity].values()]
        for name, row in paper_table(5)["rows"].items()
    }
    quantities = [quantity(Column(0, name, 8)) for quantity in (block_efficiency, speedup) for name in columns]
    rows = _data_set_rows(at_1, lambda t: [t.estimate(one) for one in quantities], in_paper, ALL_PROMPTS, None)
    here = f"gamma = 8, T = 1, batches of {plan.batch}, {plan.paths} draft paths for {K_SEQ} and {SPEC_INFER}"
    title = f"{here}, {_drafter(plan, 0)}; paper: batches of 8, 2 draft paths, PaLM-2-S with PaLM-2-XXS"
    names = [f"{quantity}: {name}" for quantity in (EFFICIENCY, SPEEDUP) for name in columns]
    return _table("Table 5", title, "data set", names, rows)


def _averages(plan: TablesPlan, at_1: Totals) -> Table:
    """Figure 4, which is a table."""
    published = paper()["figures"][0]["rows"]
    rows = []
    for gamma in sorted({*plan.gammas, *map(int, published)} - {1}):
        for drafter, name in enumerate(PAPER_DRAFTERS):
            in_paper = published.get(str(gamma), {}).get(name)
            ways = [Column(drafter, verifier, gamma) for verifier in (TOKEN, BLOCK)]
            here = [at_1.estimate(quantity(way)) for way in ways for quantity in (block_efficiency, speedup)]
            if in_paper or any(here):
                rows.append(_row(f"gamma = {gamma}, drafter {drafter + 1} / {name}", here, in_paper))
    columns = [f"{verifier}: {quantity}" for verifier in (TOKEN, BLOCK) for quantity in (EFFICIENCY, SPEEDUP)]
    return _table("Figure 4", "over all prompts, T = 1; paper: averages over data sets", "setting", columns, rows)


def _all_settings(plan: TablesPlan, totals: Totals) -> Table:
    """Return every setting that was measured, whether the paper has it or not."""
    rows = []
    for t in plan.temperatures:
        at_t = totals.select(t)
        for drafter in plan.drafters():
            for gamma in sorted({c.gamma for c in plan.columns(t) if c.gamma}):
                ways = [Column(drafter, verifier, gamma) for verifier in plan.verifiers]
                here = [at_t.estimate(quantity(way)) for quantity in (block_efficiency, speedup) for way in ways]
                rows.append(_row(f"T = {t:g}, drafter {drafter + 1}, gamma = {gamma}", here, None))
    columns = [f"{quantity}: {verifier}" for quantity in (EFFICIENCY, SPEEDUP) for verifier in plan.verifiers]
    return _table("All settings", "everything that was measured, over all prompts", "setting", columns, rows)


def _same_blocks(plan: TablesPlan, totals: Totals) -> Table:
    """Return the expectations of both verifiers for the same blocks, without the noise between runs."""
    rows = []
    for t in plan.temperatures:
        at_t = totals.select(t)
        for drafter in plan.drafters():
            for gamma in plan.block_gammas:
                token, block = (block_efficiency(Column(drafter, name, gamma)) for name in (SAME_TOKEN, SAME_BLOCK))
                gain = at_t.estimate(quotient(block, token))
                here = [at_t.estimate(token), at_t.estimate(block), gain and gain.improvement_percent()]
                rows.append(_row(f"T = {t:g}, drafter {drafter + 1}, gamma = {gamma}", here, None))
    title = "expected tokens a call of the draft blocks of one run, each block given to both verifiers"
    return _table("Same blocks", title, "setting", [TOKEN, BLOCK, IMPROVEMENT], rows)


def _drafter(plan: TablesPlan, drafter: int) -> str:
    if drafter >= len(plan.drafts):
        return f"drafter {drafter + 1} (none)"
    name = plan.drafts[drafter].rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
    return f"drafter {drafter + 1} ({name})"


def acceptance_lengths(plan: TablesPlan, totals: Totals) -> dict[str, Any]:
    """Figure 3: Pr(tau >= i).

    toy: on the paper's models of Eq. (2), exactly
    measured: the observed frequencies at T = 1 with the best drafter and the longest blocks, of length ``gamma``
    """
    problem = in_field(toy(FIGURE_3_GAMMA))
    exact = {
        name: [float(p) for p in acceptance_ccdf(output_law(problem, reference(name)), FIGURE_3_GAMMA)]
        for name in ("token", "block")
    }
    at_1, gamma = totals.select(1.0), max(plan.gammas)
    measured = {
        name: at_1.acceptance(column)
        for name in plan.verifiers
        if name in VERIFIERS and any((column := Column(0, name, gamma)) in columns for columns in at_1.columns.values())
    }
    return {"toy": exact, "gamma": gamma, "measured": measured}


def improvements(plan: TablesPlan, totals: Totals) -> list[dict[str, Any]]:
    """Figure 5: by how many percent block verification is better than token verification at T = 1.

    of: BE (block efficiency) or WS (wall clock speedup)
    here: estimates by gamma
    paper: from the numbers of its Figure 4, by gamma
    """
    at_1, published, lines = totals.select(1.0), paper()["figures"][0]["rows"], []
    for drafter, name in enumerate(PAPER_DRAFTERS):
        for at, (short, quantity) in enumerate((("BE", block_efficiency), ("WS", speedup))):
            here = {gamma: at_1.estimate(improvement(drafter, gamma, quantity)) for gamma in plan.gammas}
            better = {str(g): e.improvement_percent()._asdict() for g, e in here.items() if e}
            in_paper = {g: 100 * (row[name][2 + at] / row[name][at] - 1) for g, row in published.items()}
            lines.append({"of": short, "drafter": drafter, "here": better, "paper": in_paper})
    return lines
