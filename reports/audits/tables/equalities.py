"""What must be equal, text by text and block by block: token and block verification at T = 0 and at gamma = 1."""

from collections.abc import Iterable
from typing import Any

from .estimates import Totals
from .plan import PLAIN, Column, MeasurementCell, TablesPlan

HOLDS, REFUTED, DIFFERS, NOT_MEASURED = "holds", "refuted", "differs", "not measured"


def equalities(plan: TablesPlan, totals: Totals) -> list[dict[str, Any]]:
    """Each statement with how many comparisons it was held against and how many failed; the first that did is named.

    "holds" says that all of these comparisons were equal, and nothing of others.
    """
    cold = [cell for cell in totals.cells if cell.temperature == 0]
    both = {"token", "block"} <= set(plan.verifiers)
    listed = []
    if both and 0.0 in plan.temperatures:
        pairs = [(cell, _pair(d, g)) for cell in cold for d in plan.drafters() for g in plan.gammas]
        listed.append(_row("no gain at T = 0: same texts, same number of calls", totals, pairs, ("texts", "calls")))
        listed.append(_expected("no gain at T = 0: same expected acceptance of every block", totals, cold, plan.gammas))
    if both:
        pairs = [(cell, _pair(d, 1)) for cell in totals.cells for d in plan.drafters()]
        pairs = [(cell, pair) for cell, pair in pairs if pair[0] in totals.columns[cell]]
        listed.append(_row("no gain at gamma = 1: same texts, same number of calls", totals, pairs, ("texts", "calls")))
        listed.append(
            _expected("no gain at gamma = 1: same expected acceptance of every block", totals, totals.cells, (1,))
        )
    if 0.0 in plan.temperatures:
        pairs = [
            (cell, (column, Column(column.drafter, PLAIN, 0)))
            for cell in cold
            for column in plan.columns(0.0)
            if column.verifier != PLAIN
        ]
        row = _row("at T = 0 every text is that of plain decoding", totals, pairs, ("texts",))
        if row["verdict"] == REFUTED:  # a pass over a block rounds otherwise than one over a token: near-ties may turn
            row["verdict"] = DIFFERS
            row["first"] += (
                "; rounding may turn a near-tie, and draftproof e2e --temperature 0 says whether that is all"
            )
        listed.append(row)
    return listed


def _pair(drafter: int, gamma: int) -> tuple[Column, Column]:
    return Column(drafter, "block", gamma), Column(drafter, "token", gamma)


def _row(
    statement: str,
    totals: Totals,
    pairs: Iterable[tuple[MeasurementCell, tuple[Column, Column]]],
    fields: tuple[str, ...],
) -> dict[str, Any]:
    compared, differing = 0, []
    for cell, (one, other) in pairs:
        found = totals.columns[cell]
        compared += 1
        if any(found[one][field] != found[other][field] for field in fields):
            differing.append(
                f"T = {cell.temperature:g}, seed {cell.seed}, prompts {cell.group}, drafter {one.drafter + 1}: "
                f"{one.verifier} (gamma {one.gamma}) and {other.verifier}"
            )
    return _told(statement, "texts", compared, differing)


def _expected(
    statement: str, totals: Totals, cells: Iterable[MeasurementCell], gammas: tuple[int, ...]
) -> dict[str, Any]:
    compared, differing = 0, []
    for cell in cells:
        for one in totals.cells[cell]["on_the_same"]:
            if one["gamma"] in gammas:
                compared += len(one["block"])
                if one["token"] != one["block"]:
                    differing.append(
                        f"T = {cell.temperature:g}, seed {cell.seed}, prompts {cell.group}, drafter {one['drafter'] + 1}, "
                        f"gamma {one['gamma']}"
                    )
    return _told(statement, "blocks", compared, differing)


def _told(statement: str, unit: str, compared: int, differing: list[str]) -> dict[str, Any]:
    verdict = NOT_MEASURED if not compared else REFUTED if differing else HOLDS
    return {
        "statement": statement,
        "unit": unit,
        "compared": compared,
        "differing": len(differing),
        "first": differing[0] if differing else None,
        "verdict": verdict,
    }
