"""Rows of a survey made by several processes."""

import json
import os

import pytest

from draftproof.models.errors import InputError, RunFailed
from draftproof.reports.audits.kept_rows import KeptRows
from draftproof.tests.subjects.rows import made


def test_several_processes_make_the_rows_of_one_and_none_twice(tmp_path):
    wanted = [(name, seed) for seed in (1, 2) for name in (3, 5)]
    kept = KeptRows(tmp_path / "rows.jsonl", ("name", "seed"), "this code")
    assert [row["product"] for row in kept.made(wanted[:1], made, 2)] == [3], "one row needs no process"
    assert kept.rows[3, 1]["process"] == os.getpid()
    rows = [*kept.made(wanted, made, 2)]
    assert {row["product"] for row in rows} == {5, 6, 10} and os.getpid() not in {row["process"] for row in rows}
    assert [json.loads(line) for line in kept.file.read_text().splitlines()] == [*kept.rows.values()]
    again = KeptRows(kept.file, ("name", "seed"), "this code")
    assert again.rows == kept.rows and [*again.made(wanted, made, 2)] == []
    assert KeptRows(kept.file, ("name", "seed"), "other code").rows == {}


def test_a_row_that_was_being_written_is_made_again_and_a_line_that_is_none_is_named(tmp_path):
    kept = KeptRows(tmp_path / "rows.jsonl", ("name", "seed"), "this code")
    [*kept.made([(3, 1), (5, 1)], made)]
    whole = kept.file.read_text()
    kept.file.write_text(whole[:-9])
    again = KeptRows(kept.file, ("name", "seed"), "this code")
    assert [*again.rows] == [(3, 1)]
    [*again.made([(3, 1), (5, 1)], made)]
    assert [json.loads(line)["product"] for line in kept.file.read_text().splitlines()] == [3, 5]
    for line in ("not json", "[1]", "{}"):
        kept.file.write_text(whole + line + "\n")
        with pytest.raises(InputError, match=r"rows\.jsonl: line 3 is no row of a survey; expected JSON"):
            KeptRows(kept.file, ("name", "seed"), "this code")


def test_a_process_that_ends_without_a_row_is_one_clear_line_and_what_was_made_stays(tmp_path):
    kept = KeptRows(tmp_path / "rows.jsonl", ("name", "seed"), "this code")
    [*kept.made([(1, 1)], made)]
    with pytest.raises(RunFailed, match="one of 2 processes ended without a result; --workers 1 makes none"):
        [*kept.made([(1, -1), (2, -1)], made, 2)]
    assert len(kept.file.read_text().splitlines()) == 1
