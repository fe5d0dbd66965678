"""A history, a subject and the command, each in a folder of its own."""

import os
from contextlib import closing

import pytest

from draftproof.tests.reports.commands.in_process import draftproof


@pytest.fixture
def nightly(tmp_path):
    """The command, in a folder of its own."""
    return lambda *arguments: draftproof("nightly", *arguments, cwd=tmp_path)


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
