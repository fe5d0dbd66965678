"""What a terminal shows: tables that do not wrap, however narrow it is."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import draftproof
from draftproof.reports.pages.terminal import LINES, plain_table, show, show_table
from draftproof.tests.reports.golden import golden_report

COLUMNS = ("claim", "numbers", "verdict", "how", "worst")
ROWS = (("lossless", "float64", "[red]refuted[/]", "exact on the lattice", "TV 0.25"),
        ("support", "float64", "[green]holds[/]", "exact on the lattice", ""))  # fmt: skip


def printed(width: int) -> list[str]:
    table = plain_table(*COLUMNS)
    for row in ROWS:
        table.add_row(*row)
    console = Console(width=width, file=io.StringIO())
    show_table(table, console)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # pyright: ignore[reportAttributeAccessIssue]


def test_a_table_that_fits_is_a_table():
    assert printed(80) == [
        "claim     numbers  verdict  how                   worst",
        "lossless  float64  refuted  exact on the lattice  TV 0.25",
        "support   float64  holds    exact on the lattice",
    ]


@pytest.mark.parametrize("width", [30, 50])
def test_in_a_narrow_terminal_the_last_columns_stand_below_their_row_and_no_cell_is_broken(width):
    lines = printed(width)
    assert all(len(line) <= width for line in lines)
    assert lines[0].split() == [*COLUMNS[: {30: 3, 50: 4}[width]]]
    below = {30: "    how exact on the lattice,", 50: "    worst TV 0.25"}[width]
    assert lines[1].startswith("lossless  float64  refuted") and lines[2] == below
    cells = [cell for row in ROWS for cell in row[3:] if cell]
    assert [cell for cell in cells if "\n".join(lines).count(cell) == 0] == []


def test_a_cell_that_is_wider_than_the_terminal_loses_nothing():
    assert "lossless" in "".join(printed(6)) and "refuted" in "".join(printed(10))


def test_on_a_terminal_of_80_columns_long_lines_stand_beside_their_label_and_in_a_file_they_are_whole():
    report, texts = golden_report("token"), {}
    for terminal in (True, False):
        console = Console(width=80, file=io.StringIO(), force_terminal=terminal, color_system=None)
        show(report, console)
        texts[terminal] = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    shown = texts[True].partition("speaks of")[2].splitlines()
    assert all(len(line) <= 80 for line in shown if LINES not in line)
    assert shown[1].startswith(" " * 12) and "\n".join(shown).count("not examined") == 1
    assert re.sub(r"\s+", " ", "".join(texts[True])) == re.sub(r"\s+", " ", texts[False])
    assert all(f"  {sentence}\n" in texts[False] for sentence in report.not_examined)


def test_a_report_says_where_its_lines_are_explained():
    root = Path(draftproof.__file__).parent
    home = re.search(r'Homepage = "(.+)"', (root / "pyproject.toml").read_text())[1]
    page, _, anchor = LINES.removeprefix(f"{home}/blob/main/").partition("#")
    assert f"## {anchor.replace('-', ' ')}\n" in (root / page).read_text().lower()


def test_of_what_could_not_be_audited_the_reason_is_all_that_is_said():
    console = Console(width=200, file=io.StringIO())
    show(golden_report("broken"), console)
    failure, verdict = console.file.getvalue().strip().splitlines()[1:]  # pyright: ignore[reportAttributeAccessIssue]
    assert failure.startswith("failure     ") and "cannot be imported (ZeroDivisionError" in failure
    assert verdict == "verdict     error"
