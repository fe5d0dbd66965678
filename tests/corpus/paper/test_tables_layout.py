"""The paper's numbers are those of the paper, and stand beside the right ones of ours; the page and the Markdown."""

import json
import re
from statistics import mean

import pytest

from draftproof.tests.corpus.paper import tables_parts as parts
from draftproof.tests.reports.pages.test_page import EVIL, Sources
from draftproof_paper.pages.page import markdown, page
from draftproof_paper.tables.orderings import Totals
from draftproof_paper.tables.paper_comparison import PAPER_DRAFTERS, PAPER_SETTINGS, paper, paper_table, paper_tables
from draftproof_paper.tables.report import tables_report

MACHINE = {"machine": "a machine", "torch": "2", "transformers": "5"}


@pytest.fixture(scope="module")
def report():
    """Of a plan that measured a data set of the paper's, and one whose name is markup."""
    plan = parts.planted_plan(prompts=4)
    cells = parts.planted(plan, data=("lm1b", EVIL))
    return tables_report(plan, {**plan.as_json(), **MACHINE}, cells, len(cells) + 1)


def test_the_papers_averages_are_those_of_its_rows_and_of_its_figure_4():
    for number, (drafter, gamma) in PAPER_SETTINGS.items():
        given = paper_table(number)
        assert given["gamma"] == gamma
        assert given["drafter"].endswith(f"-{PAPER_DRAFTERS[drafter]}")
        figure = paper()["figures"][0]["rows"][str(gamma)][PAPER_DRAFTERS[drafter]]
        stated = [
            given["average"][of][v] for v in ("token", "block") for of in ("block_efficiency", "wall_clock_speedup")
        ]
        assert stated == figure
        for of, columns in given["average"].items():
            for column, value in columns.items():
                assert mean(row[of][column][0] for row in given["rows"].values()) == pytest.approx(value, abs=0.0101)


def row_of(report, label, name):
    table = next(table for table in report["tables"] if table["label"] == label)
    return next(row for row in table["rows"] if row["name"] == name)["cells"]


def test_a_data_set_of_the_paper_has_the_papers_numbers_beside_ours_and_others_have_not(report):
    first = row_of(report, "Table 1", "LM1B")
    assert [cell["paper"] for cell in first] == [
        [3.21, 0.01], [3.49, 0.02], [8.68, 0.79], [2.17, 0.01], [2.32, 0.01], [6.85, 0.74],
    ]  # fmt: skip
    assert all(cell["here"] for cell in first)
    token, block, gain = (cell["here"]["value"] for cell in first[:3])
    assert gain == pytest.approx(100 * (block / token - 1))
    assert [cell["paper"] for cell in row_of(report, "Table 1", EVIL)] == [None] * 6
    assert [cell["here"] for cell in row_of(report, "Table 1", "GSM8K")] == [None] * 6
    assert [c["paper"] for c in row_of(report, "Table 4", "LM1B")] == [[3.21], [3.49], [3.30]]
    assert row_of(report, "Table 2", "T = 1")[0]["paper"] == [2.79]
    assert row_of(report, "Table 2", "T = 0")[0]["paper"] is None


def test_columns_are_those_of_their_drafter_gamma_and_temperature():
    plan = parts.planted_plan(prompts=2, seeds=1)
    cells = parts.planted(plan)
    for cell, found in cells.items():
        for column in found["columns"]:
            at = {"token": 1, "block": 2, "greedy-block": 3}.get(column["verifier"], 0)
            value = 1000 * cell.temperature + 100 * column["drafter"] + 10 * column["gamma"] + at
            value = value or 1  # plain decoding at T = 0, whose tokens no ratio may be without
            column["tokens"], column["calls"] = value, 1
    found = {"tables": paper_tables(plan, Totals(cells))}
    for label, rows in {
        "Table 1": {"all prompts / average": (1081, 1082)},
        "Table 2": {"T = 1": (1081, 1082), "T = 0": (81, 82)},
        "Table 4": {"all prompts": (1081, 1082, 1083)},
        "Table 8": {"all prompts / average": (1141, 1142)},
        "All settings": {"T = 0.5, drafter 2, gamma = 4": (641, 642, 643)},
    }.items():
        for name, values in rows.items():
            cells_of = row_of(found, label, name)
            assert [cells_of[k]["here"]["value"] for k in range(len(values))] == pytest.approx(values)
    beside = row_of(found, "Figure 4", "gamma = 8, drafter 2 / XXXS")
    assert [beside[0]["here"]["value"], beside[2]["here"]["value"]] == pytest.approx([1181, 1182])
    assert row_of(found, "Table 7", "all prompts / average")[0]["here"] is None  # gamma 6 was not measured


def test_the_page_is_self_contained_escaped_and_the_same_for_the_same_report(report):
    html = page(report)
    found = Sources()
    found.feed(html)
    assert (found.loads, found.scripts) == ([], 0)
    assert EVIL not in html
    assert "&lt;script&gt;" in html
    assert html.count("<svg") == 2
    assert "the run was cut short" in html
    assert page(json.loads(json.dumps(report))) == html


def test_the_markdown_has_every_table_and_no_cell_breaks_its_row(report):
    given = json.loads(json.dumps(report).replace("one", "o|n`e"))
    text = markdown(given)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 60
    for row in rows:
        assert row.endswith(" |")
        assert "`" not in row.replace("\\`", "")
    assert text.count("## ") == len(report["tables"]) + 2
    width = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert width <= {5, 6, 7, 8}
    assert EVIL not in text
