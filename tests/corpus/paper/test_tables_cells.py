"""Cells that no run of their plan writes are refused before they are judged, in one line that names the cell."""

from copy import deepcopy

import pytest

from draftproof.models.errors import InputError
from draftproof.tests.corpus.paper import tables_parts as parts
from draftproof_paper.tables.cells import require_planned
from draftproof_paper.tables.orderings import CellQuantities, Totals
from draftproof_paper.tables.plan import MeasurementCell
from draftproof_paper.tables.report import tables_report

PLAN = parts.planted_plan(prompts=3)
CELLS = parts.planted(PLAN)
ONE = MeasurementCell(1, 2, 1.0)


def refusal(cells):
    """What the report of these cells is refused with."""
    with pytest.raises(InputError) as raised:
        tables_report(PLAN, PLAN.as_json(), cells, len(CELLS))
    assert "\n" not in str(raised.value)
    return str(raised.value)


def column_of(measured, verifier, gamma):
    return next(c for c in measured["columns"] if (c["drafter"], c["verifier"], c["gamma"]) == (0, verifier, gamma))


def half_of_block(measured):
    measured["same_blocks"][1]["block"] = measured["same_blocks"][1]["block"][:10]


def half_of_a_row(measured):
    for name in ("token", "block"):
        measured["same_blocks"][1][name] = measured["same_blocks"][1][name][:10]


def rows_twice(measured):
    measured["same_blocks"] += measured["same_blocks"]


def row_missing(measured):
    del measured["same_blocks"][1]


def one_call(measured):
    column = column_of(measured, "token", 4)
    column["accepted"] = [column["accepted"][0][:1]]


def tokens_doubled(measured):
    column_of(measured, "block", 1)["tokens"] *= 2


def fewer_tokens_than_a_text_may_lack(measured):
    column = column_of(measured, "block", 1)
    column["tokens"] -= column["accepted"][0][-1] + 1


def plain_with_more_tokens_than_calls(measured):
    column_of(measured, "plain", 0)["tokens"] += 1


def column_twice(measured):
    measured["columns"].append(measured["columns"][0])


def column_missing(measured):
    measured["columns"].pop()


def prompt_in_two(measured):
    column = column_of(measured, "block", 4)
    (taus,) = column["accepted"]
    column["accepted"] = [taus[:10], taus[10:]]


def calls_missing(measured):
    del measured["columns"][2]["calls"]


def blocks_missing(measured):
    del measured["same_blocks"]


def nothing(measured):
    measured.clear()


def accepted_is_a_number(measured):
    measured["columns"][2]["accepted"] = 20


def foreign_column(measured):
    column_of(measured, "block", 4)["gamma"] = 5


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (half_of_block, "drafter 1, gamma 4: 10 blocks under block verification; expected 20, as in all rows of"),
        (half_of_a_row, "drafter 1, gamma 4: 10 blocks under token verification; expected 20, as in all rows of"),
        (rows_twice, "row of the same blocks 7 is drafter 1, gamma 1; expected no more"),
        (row_missing, "row of the same blocks 2 is drafter 1, gamma 8; expected drafter 1, gamma 4"),
        (one_call, "drafter 1, token, gamma 4: 1 accepted lengths; expected 20, one for each call"),
        (tokens_doubled, "drafter 1, block, gamma 1: 80 tokens; expected 39 to 40 of its calls and accepted lengths"),
        (fewer_tokens_than_a_text_may_lack, "drafter 1, block, gamma 1: 38 tokens; expected 39 to 40 of its calls"),
        (plain_with_more_tokens_than_calls, "drafter 1, plain, gamma 0: 65 tokens; expected 64 of its calls"),
        (column_twice, "column 19 is drafter 1, block, gamma 4; expected no more"),
        (column_missing, "column 18 is missing; expected drafter"),
        (foreign_column, "is drafter 1, block, gamma 5; expected drafter 1, block, gamma 4"),
        (prompt_in_two, "drafter 1, block, gamma 4: 2 prompts; expected 1, as in most columns of the cell"),
        (calls_missing, "columns[2]: the field 'calls' is missing"),
        (blocks_missing, "the field 'same_blocks' is missing"),
        (nothing, "the field 'data' is missing"),
        (accepted_is_a_number, "columns[2].accepted: expected array, got int"),
    ],
)
def test_a_cell_that_is_not_whole_is_refused(spoil, said):
    cells = deepcopy(CELLS)
    spoil(cells[ONE])
    message = refusal(cells)
    assert message.startswith("cell T = 1, seed 1, prompts 2: ") and said in message


@pytest.mark.parametrize(
    "key",
    [
        MeasurementCell(99, 0, 1.0), MeasurementCell(2, 0, 1.0), MeasurementCell(0, 3, 1.0),
        MeasurementCell(0, 0, 0.77), MeasurementCell(1, 0, 0.0),
    ],
)  # fmt: skip
def test_a_cell_that_is_not_in_the_plan_is_refused(key):
    known = "expected T of 0, 0.5, 1, seeds below 2 (0 alone at T = 0), prompts below 3"
    place = f"cell T = {key.temperature:g}, seed {key.seed}, prompts {key.group}"
    assert refusal({**CELLS, key: {}}) == f"{place}: is not in the plan; {known}"


def test_a_cell_that_is_copied_is_refused():
    copied = "cell T = 1, seed 1, prompts 2: holds the same as the cell T = 1, seed 0, prompts 2; expected its own"
    assert refusal({**CELLS, ONE: deepcopy(CELLS[MeasurementCell(0, 2, 1.0)])}).startswith(copied)


def test_cells_of_a_run_that_was_cut_short_and_texts_that_ended_within_their_last_call_are_judged():
    cells = deepcopy(CELLS)
    column = column_of(cells[ONE], "block", 1)
    column["tokens"] -= column["accepted"][0][-1]
    cells.pop(MeasurementCell(0, 0, 1.0))
    require_planned(PLAN, cells, len(CELLS))


def test_gains_of_blocks_that_are_not_as_many_are_no_differences():
    cells = deepcopy(CELLS)
    half_of_block(cells[ONE])
    with pytest.raises(ValueError, match="zip"):
        CellQuantities(PLAN, Totals(cells)).gain(0, 4, ONE)
    half_of_a_row(cells[ONE])
    with pytest.raises(ValueError, match="zip"):
        CellQuantities(PLAN, Totals(cells)).growth([0], 8, 4, ONE)
