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


def shown(width: int, show, **options) -> str:
    """What a console of some width is given."""
    file = io.StringIO()
    show(Console(width=width, file=file, **options))
    return file.getvalue()


def printed(width: int) -> list[str]:
    table = plain_table(*COLUMNS)
    for row in ROWS:
        table.add_row(*row)
    return [line.rstrip() for line in shown(width, lambda console: show_table(table, console)).splitlines()]


def test_a_table_that_fits_is_a_table():
    assert printed(80) == [
        "claim     numbers  verdict  how                   worst",
        "lossless  float64  refuted  exact on the lattice  TV 0.25",
        "support   float64  holds    exact on the lattice",
    ]


@pytest.mark.parametrize(
    ("width", "columns", "below"), [(30, 3, "    how exact on the lattice,"), (50, 4, "    worst TV 0.25")]
)
def test_in_a_narrow_terminal_the_last_columns_stand_below_their_row_and_no_cell_is_broken(width, columns, below):
    lines = printed(width)
    assert all(len(line) <= width for line in lines) and lines[0].split() == [*COLUMNS[:columns]]
    assert lines[1].startswith("lossless  float64  refuted") and lines[2] == below
    assert all(cell in "\n".join(lines) for row in ROWS for cell in row[3:])
    assert "lossless" in "".join(printed(6)) and "refuted" in "".join(printed(10))


def test_on_a_terminal_of_80_columns_long_lines_stand_beside_their_label_and_in_a_file_they_are_whole():
    report = golden_report("token")
    wrapped, whole = (
        shown(80, lambda console: show(report, console), force_terminal=terminal, color_system=None)
        for terminal in (True, False)
    )
    lines = wrapped.partition("speaks of")[2].splitlines()
    assert all(len(line) <= 80 for line in lines if LINES not in line)
    assert lines[1].startswith(" " * 12) and "\n".join(lines).count("not examined") == 1
    assert re.sub(r"\s+", " ", wrapped) == re.sub(r"\s+", " ", whole)
    assert all(f"  {sentence}\n" in whole for sentence in report.not_examined)


def test_a_report_says_where_its_lines_are_explained():
    root = Path(draftproof.__file__).parent
    home = re.search(r'Homepage = "(.+)"', (root / "pyproject.toml").read_text())
    page, _, anchor = LINES.removeprefix(f"{home and home[1]}/blob/main/").partition("#")
    assert f"## {anchor.replace('-', ' ')}\n" in (root / page).read_text().lower()


def test_of_what_could_not_be_audited_the_reason_is_all_that_is_said():
    lines = shown(200, lambda console: show(golden_report("broken"), console)).strip().splitlines()
    assert lines[1].startswith("failure     ") and "cannot be imported (ZeroDivisionError" in lines[1]
    assert lines[2:] == ["verdict     error"]
