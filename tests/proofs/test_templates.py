"""Templates of child processes: what a fork takes over, and what it does not."""

import os
import signal
import sys
import textwrap

import pytest

from draftproof.models.errors import RunFailed
from draftproof.proofs import templates
from draftproof.proofs.child_process import ENVIRONMENT, ChildProcess
from draftproof.proofs.time_limits import TimeLimits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked from a template on Linux alone")

TELLS = """
import glob, os, random, sys
import numpy as np
from draftproof.proofs.interception.serving import Server

def files():
    return [os.readlink(file) for file in glob.glob("/proc/self/fd/*") if os.path.lexists(file)]

def main():
    server = Server()
    for request in server.requests():
        server.answer(
            pid=os.getpid(), parent=os.getppid(), session=os.getsid(0), folder=os.getcwd(), arguments=sys.argv[1:],
            files=files(),
            variable=os.environ.get("OF_THIS_TEST"),
            drawn=[random.random(), float(np.random.random())], modules=[m for m in ("torch",) if m in sys.modules],
        )
"""


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Start children that tell about themselves; they are ended after the test."""
    (tmp_path / "tells_about_itself.py").write_text(textwrap.dedent(TELLS))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    children = []

    def start(*arguments, **more):
        limits = TimeLimits(60.0)
        children.append(ChildProcess("tells_about_itself", arguments, memory=4.0, limits=limits, **more))
        return children[-1]

    yield start
    for child in children:
        child.end()


def answer_of(child):
    child.send(do="tell")
    return child.receive()


def the_template():
    return templates.template({**os.environ, **ENVIRONMENT})


def test_children_are_forked_from_one_template_and_have_all_else_of_their_own(started, tmp_path, monkeypatch):
    monkeypatch.setenv("OF_THIS_TEST", "first")
    first = answer_of(started("a", "b"))
    monkeypatch.setenv("OF_THIS_TEST", "second")
    monkeypatch.chdir(tmp_path)
    second = answer_of(started())
    assert first["parent"] == second["parent"] == the_template().process.pid
    assert first["pid"] == first["session"] != second["pid"]
    assert (first["arguments"], second["arguments"]) == (["a", "b"], [])
    assert (first["variable"], second["variable"]) == ("first", "second")
    assert second["folder"] == str(tmp_path) != first["folder"]
    assert all(one != other for one, other in zip(first["drawn"], second["drawn"]))
    for about in (first, second):  # requests, answers and two that it prints to; nothing of the template
        assert sum(file.startswith("pipe") for file in about["files"]) == 4
        assert not any(file.startswith("socket") for file in about["files"])


def test_variables_that_an_interpreter_reads_when_it_starts_have_a_template_of_their_own(started):
    one, other = (answer_of(started(environment={"PYTHONHASHSEED": seed})) for seed in ("3", "4"))
    assert one["parent"] != other["parent"]


def test_modules_are_imported_where_they_are_asked_for_alone(started):
    pytest.importorskip("torch")
    assert answer_of(started(modules=["torch"]))["modules"] == ["torch"]
    assert answer_of(started())["modules"] == []


def test_the_end_of_a_child_is_told_as_that_of_a_process_of_our_own(started):
    child = started()
    pid = answer_of(child)["pid"]
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(RunFailed, match="killed by SIGSEGV"):
        child.send(do="tell")
        child.receive()
    assert child.ended


def test_where_a_template_has_ended_children_are_started_from_nothing(started):
    before = started()
    answer_of(before)
    the_template().process.kill()
    the_template().process.wait()
    after = answer_of(started())
    assert after["parent"] == os.getpid()
    assert answer_of(before)["pid"] != after["pid"]  # those that it forked go on
    before.kill()
    with pytest.raises(RunFailed, match="killed by SIGKILL"):
        before.receive()
