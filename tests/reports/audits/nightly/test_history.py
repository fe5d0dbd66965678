"""The database: its complaints in one line, and nothing lost."""

import json
import math
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from draftproof.models.battery import toy
from draftproof.models.errors import InputError
from draftproof.models.problem import as_json, problem_from
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of, nightly_problems
from draftproof.reports.audits.nightly.history import History, checked_night
from draftproof.reports.audits.nightly.run import Night, run_night
from draftproof.reports.audits.nightly.status import status
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audits.nightly.parts import STUCK, a_check, batches, cut_short, night_of, recorded

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
        assert done.returncode == 2
        assert "is not an SQLite database" in done.stderr
    assert path.read_bytes() == before


def test_a_database_of_something_else_has_no_history_and_is_not_harmed(tmp_path, nightly):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table mine (x)")
    done = nightly("status", "--db", path)
    assert done.returncode == 2
    assert "no nightly history" in done.stderr


def test_a_locked_database_is_told_after_the_wait_and_nothing_is_lost(tmp_path, nightly):
    path = tmp_path / "nights.sqlite"
    with closing(History.begin(str(path))) as history:
        recorded(history, 3)
    before = all_rows(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        done = nightly("run", "token", "--samples", 100, "--db", path, "--wait", 0.5)
        other.execute("ROLLBACK")
    assert done.returncode == 2
    assert "locked by another program for 0.5 s" in done.stderr
    assert all_rows(path) == before
    assert nightly("run", "token", "--samples", 100, "--db", path).returncode == 0


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
    assert nightly("status", "--db", url).returncode == 0
    done = nightly("run", "token", "--samples", 100, "--db", url)
    assert done.returncode == 2
    assert "is read-only" in done.stderr


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


def test_checked_night_takes_dates_and_today():
    assert checked_night("2025-02-28") == "2025-02-28"
    assert checked_night(None) == checked_night(checked_night(None))
    assert checked_night("2000-01-01") == "2000-01-01"


def test_each_version_gets_a_cohort_and_a_smaller_share_of_the_budget(history):
    check = a_check()
    for version in ("a", "b", "a", "c"):
        history.enrol("someone.py:f", version, [check])
    report = status(history)
    assert [check["cohort"] for check in report["checks"]] == [1, 2, 3]
    levels = [check["alarm_at"] for check in report["checks"]]
    assert levels == sorted(levels)
    assert sum(math.exp(-level) for level in levels) < 1e-3


INTERRUPTED = """
import sys
from sqlalchemy import event
from draftproof.reports.audits.nightly.database import Database

def interrupt(*_):
    raise KeyboardInterrupt

database = Database(sys.argv[1])
event.listen(database._engine.pool, "reset", interrupt)
try:
    with database.writing() as connection:
        connection.exec_driver_sql("create table mine (x)")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_a_connection_is_closed_is_raised_and_not_printed(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "nights.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.parametrize(
    ("db", "says"),
    [
        (":memory:", "is in memory only"),
        ("sqlite://", "is in memory only"),
        ("postgresql://h:abc/x", "--db: "),
        ("report.json", "named by both"),
    ],
)
def test_a_database_that_could_keep_nothing_is_refused_in_one_line(nightly, db, says):
    done = nightly("run", "block", "--samples", "100", "--db", db, "--json", "report.json")
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


DAMAGED = [
    ("checks", "state", '{"night": 1'),
    ("checks", "state", "[]"),
    ("checks", "state", '{"night": 1, "most": 32, "impossible": {}, "starts": [{"weight": 0, "counts": [1, 2]}]}'),
    ("checks", "state", '{"night": 1, "most": 32, "impossible": {"99": 1}, "starts": []}'),
    ("checks", "state", '{"night": 0, "most": 32, "impossible": {}, "starts": []}'),  # readable, and not what it was
    ("checks", "peak", "high"),
    ("checks", "log_e", "nan"),
    ("checks", "parameters", "{}"),
    ("checks", "parameters", "nothing"),
    ("checks", "impossible", "{"),
    ("checks", "witness", "{"),
    ("batches", "night", "0001-01-01"),
    ("batches", "night", "tomorrow"),
    ("batches", "log_e", "?"),
    ("checks", "state", '{"night": -1, "most": 32, "impossible": {}, "starts": []}'),
    ("checks", "state", '{"night": 1, "most": 1000000000, "impossible": {}, "starts": []}'),
    ("checks", "state", b"\x00"),
    *(("checks", "cohort", value) for value in ("x", 0, -1, 2, 3.5, 2**62)),
    *(("checks", "draws", value) for value in ("x", b"\x00", -1, 3.5, 10**15)),
    *(("checks", column, b"\x00") for column in ("subject", "version", "name", "peak", "log_e", "night", "alarm")),
    ("checks", "night", "1999-01-01"),
    ("checks", "alarm", "some day"),
    ("checks", "alarm", ""),
    ("checks", "impossible", "1"),
    ("checks", "witness", '{"sequence": "0"}'),
    ("checks", "log_e", "-1.0"),
    ("checks", "peak", "-1.0"),
    ("checks", "peak", "3.5"),
    *(("batches", "draws", value) for value in ("x", b"\x00", 0, 3.5)),
    *(("batches", "night", value) for value in ("9999-12-31", b"\x00", "")),
    ("batches", "log_e", "0.5"),
    ("batches", "check_id", 7),
]


OF_THE_WHOLE = [
    *(("cohorts", "number", value, "the numbers of its cohorts are damaged") for value in (-1, 0, 2, 10**15)),
    ("settings where name = 'schema'", "value", "99", "its tables are of version 99"),
    ("settings where name = 'schema'", "value", "abc", "its tables are of version abc"),
    *(
        ("settings where name = 'lifetime_alpha'", "value", text, f"its lifetime error rate '{text}' is damaged")
        for text in ("often", "2", "nan")
    ),
]


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory):
    """The file of a history of one check, drawn from once."""
    path = tmp_path_factory.mktemp("history") / "h.sqlite"
    with closing(History.begin(str(path))) as history:
        run_night(history, [subject_from("block")], Night(checked_night(None), 200, problems=[toy(1)]))
    return path


@pytest.mark.parametrize(
    ("table", "column", "value", "said"),
    [
        *(
            (*row, f"check 1: its {'log_e' if row[1] == 'check_id' else row[1]} is damaged; nothing was changed")
            for row in DAMAGED
        ),
        *OF_THE_WHOLE,
    ],
)
def test_what_is_damaged_in_a_history_is_told_in_one_line_and_left_as_it_is(
    tmp_path, nightly, drawn_once, table, column, value, said
):
    path = shutil.copy(drawn_once, tmp_path / "h.sqlite")
    name, _, where = table.partition(" ")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"update draftproof_{name} set {column} = ? {where}", (value,))
    draw = ("run", "block", "--problem", PROBLEM, "--samples", 200, "--db", path)
    for command in [draw] if column == "state" else [draw, ("status", "--db", path, "--html", "page.html")]:
        before = all_rows(path)
        done = nightly(*command)
        assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
        assert said in done.stderr
        assert all_rows(path) == before


def test_an_alarm_cannot_be_taken_back_by_a_lower_peak(tmp_path, nightly):
    path = tmp_path / "h.sqlite"
    with closing(History.begin(str(path))) as history:
        number, check = recorded(history, 2)
        counts = np.zeros(len(check.law), dtype=int)
        counts[0] = 300
        alarmed = history.record(number, check, night_of(3), 7, CheckCounts(counts, None)).peak
        calm = np.round(10**6 * check.law).astype(int) - counts
        assert history.record(number, check, night_of(3), 8, CheckCounts(calm, None)).log_e < alarmed / 2
        (row,) = status(history)["checks"]
        assert row["state"] == "alarm"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update draftproof_checks set peak = log_e")
    done = nightly("status", "--db", path)
    assert (done.returncode, "check 1: its peak is damaged" in done.stderr) == (2, True)


@pytest.mark.parametrize("alpha", [math.nan, math.inf, -1e-3, 0.0, 1.0])
def test_a_history_does_not_begin_with_what_is_no_error_rate(tmp_path, alpha):
    path = tmp_path / "h.sqlite"
    with pytest.raises(InputError, match="expected a number between 0 and 1"):
        History.begin(str(path), alpha)
    assert not path.exists()


@pytest.mark.parametrize(("sent", "status_of"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_run_that_is_ended_keeps_every_check_that_was_drawn(tmp_path, file, sent, status_of):
    path = tmp_path / "nights.sqlite"
    file.write_text(STUCK)
    (tmp_path / "stuck").write_text("")
    run, output = cut_short(path, sent, "run", f"{file}:verify", "--samples", "1000")
    assert run.returncode == status_of, output
    assert "Traceback" not in output
    with closing(History.read(str(path))) as history:
        checks = [check for check in status(history)["checks"] if check["draws"]]
    assert 2 <= len(checks) < len(nightly_problems())
    assert {check["draws"] for check in checks} == {1000}
    assert batches(path) == len(checks)
