"""What cells must be before they are judged: those of their plan, each whole, no two of them the same."""

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from statistics import mode
from typing import Any

import msgspec

from draftproof.models.errors import InputError
from draftproof.models.json_files import convert
from draftproof_paper.tables.plan import PLAIN, MeasurementCell, TablesPlan


class ColumnForm(msgspec.Struct):
    """A column of a cell in its JSON form, as ``measure.Bench.cell`` has it."""

    drafter: int
    verifier: str
    gamma: int
    tokens: int
    calls: int
    seconds: float
    processor_seconds: float
    accepted: list[list[int]]
    texts: str


class SameBlocksForm(msgspec.Struct):
    """A row of ``measure.SameBlocks`` in its JSON form."""

    drafter: int
    gamma: int
    token: list[float]
    block: list[float]


class MeasuredForm(msgspec.Struct):
    """What a cell has measured, in its JSON form."""

    data: str
    columns: list[ColumnForm]
    same_blocks: list[SameBlocksForm]


def place(cell: MeasurementCell) -> str:
    """Return a cell's key in words."""
    return f"T = {cell.temperature:g}, seed {cell.seed}, prompts {cell.group}"


def require_planned(plan: TablesPlan, cells: Mapping[MeasurementCell, Mapping[str, Any]], planned: int) -> None:
    """Refuse cells that a run of the plan does not write.

    planned: how many cells the plan has; fewer may be there.
    Raises: InputError with the first such cell, what is wrong there, and what was expected.
    """
    groups = planned // len(list(plan.cells(1)))
    keys = set(plan.cells(groups))
    cell_of: dict[str, MeasurementCell] = {}
    for cell, measured in cells.items():
        if cell not in keys:
            temperatures = ", ".join(f"{t:g}" for t in plan.temperatures)
            known = f"T of {temperatures}, seeds below {plan.seeds} (0 alone at T = 0), prompts below {groups}"
            raise _refusal(cell, "is not in the plan", known)
        other = cell_of.setdefault(json.dumps(measured, sort_keys=True), cell)
        if other != cell:
            raise _refusal(cell, f"holds the same as the cell {place(other)}", "its own measurements")
        form = convert(MeasuredForm, measured, f"cell {place(cell)}")
        _require_columns(plan, cell, form.columns)
        _require_same_blocks(plan, cell, form.same_blocks)


def _require_columns(plan: TablesPlan, cell: MeasurementCell, columns: Sequence[ColumnForm]) -> None:
    names = [_column_name(*column) for column in plan.order(cell)]
    _require_same(cell, "column", names, [_column_name(c.drafter, c.verifier, c.gamma) for c in columns])
    decoded = mode([len(column.accepted) for column in columns if column.verifier != PLAIN] or [0])
    for where, column in zip(names, columns, strict=True):
        calls, tokens, prompts = column.calls, column.tokens, column.accepted
        least = most = calls
        if column.verifier != PLAIN:
            taus = [tau for prompt in prompts for tau in prompt]
            if len(taus) != calls:
                raise _refusal(cell, f"{where}: {len(taus)} accepted lengths", f"{calls}, one for each call")
            if len(prompts) != decoded:
                raise _refusal(cell, f"{where}: {len(prompts)} prompts", f"{decoded}, as in most columns of the cell")
            most = calls + sum(taus)
            least = most - sum(sum(prompt[-1:]) for prompt in prompts)  # a text may end within its last call's
        if not least <= tokens <= most:
            expected = f"{least}" if least == most else f"{least} to {most}"
            raise _refusal(cell, f"{where}: {tokens} tokens", f"{expected} of its calls and accepted lengths")


def _require_same_blocks(plan: TablesPlan, cell: MeasurementCell, rows: Sequence[SameBlocksForm]) -> None:
    names = [_row_name(drafter, gamma) for drafter in plan.drafters() for gamma in plan.block_gammas]
    _require_same(cell, "row of the same blocks", names, [_row_name(row.drafter, row.gamma) for row in rows])
    blocks: dict[int, int] = {}
    for where, row in zip(names, rows, strict=True):
        expected = blocks.setdefault(row.drafter, len(row.token))
        for name, found in (("token", row.token), ("block", row.block)):
            if len(found) != expected:
                what = f"{where}: {len(found)} blocks under {name} verification"
                raise _refusal(cell, what, f"{expected}, as in all rows of the drafter")


def _column_name(drafter: int, verifier: str, gamma: int) -> str:
    return f"drafter {drafter + 1}, {verifier}, gamma {gamma}"


def _row_name(drafter: int, gamma: int) -> str:
    return f"drafter {drafter + 1}, gamma {gamma}"


def _require_same(cell: MeasurementCell, what: str, expected: Sequence[str], found: Sequence[str]) -> None:
    """Refuse names other than the expected ones, each once, in the order in which a run writes them."""
    for number, (planned, given) in enumerate(zip_longest(expected, found, fillvalue="missing"), 1):
        if planned != given:
            raise _refusal(cell, f"{what} {number} is {given}", "no more" if planned == "missing" else planned)


def _refusal(cell: MeasurementCell, what: str, expected: str) -> InputError:
    return InputError(f"cell {place(cell)}: {what}; expected {expected}")
