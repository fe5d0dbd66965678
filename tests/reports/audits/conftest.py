"""Pairs of models on disk, made once for all tests of end-to-end runs, in all workers of xdist."""

import fcntl
import json
import os

import pytest


def made_once(tmp_path_factory, name, make):
    """Return the options of a pair that the first worker that asks for it makes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    options = folder / "options.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not options.exists():
            options.write_text(json.dumps(make(folder)))
    return json.loads(options.read_text())


@pytest.fixture(scope="session")
def forged(tmp_path_factory):
    """Options of a small forged pair."""
    from draftproof.tests.reports.audits.loops.e2e_parts import forged_pair

    return made_once(tmp_path_factory, "forged", lambda folder: forged_pair(folder / "pair", 3, 2))


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Options of a miniature pair that has been trained, and prompts for it."""
    from draftproof.tests.reports.audits.loops.e2e_parts import trained_pair

    return made_once(tmp_path_factory, "trained", trained_pair)
