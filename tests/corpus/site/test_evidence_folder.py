"""Each kept run is as it was written, and has a row in the table of the documentation."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import ValidationError

from draftproof.corpus.site.__main__ import site
from draftproof.corpus.site.evidence_folder import kept, runs_table
from draftproof.models.errors import InputError
from draftproof.models.json_files import json_text
from draftproof.tests.reports.report_schema import validate
from draftproof_paper.tables.report import judged_again

ROOT = Path(__file__).parents[3]
FOLDERS = sorted(folder for folder in (ROOT / "corpus" / "site" / "evidence").glob("*") if folder.is_dir())
in_a_checkout = pytest.mark.skipif(not FOLDERS, reason="corpus/site/evidence is not in the wheel")
PROBLEM = '{"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'


def must_be_in(table, folder):
    """Raises if a folder is not what the command evidence writes, or the table says something else of it."""
    run = kept(folder)
    if run.report is not None:
        validate(run.report)
    assert run.line in table.splitlines(), f"{run.name} has no row {run.line}"


@in_a_checkout
def test_each_kept_run_has_the_form_of_its_schema_and_a_row_of_the_table():
    table = runs_table()
    assert len(table.splitlines()) == len(FOLDERS) + 2
    for folder in FOLDERS:
        must_be_in(table, folder)


TABLES = [folder for folder in FOLDERS if (folder / "tables.json").is_file()]


def must_be_of_its_cells(folder):
    """Raises if the tables of a folder are not what its cells give."""
    report = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
    again = json.loads(json_text(judged_again(folder, report["cells"]["of"])))
    for part in ("settings", "cells", "orderings", "equalities", "tables", "figures"):
        assert close(again[part], report[part]), part
    return report


def close(a, b):
    """Whether two JSON values are equal, numbers up to the rounding of another machine's arithmetic."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    numbers = isinstance(a, float) and isinstance(b, (int, float))
    return a == pytest.approx(b, rel=1e-9, abs=1e-12) if numbers else a == b


@pytest.mark.parametrize("folder", TABLES, ids=lambda folder: folder.name)
def test_kept_tables_are_what_their_cells_give(folder, tmp_path):
    must_be_of_its_cells(folder)
    spoiled = shutil.copytree(folder, tmp_path / folder.name)
    cells = (folder / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    (spoiled / "cells.jsonl").write_text("\n".join(cells[:-1]) + "\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        must_be_of_its_cells(spoiled)


@in_a_checkout
def test_a_kept_run_that_was_changed_is_seen(tmp_path):
    table = runs_table()

    def spoiled(name, change):
        folder = shutil.copytree(FOLDERS[0], tmp_path / str(len([*tmp_path.iterdir()])) / FOLDERS[0].name)
        data = json.loads((folder / name).read_text(encoding="utf-8"))
        change(data)
        (folder / name).write_text(json.dumps(data), encoding="utf-8")
        return folder

    must_be_in(table, spoiled("run.json", lambda run: None))
    for name, change, error in (
        ("report.json", lambda report: report.update(verdict="holds"), AssertionError),
        ("report.json", lambda report: report.update(block_efficiency=9.0), AssertionError),
        ("report.json", lambda report: report.pop("evidence"), ValidationError),
        ("report.json", lambda report: report["environment"].update(torch="1.0"), InputError),
        ("run.json", lambda run: run.update(device="a faster one"), AssertionError),
        ("run.json", lambda run: run.pop("driver"), InputError),
    ):
        with pytest.raises(error):
            must_be_in(table, spoiled(name, change))
    with pytest.raises(InputError, match=r"expected run\.json"):
        kept(tmp_path)


def test_a_run_is_kept_with_its_exit_status_and_what_it_was_run_on(tmp_path):
    (tmp_path / "p.json").write_text(PROBLEM)
    words = ["evidence", "--out", str(tmp_path / "it"), "audit", "block", "--problem", str(tmp_path / "p.json")]
    done = CliRunner().invoke(site, words)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == kept(tmp_path / "it").line
    run = kept(tmp_path / "it").run
    assert run.status == 0 and run.driver == "none" and run.device and run.environment["draftproof"]
    assert run.command == f"draftproof audit block --problem {tmp_path / 'p.json'}"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["law", "block"], "'law' cannot be kept; expected one of audit, e2e, engine, server, tables"),
        (["e2e", "--json", "x"], "--json: the files of a kept run are those of --out DIR"),
        (["tables", "--out=x"], "--out: the files of a kept run are those of --out DIR"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_line(words, text, tmp_path):
    done = CliRunner().invoke(site, ["evidence", "--out", str(tmp_path / "it"), *words])
    assert isinstance(done.exception, InputError) and text in str(done.exception)
    assert not (tmp_path / "it").exists()
