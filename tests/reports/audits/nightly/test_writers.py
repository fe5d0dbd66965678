"""Several writers at once, on SQLite and on a real PostgreSQL server."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.nightly.history import History
from draftproof.reports.audits.nightly.status import status
from draftproof.stattests.eprocess import EProcess
from draftproof.tests.reports.audits.nightly.parts import a_check

pytestmark = pytest.mark.needs("sqlalchemy")

WRITER = """
import sys
import numpy as np
from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of
from draftproof.reports.audits.nightly.history import History
url, k, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
check = check_of(drawn(2, 3, "generic"), False)
history = History.begin(url, wait=60)
(number,) = history.enrol("someone.py:f", "sha256:00", [check])
rng = np.random.default_rng(k)
for batch in range(count):
    counted = CheckCounts(rng.multinomial(300, check.law), None)
    history.record(number, check, "2025-01-01", 1000 * k + batch, counted)
"""
WRITERS, BATCHES = 2, 8


def written_at_once(url):
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(k), str(BATCHES)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for k in range(WRITERS)
    ]  # fmt: skip
    for process in running:
        _, output = process.communicate(timeout=3600)
        assert process.returncode == 0, output


def written_in_turn():
    """log E of the same batches, without a database."""
    check = a_check()
    process = EProcess(check.law)
    for k in range(WRITERS):
        rng = np.random.default_rng(k)
        for _ in range(BATCHES):
            process.add(rng.multinomial(300, check.law))
    return process.log_e


def lost_nothing(url):
    written_at_once(url)
    with closing(History.read(url)) as history:
        (check,) = status(history)["checks"]
    return (check["draws"], check["log_e"]) == (WRITERS * BATCHES * 300, written_in_turn())


def test_several_writers_at_once_lose_nothing_on_sqlite(tmp_path):
    assert lost_nothing(str(tmp_path / "nights.sqlite"))


def enrolled_at_once(url, writers=6, versions=8):
    """Writers that enrol new versions of their subjects at the same time, and what went wrong with them."""
    History.begin(url).close()
    together, complaints, check = threading.Barrier(writers), [], a_check()

    def enrol(writer):
        with closing(History.begin(url, wait=60)) as history:
            together.wait()
            for version in range(versions):
                try:
                    history.enrol(f"{writer}.py:f", f"sha256:{version}", [check])
                except InputError as error:
                    complaints.append(str(error))

    threads = [threading.Thread(target=enrol, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(History.read(url)) as history:
        return complaints, sorted(row.cohort for row in history.rows())


def test_versions_enrolled_at_once_each_get_a_cohort_of_their_own_on_sqlite(tmp_path):
    assert enrolled_at_once(str(tmp_path / "nights.sqlite")) == ([], list(range(1, 49)))


@pytest.fixture(scope="module")
def postgresql():
    """The URL of a real PostgreSQL server, started for these tests in a folder of its own and stopped after them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or list(filter(None, [shutil.which("initdb")]))
    if not found:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="needs psycopg: pip install -c constraints.txt draftproof[nightly]")
    folder = Path(tempfile.mkdtemp(prefix="draftproof-pg-", dir="/tmp"))
    control = [Path(found[-1]).parent / "pg_ctl", "-D", folder / "data", "-w"]
    if os.getuid() == 0:  # the server refuses to run as root; its package brings a user
        shutil.chown(folder, "postgres")
        control = ["runuser", "-u", "postgres", "--", *control]

    def call(*words):
        nothing = subprocess.DEVNULL
        subprocess.run([*control, *words], cwd=folder, check=True, stdin=nothing, stdout=nothing, timeout=3600)

    try:
        call("initdb", "-o", "-U draftproof --auth=trust --no-sync -E UTF8 --locale=C")
        call("start", "-l", folder / "log", "-o", f"-k {folder} -c listen_addresses= -c fsync=off")
        try:
            yield f"postgresql://draftproof@/postgres?host={folder}"
        finally:
            call("stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def emptied(url):
    """The same server without a history."""
    from draftproof.reports.audits.nightly.database import Database
    from draftproof.reports.audits.nightly.tables import metadata

    database = Database(url)
    with database.writing() as connection:
        metadata.drop_all(connection)
    database.close()
    return url


@pytest.mark.database
def test_several_writers_at_once_lose_nothing_on_postgresql(postgresql):
    assert lost_nothing(emptied(postgresql))


@pytest.mark.database
def test_a_night_on_postgresql_from_the_command_line(postgresql, tmp_path, nightly):
    url = emptied(postgresql)
    assert nightly("status", "--db", url).status == 2
    assert nightly("run", "block", "--db", url, "--samples", 500).status == 0
    report = json.loads(nightly("status", "--db", url, "--json", "-").out)
    assert {check["draws"] for check in report["checks"]} == {500}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.database
def test_versions_enrolled_at_once_each_get_a_cohort_of_their_own_on_postgresql(postgresql):
    assert enrolled_at_once(emptied(postgresql)) == ([], list(range(1, 49)))
