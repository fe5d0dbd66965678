"""The report of the tables in its JSON form, from the cells, with what must be equal at T = 0 and at gamma = 1."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from draftproof.models.store import stored
from draftproof_paper.tables.cells import place, require_planned
from draftproof_paper.tables.orderings import CONFIDENCE_LEVEL, ORDERINGS_ALPHA, Totals, orderings
from draftproof_paper.tables.paper_comparison import acceptance_lengths, improvements, paper, paper_tables
from draftproof_paper.tables.plan import CELLS, CELLS_HOLD, PLAIN, Column, MeasurementCell, TablesPlan

HOLDS, REFUTED, DIFFERS, NOT_MEASURED = "holds", "refuted", "differs", "not measured"

ColumnPair = tuple[Column, Column]


def equalities(plan: TablesPlan, totals: Totals) -> list[dict[str, Any]]:
    """Return each statement with how many comparisons were made and how many differ; the first that differs is named.

    "holds" says that all of these comparisons were equal, and nothing about others.
    """
    cold = [cell for cell in totals.cells if cell.temperature == 0]
    rows = []
    if plan.token_and_block and 0.0 in plan.temperatures:
        pairs = [(cell, _block_and_token(d, g)) for cell in cold for d in plan.drafters() for g in plan.gammas]
        rows.append(_compare_runs("no gain at T = 0: same texts, same number of calls", totals, pairs))
        statement = "no gain at T = 0: same expected acceptance of every block"
        rows.append(_compare_blocks(statement, totals, cold, plan.gammas))
    if plan.token_and_block:
        pairs = [(cell, _block_and_token(d, 1)) for cell in totals.cells for d in plan.drafters()]
        pairs = [(cell, pair) for cell, pair in pairs if pair[0] in totals.columns[cell]]
        rows.append(_compare_runs("no gain at gamma = 1: same texts, same number of calls", totals, pairs))
        statement = "no gain at gamma = 1: same expected acceptance of every block"
        rows.append(_compare_blocks(statement, totals, totals.cells, (1,)))
    if 0.0 in plan.temperatures:
        columns = [column for column in plan.columns(0.0) if column.verifier != PLAIN]
        pairs = [(cell, (column, Column(column.drafter, PLAIN, 0))) for cell in cold for column in columns]
        row = _compare_runs("at T = 0 every text is that of plain decoding", totals, pairs, ("texts",))
        if row["verdict"] == REFUTED:  # a pass over a block rounds otherwise than one over a token: near-ties may turn
            row["verdict"] = DIFFERS
            row["first"] += "; rounding may turn a near-tie: draftproof e2e --temperature 0 shows whether that is all"
        rows.append(row)
    return rows


def _block_and_token(drafter: int, gamma: int) -> ColumnPair:
    return Column(drafter, "block", gamma), Column(drafter, "token", gamma)


def _place(cell: MeasurementCell, drafter: int) -> str:
    return f"{place(cell)}, drafter {drafter + 1}"


def _compare_runs(
    statement: str, totals: Totals, pairs: Iterable[tuple[MeasurementCell, ColumnPair]],
    fields: tuple[str, ...] = ("texts", "calls"),
) -> dict[str, Any]:  # fmt: skip
    compared, differing = 0, []
    for cell, (one, other) in pairs:
        columns = totals.columns[cell]
        compared += 1
        if any(columns[one][field] != columns[other][field] for field in fields):
            differing.append(f"{_place(cell, one.drafter)}: {one.verifier} (gamma {one.gamma}) and {other.verifier}")
    return _row(statement, "texts", compared, differing)


def _compare_blocks(
    statement: str, totals: Totals, cells: Iterable[MeasurementCell], gammas: tuple[int, ...]
) -> dict[str, Any]:
    compared, differing = 0, []
    for cell in cells:
        for blocks in totals.cells[cell]["same_blocks"]:
            if blocks["gamma"] in gammas:
                compared += len(blocks["block"])
                if blocks["token"] != blocks["block"]:
                    differing.append(f"{_place(cell, blocks['drafter'])}, gamma {blocks['gamma']}")
    return _row(statement, "blocks", compared, differing)


def _row(statement: str, unit: str, compared: int, differing: list[str]) -> dict[str, Any]:
    return {
        "statement": statement, "unit": unit, "compared": compared, "differing": len(differing),
        "first": differing[0] if differing else None,
        "verdict": NOT_MEASURED if not compared else REFUTED if differing else HOLDS,
    }  # fmt: skip


SCHEMA_VERSION = "1.0"


def tables_report(
    plan: TablesPlan, settings: Mapping[str, Any], cells: Mapping[MeasurementCell, Mapping[str, Any]], planned: int
) -> dict[str, Any]:
    """Everything that the page shows. planned: how many cells the plan has; fewer are there if a run was cut short.

    Raises: InputError as ``require_planned``.
    """
    require_planned(plan, cells, planned)
    totals = Totals(cells)
    return {
        "schema_version": SCHEMA_VERSION, "settings": dict(settings), "cells": {"measured": len(cells), "of": planned},
        "level": CONFIDENCE_LEVEL, "alpha": ORDERINGS_ALPHA, "paper": paper()["source"],
        "tables": paper_tables(plan, totals),
        "figures": {"3": acceptance_lengths(plan, totals), "5": improvements(plan, totals)},
        "orderings": orderings(plan, totals), "equalities": equalities(plan, totals),
    }  # fmt: skip


def judged_again(folder: Path, planned: int) -> dict[str, Any]:
    """Return the report of a run from its cells alone, without models. planned: how many cells the plan has.

    Raises: InputError as ``require_planned``.
    """
    settings, rows = stored(folder / CELLS, CELLS_HOLD)
    cells = {MeasurementCell(*row.key): row.row for row in rows}
    return tables_report(TablesPlan.from_json(settings), settings, cells, planned)
