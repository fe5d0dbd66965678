"""A forged target for servers to serve."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from draftproof.models.problem import as_json
from draftproof.reports.audits.engines.cells import decoder_problem
from draftproof.tests.reports.audits.servers.three import THREE


@pytest.fixture(scope="session")
def target(tmp_path_factory):
    """The folder of a forged target; servers of tests need its problem alone."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "problem.json").write_text(json.dumps(as_json(THREE)))
    return str(folder)


@pytest.fixture(scope="session")
def process_of(tmp_path_factory):
    """Gives (URL without a path, target) of the process of a file of tests/subjects that serves."""

    @contextmanager
    def serving(name):
        folder = tmp_path_factory.mktemp("served")
        (folder / "problem.json").write_text(json.dumps(as_json(decoder_problem())))
        words = [sys.executable, Path(__file__).parents[3] / "subjects" / name, folder / "problem.json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}", str(folder)
            process.kill()

    return serving
