"""Rows of a survey made by several processes."""

import os

import pytest

from draftproof.corpus.site.kept_rows import made_rows
from draftproof.models.errors import RunFailed
from draftproof.models.store import Store, stored
from draftproof.tests.subjects.rows import made


def test_several_processes_make_the_rows_of_one_and_none_twice(tmp_path):
    wanted = [(name, seed) for seed in (1, 2) for name in (3, 5)]
    with Store(tmp_path / "rows", "products") as kept:
        assert [row["product"] for _, row in made_rows(kept, wanted[:1], made, 2)] == [3], "one row needs no process"
        assert kept.rows[3, 1]["process"] == os.getpid()
        rows = dict(made_rows(kept, wanted, made, 2))
        assert {row["product"] for row in rows.values()} == {5, 6, 10}
        assert os.getpid() not in {row["process"] for row in rows.values()}
        assert {row.key: row.row for row in stored(tmp_path / "rows", "products").rows} == kept.rows
    with Store(tmp_path / "rows", "products") as again:
        assert again.rows == kept.rows and [*made_rows(again, wanted, made, 2)] == []


def test_a_process_that_ends_without_a_row_is_one_clear_line_and_what_was_made_stays(tmp_path):
    kept = Store(tmp_path / "rows", "products")
    [*made_rows(kept, [(1, 1)], made)]
    with pytest.raises(RunFailed, match="one of 2 processes ended without a result; --workers 1 makes none"):
        [*made_rows(kept, [(1, -1), (2, -1)], made, 2)]
    assert len(stored(tmp_path / "rows", "products").rows) == 1
