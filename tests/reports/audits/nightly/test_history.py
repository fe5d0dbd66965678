"""The database: its complaints in one line, and nothing lost."""

import json
import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from draftproof.models.battery import toy
from draftproof.models.errors import InputError
from draftproof.models.problem import as_json, problem_from
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of
from draftproof.reports.audits.nightly.history import History, checked_night
from draftproof.reports.audits.nightly.run import Night, run_night
from draftproof.reports.audits.nightly.status import status
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audits.nightly.parts import night_of, recorded

pytestmark = pytest.mark.needs("sqlalchemy")

PROBLEM = json.dumps(as_json(toy(1)))


def all_rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return [list(connection.execute(f"select * from draftproof_{t}")) for t in ("settings", "checks", "batches")]


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path, nightly):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but dear to somebody\n" * 100)
    before = path.read_bytes()
    for command in (("run", "token"), ("status",)):
        done = nightly(*command, "--db", path)
        assert done.status == 2
        assert "is not an SQLite database" in done.err
    assert path.read_bytes() == before


def test_a_lock_in_the_middle_of_a_run_loses_only_the_check_in_progress(tmp_path):
    path = tmp_path / "nights.sqlite"
    with closing(History.begin(str(path), wait=0.3)) as history:
        number, check = recorded(history, 2)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(InputError, match="locked by another program"):
                history.record(number, check, night_of(3), 99, CheckCounts(np.array([100, *[0] * 16]), None))
            other.execute("ROLLBACK")
        after = status(history)
        assert after["checks"][0]["draws"] == 4000
        assert after["scope"].startswith("1 problem, V = 2, gamma = 3, probabilities from")


def test_a_read_only_database_can_be_looked_at_but_not_added_to(tmp_path, nightly):
    path = tmp_path / "nights.sqlite"
    with closing(History.begin(str(path))) as history:
        recorded(history, 2)
    url = f"sqlite:///file:{path}?mode=ro&uri=true"
    assert nightly("status", "--db", url).status == 0
    done = nightly("run", "token", "--samples", 100, "--db", url)
    assert done.status == 2
    assert "is read-only" in done.err


def test_a_history_that_an_earlier_version_wrote_is_read_and_added_to(tmp_path):
    path = tmp_path / "nights.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(Path(__file__).with_name("history_1.sql").read_text())
    with closing(History.begin(str(path))) as history:
        (before,) = status(history)["checks"]
        assert (before["state"], before["draws"], before["alarm_since"]) == ("alarm", 3000, "2026-01-01")
        assert before["witness"]["replay"].startswith("draftproof audit wrong.py:verify")
        check = check_of(problem_from(before["parameters"]["problem"]), False)
        counted = CheckCounts(np.array([700, 700, 700, 900, 0]), None)
        history.record(before["id"], check, "2026-01-02", 5, counted)
        (after,) = status(history)["checks"]
    assert (after["draws"], [night["draws"] for night in after["nights"]]) == (6000, [3000, 3000])
    assert after["largest_log_e"] >= before["log_e"] == 64.85357970899


def test_another_lifetime_error_rate_is_refused(tmp_path):
    path = str(tmp_path / "nights.sqlite")
    History.begin(path, 1e-4).close()
    History.begin(path).close()
    with pytest.raises(InputError, match="began with a lifetime error rate"):
        History.begin(path, 1e-3)
    with closing(History.read(path)) as history:
        assert history.lifetime_alpha == 1e-4


def test_a_batch_is_recorded_entirely_or_not_at_all(history):
    number, check = recorded(history, 3)
    before = status(history)
    with pytest.raises(InputError, match="the same draws cannot count twice"):
        history.record(number, check, night_of(4), 2, CheckCounts(np.array([100, *[0] * 16]), None))
    with pytest.raises(InputError, match="expected"):
        history.record(number, check, night_of(4), 77, CheckCounts(np.array([100, 0]), None))
    assert status(history) == before


def test_a_batch_that_comes_late_counts_for_the_night_that_is_open(history):
    number, check = recorded(history, 3)
    counted = CheckCounts(np.array([*np.full(16, 10), 0]), None)
    assert history.record(number, check, night_of(1), 55, counted).night == night_of(3)
    assert [night["draws"] for night in status(history)["checks"][0]["nights"]] == [2000, 2000, 2160]


@pytest.mark.parametrize("alpha", [math.nan, 0.0, 1.0])
def test_a_history_does_not_begin_with_what_is_no_error_rate(tmp_path, alpha):
    path = tmp_path / "h.sqlite"
    with pytest.raises(InputError, match="expected a number between 0 and 1"):
        History.begin(str(path), alpha)
    assert not path.exists()


DAMAGED = [
    *(("checks", "state", value) for value in ('{"night": 1', "[]", b"\x00")),
    *(("checks", "state", json.dumps({"night": 1, "most": 32, "impossible": {}, "starts": []} | wrong))
      for wrong in ({"starts": [{"weight": 0, "counts": [1, 2]}]}, {"impossible": {"99": 1}}, {"night": 0},
                    {"night": -1}, {"most": 10**9})),
    *(("checks", "cohort", value) for value in ("x", 0, 2)),
    *(("checks", "draws", value) for value in (b"\x00", 3.5, 10**15)),
    *(("checks", column, b"\x00") for column in ("subject", "version", "name", "night", "alarm")),
    ("checks", "alarm", "some day"),
    *(("checks", "parameters", value) for value in ("{}", "nothing")),
    *(("checks", "log_e", value) for value in ("nan", "-1.0")),
    *(("checks", "peak", value) for value in ("high", "3.5")),
    *(("checks", "impossible", value) for value in ("{", "1")),
    *(("checks", "witness", value) for value in ("{", '{"sequence": "0"}')),
    *(("batches", "draws", value) for value in ("x", 0)),
    *(("batches", "night", value) for value in ("9999-12-31", "tomorrow", "")),
    *(("batches", "log_e", value) for value in ("?", "0.5")),
    ("batches", "check_id", 7),
]  # fmt: skip
"""Table, column, and a value that no nightly run writes there."""

OF_THE_WHOLE = [
    ("cohorts", "number", 2, "the numbers of its cohorts are damaged"),
    ("settings where name = 'schema'", "value", "99", "its tables are of version 99"),
    ("settings where name = 'lifetime_alpha'", "value", "2", "its lifetime error rate '2' is damaged"),
    ("settings where name = 'lifetime_alpha'", "value", "often", "its lifetime error rate 'often' is damaged"),
]


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory):
    """The file of a history of one check, drawn from once."""
    path = tmp_path_factory.mktemp("history") / "h.sqlite"
    with closing(History.begin(str(path))) as history:
        run_night(history, [subject_from("block")], Night(checked_night(None), 200, problems=[toy(1)]))
    return path


def test_what_is_damaged_in_a_history_is_told_in_one_line_and_left_as_it_is(tmp_path, nightly, drawn_once):
    of_checks = [(*row, f"check 1: its {'log_e' if row[1] == 'check_id' else row[1]} is damaged") for row in DAMAGED]
    for table, column, value, said in [*of_checks, *OF_THE_WHOLE]:
        path = shutil.copy(drawn_once, tmp_path / "h.sqlite")
        name, _, where = table.partition(" ")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"update draftproof_{name} set {column} = ? {where}", (value,))
        before = all_rows(path)
        draw = ("run", "block", "--problem", PROBLEM, "--samples", 200)
        for command in [draw] if column == "state" else [draw, ("status",)]:  # only a run reads the state
            done = nightly(*command, "--db", path)
            assert (done.status, len(done.lines)) == (2, 1), (table, column, value)
            assert said in done.err and "nothing was changed" in done.err
            assert all_rows(path) == before
