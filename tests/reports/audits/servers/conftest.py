"""A forged target for servers to serve."""

import json

import pytest

from draftproof.models.problem import as_json
from draftproof.tests.reports.audits.servers.three import THREE


@pytest.fixture(scope="session")
def target(tmp_path_factory):
    """The folder of a forged target; servers of tests need its problem alone."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "problem.json").write_text(json.dumps(as_json(THREE)))
    return str(folder)
