"""What a terminal shows: tables that do not wrap, however narrow it is."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import draftproof
from draftproof.reports.commands.compliance import show_document
from draftproof.reports.pages.nightly.summary import show as show_night
from draftproof.reports.pages.terminal import LINES, plain_table, show, show_table
from draftproof.tests.reports.golden import golden, golden_report
from draftproof.tests.reports.report_parts import at_terminal, fits_a_terminal, require_short

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


def of_report(report, **options) -> str:
    return at_terminal(lambda console: show(report, console, **options))


@pytest.mark.parametrize("name", ["right", "wrong", "token", "block", "evil", "undecided", "broken"])
def test_the_verdict_is_the_first_line_and_fifteen_lines_of_80_columns_are_enough(name):
    fits_a_terminal(golden_report(name))


@pytest.mark.parametrize("length", [70, 79, 81, 170])
def test_a_name_that_is_longer_than_a_line_is_not_broken(length):
    report = golden_report("wrong")
    report.subject["name"] = name = f"/{'f' * (length - 13)}/mine.py:wrong"
    lines = fits_a_terminal(report)
    assert name in [word for line in lines for word in line.split()]


def test_a_night_and_a_document_have_their_verdict_first_in_fifteen_lines(capsys):
    night = golden("nightly")
    many = night | {"failures": [{"subject": f"{k}.py:f", "kind": "load", "message": "no " * 60} for k in range(20)]}
    for report in (night, many):
        said = at_terminal(lambda c, r=report: show_night(r, r["checks"], c, False, ["n.html"]))
        require_short(said, "nightly   ALARM: 2 of 17 checks", "n.html")
    quiet = night | {"state": "quiet", "checks": night["checks"][:1]}
    said = at_terminal(lambda c: show_night(quiet, quiet["checks"], c, False, ["n.html"]))
    require_short(said, "nightly   ERROR: 1 failure", "n.html")
    quiet |= {"failures": []}
    said = at_terminal(lambda c: show_night(quiet, quiet["checks"], c, False, ["n.html"]))
    require_short(said, "nightly   QUIET: 1 check", "n.html")

    document = golden("compliance")
    requirements = document["requirements"] * 9
    for made in (document, document | {"requirements": requirements}):
        said = at_terminal(lambda console, made=made: show_document(console, made, Path("out"), None, []))
        written = "out: report.json, report.html, report.pdf, attestation.json, badge.svg, junit.xml"
        lines = require_short(said, "out   REFUTED: 2 of ", written)
        assert lines[2].split()[0] == "Refuted"


def test_lines_that_are_left_out_are_counted_and_shown_when_asked_for():
    report = golden_report("wrong")
    for k in range(3):
        report.notice({f"kind {k}": f"finding {k} " * 40})
    report.notice({"server": "a fourth"})
    lines = fits_a_terminal(report)
    assert any(line.strip().endswith("more lines (--verbose shows all)") for line in lines)
    assert "a fourth" in of_report(report, verbose=True) and "more lines" not in of_report(report, verbose=True)


def test_a_refutation_has_the_smallest_case_the_bug_the_line_and_the_command():
    lines = shown(300, lambda console: show(golden_report("wrong"), console)).strip().splitlines()
    names = [name for line in lines[1:] if (name := line[2:18].strip())]
    assert names == ["Seen on", "Smallest case", "Looks like", "Where", "Reproduce"]
    assert "0        1/3       7/18" in "\n".join(lines)


def test_what_float32_rounds_alone_is_said_in_the_first_line_unless_another_claim_is_refuted():
    report = golden_report("wrong")
    assert "float32 rounds alone" not in of_report(report)
    report.findings["precision"] = "no more than float32 rounds"
    assert "REFUTED: in float64, by what float32 rounds alone" in of_report(report)
    other = next(e for e in report.evidence if e.refuted)
    report.evidence.append(replace(other, claim="batch"))
    report.claims = (*report.claims, "batch")
    assert "float32 rounds alone" not in of_report(report)


def test_the_scope_is_shown_when_it_is_asked_for_whole_in_a_file_and_wrapped_on_a_terminal():
    report = golden_report("token")
    assert not any(sentence in of_report(report) for sentence in report.not_examined)
    wrapped, whole = of_report(report, scope=True), shown(80, lambda console: show(report, console, scope=True))
    assert re.sub(r"\s+", " ", wrapped) == re.sub(r"\s+", " ", whole)
    assert all(f" {sentence}\n" in whole for sentence in report.not_examined)
    assert "optimal   exact    refuted" in of_report(report, verbose=True)


def test_a_report_says_where_its_lines_are_explained():
    root = Path(draftproof.__file__).parent
    home = re.search(r'Homepage = "(.+)"', (root / "pyproject.toml").read_text())
    page, _, anchor = LINES.removeprefix(f"{home and home[1]}/blob/main/").partition("#")
    assert f"## {anchor.replace('-', ' ')}\n" in (root / page).read_text().lower()


def test_of_what_could_not_be_audited_the_reason_is_all_that_is_said():
    lines = shown(200, lambda console: show(golden_report("broken"), console)).strip().splitlines()
    assert lines[0].startswith("broken.py:verify   ERROR: ") and "cannot be imported (ZeroDivisionError" in lines[0]
    assert [line.split()[0] for line in lines[1:] if line] == ["Explained"]
