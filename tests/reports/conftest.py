"""A history, a subject and the command, each in a folder of its own."""

import os
import sys
from contextlib import closing
from typing import NamedTuple

import pytest

from draftproof.reports.commands.main import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def nightly(monkeypatch, capsys, tmp_path):
    """The command, in this process and in a folder of its own: its exit status and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["draftproof", "nightly", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return Done(ended.value.code, output.out, output.err)

    return command


@pytest.fixture
def history(tmp_path):
    from draftproof.reports.audits.nightly.history import (
        History,  # the tests that ask for it are skipped without SQLAlchemy
    )

    with closing(History.begin(str(tmp_path / "nights.sqlite"))) as history:
        yield history


@pytest.fixture
def file(tmp_path):
    """A verifier that is right."""
    from draftproof.tests.reports.audits.nightly.parts import RIGHT

    path = tmp_path / "subject.py"
    path.write_text(RIGHT)
    return path


@pytest.fixture(scope="session", autouse=True)
def reports_of_the_session(tmp_path_factory):
    """Give the audits that tests share a folder which all workers of xdist have."""
    from draftproof.tests.reports import audited

    base = tmp_path_factory.getbasetemp()
    audited.FOLDER = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "audits"
    audited.FOLDER.mkdir(exist_ok=True)
