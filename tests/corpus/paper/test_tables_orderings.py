"""Orderings, equalities, estimates: what is planted is found, in the right direction, and nothing else is."""

import json
from contextlib import closing

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.tests.corpus.paper import tables_parts as parts
from draftproof_paper.pages.page import markdown, page
from draftproof_paper.tables.measure import Record
from draftproof_paper.tables.orderings import (
    Totals,
    block_efficiency,
    improvement,
    orderings,
    planned_orderings,
    speedup,
)
from draftproof_paper.tables.plan import CELLS, PLAIN, Column, MeasurementCell
from draftproof_paper.tables.report import equalities, tables_report

SETTINGS = {"machine": "none", "torch": "2", "transformers": "5"}
COMPARED = ("block > token", "gain grows with gamma")


def verdicts(plan, cells):
    found = {}
    for one in orderings(plan, Totals(cells)):
        found.setdefault((one["statement"], one["measure"]), set()).add(one["verdict"])
    return found


def test_a_planted_gain_is_confirmed_and_the_same_gain_reversed_is_refuted():
    plan = parts.planted_plan()
    gaining, losing = (verdicts(plan, parts.planted(plan, gain)) for gain in (0.15, -0.15))
    for statement in COMPARED:
        assert gaining[statement, "same blocks"] == {"confirmed"}
        assert losing[statement, "same blocks"] == {"refuted"}
    assert gaining["block > token", "calls of two runs"] == {"confirmed"}
    assert losing["block > token", "calls of two runs"] == {"refuted"}
    assert gaining["the better drafter has more accepted", "same blocks"] == {"undecided"}


@pytest.mark.long
def test_where_nothing_is_planted_nothing_is_decided_and_the_smallest_difference_that_would_have_been_is_told():
    plan = parts.planted_plan(temperatures=(0.5, 1.0), prompts=10)
    decided = runs = 0
    for seed in range(40):
        for one in orderings(plan, Totals(parts.planted(plan, 0.0, seed))):
            if one["measure"] == "same blocks" and one["statement"] in COMPARED:
                assert (one["verdict"], one["mean"]) == ("undecided", 0)
            if one["statement"] == "block faster than token":
                runs += 1
                decided += one["verdict"] != "undecided"
                assert 0 < one["detectable"] <= 2
    assert runs == 40 * 5
    assert decided == 0  # ALPHA / 43 each


def test_a_plan_of_one_verifier_or_of_temperature_0_alone_has_no_order_between_verifiers():
    assert {o.statement for o in planned_orderings(parts.planted_plan(verifiers=("token",)), Totals({}))} == {
        "token faster than plain"
    }
    assert planned_orderings(parts.planted_plan(temperatures=(0.0,)), Totals({})) == []


def test_equal_texts_hold_and_one_that_differs_is_named():
    plan = parts.planted_plan(prompts=3)
    cells = parts.planted(plan)
    assert [one["verdict"] for one in equalities(plan, Totals(cells))] == ["holds"] * 5
    assert equalities(plan, Totals(cells))[0]["compared"] == 3 * 2 * 2
    spoiled = next(
        c for c in cells[MeasurementCell(0, 1, 0.0)]["columns"] if (c["verifier"], c["gamma"]) == ("block", 4)
    )
    spoiled["texts"] = "another"
    found = equalities(plan, Totals(cells))
    assert [one["verdict"] for one in found] == ["refuted", "holds", "holds", "holds", "differs"]
    where = f"T = 0, seed 0, prompts 1, drafter {spoiled['drafter'] + 1}: block (gamma 4) and token"
    assert (found[0]["differing"], found[0]["first"]) == (1, where)


def test_a_block_of_one_token_that_is_accepted_otherwise_refutes_gamma_1():
    plan = parts.planted_plan(prompts=3)
    cells = parts.planted(plan)
    one = next(o for o in cells[MeasurementCell(1, 2, 1.0)]["same_blocks"] if o["gamma"] == 1)
    one["block"][3] += 1e-9
    found = {e["statement"]: e for e in equalities(plan, Totals(cells))}
    row = found["no gain at gamma = 1: same expected acceptance of every block"]
    assert row["verdict"] == "refuted"
    assert row["first"] == f"T = 1, seed 1, prompts 2, drafter {one['drafter'] + 1}, gamma 1"
    assert {e["verdict"] for e in equalities(plan, Totals({}))} == {"not measured"}


def of_totals(rows):
    """Cells of one column and of plain decoding: (seed, group) -> tokens, calls, seconds, seconds of plain decoding."""
    column = Column(0, "block", 4)
    cells = {}
    for (seed, group), (tokens, calls, seconds, plain) in rows.items():
        mine = {**column._asdict(), "tokens": tokens, "calls": calls, "seconds": seconds, "accepted": [[0, 4, 4]]}
        theirs = {**Column(0, PLAIN, 0)._asdict(), "tokens": 10, "calls": 10, "seconds": plain, "accepted": []}
        cells[MeasurementCell(seed, group, 1.0)] = {"data": "d", "columns": [mine, theirs], "same_blocks": []}
    return Totals(cells), column


def test_estimates_are_ratios_of_totals_with_the_deviation_of_the_seeds():
    totals, column = of_totals({(0, 0): (30, 10, 1, 2), (1, 0): (50, 10, 1, 2)})
    found = totals.estimate(block_efficiency(column))
    assert found.value == pytest.approx(4)
    assert found.deviation == pytest.approx(np.std([3, 5], ddof=1))
    assert found.lower is None  # one prompt: nothing is known of others
    assert totals.estimate(speedup(column)).value == pytest.approx((4 / 20) / (2 / 80))
    assert totals.estimate(improvement(0, 4, block_efficiency)) is None  # token verification was not measured
    assert totals.acceptance(column) == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3, 2 / 3])


def test_intervals_hold_the_ratio_about_as_often_as_they_say():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        calls = rng.integers(10, 30, 20)
        rows = {(0, g): (int(n * 3 + rng.normal(0, 8)), int(n), 1, 2) for g, n in enumerate(calls)}
        totals, column = of_totals(rows)
        found = totals.estimate(block_efficiency(column))
        held += found.lower <= 3 <= found.upper
    assert 360 <= held <= 395  # 95 % of 400 are 380


def test_a_record_gives_back_its_cells_and_one_of_an_earlier_version_is_refused(tmp_path):
    plan = parts.planted_plan(prompts=1, seeds=1)
    cells = json.loads(json.dumps(list(parts.planted(plan).values())))
    (tmp_path / CELLS).write_text('{"format": "draftproof tables", "version": 1, "settings": {}}\n')
    with pytest.raises(InputError, match="no file of tables, or of a version before"):
        Record(tmp_path, plan.as_json())
    (tmp_path / CELLS).unlink()
    with closing(Record(tmp_path, plan.as_json())) as record:
        for cell, measured in zip(plan.cells(1), cells, strict=True):
            record.add(cell, measured)
    with closing(Record(tmp_path, plan.as_json())) as record:
        assert record.cells == dict(zip(plan.cells(1), cells, strict=True))


PATHS = {"verifiers": ("token", "block", "k-seq", "spec-infer"), "gammas": (8,), "batch": 8, "temperatures": (1.0,)}


def test_rules_for_several_paths_are_judged_as_in_table_5_and_stand_beside_its_numbers():
    plan = parts.planted_plan(**PATHS)
    cells = parts.planted(plan, -0.15)  # of block verification alone
    judged = verdicts(plan, cells)
    assert judged["spec-infer > block", "calls of two runs"] == {"confirmed"}
    assert judged["k-seq > spec-infer", "calls of two runs"] == {"undecided"}
    assert verdicts(plan, parts.planted(plan, 0.15))["k-seq > block", "calls of two runs"] == {"refuted"}
    assert {f"{fast} faster than {slow}" for fast in ("block", "token") for slow in ("k-seq", "spec-infer")} <= {
        statement for statement, _ in judged
    }
    report = tables_report(plan, plan.as_json() | SETTINGS, cells, len(cells))
    table = next(table for table in report["tables"] if table["label"] == "Table 5")
    assert len(table["columns"]) == 8 and "batches of 8, 2 draft paths" in table["title"]
    rows = {row["name"]: [cell["paper"] for cell in row["cells"]] for row in table["rows"]}
    assert rows["GPT Prompt"] == [[3.394], [3.715], [3.898], [3.833], [1.3], [1.381], [1.29], [1.263]]
    assert all(cell["here"]["value"] > 1 for row in table["rows"] if row["name"] == "one" for cell in row["cells"])
    shown = markdown(report)
    assert "## Table 5" in shown and "2 draft paths for k-seq and spec-infer" in shown and "needs about" in shown
    assert shown.count("the sign is a theorem (Theorem 2") == 1 and "what is new is the size" in shown
    averages = [row for row in report["orderings"] if "theorem" not in row]
    assert "is a theorem" not in markdown({**report, "orderings": averages})
    assert 'class="undecided"' in page(report)
