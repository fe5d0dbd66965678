"""The child process: whatever third-party code does, the parent says so in one line and goes on."""

import re
import time
from pathlib import Path

import psutil
import pytest

from draftproof.models.battery import toy
from draftproof.models.errors import RunFailed
from draftproof.proofs import child_process, time_limits
from draftproof.proofs.child_process import processes_of
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.refusals import one_line

pytestmark = pytest.mark.interception
FAULTS = Path(__file__).parents[1] / "subjects" / "faults.py"
PROBE = [toy(1)]


def start(name, **limits):
    return Sandbox(f"{FAULTS}:{name}", **{"timeout": 20, **limits})


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("raises_always", "raises", "raises on every call: RuntimeError: no kernel"),
        ("returns_no_tokens", "raises", "returned no tokens"),
        ("takes_four", "load", "takes 4 required arguments (target_probs, draft_probs, draft_tokens, temperature)"),
        ("takes_two", "load", "expected f(target_probs, draft_probs, draft_tokens[, rng | generator])"),
        ("NOT_A_FUNCTION", "load", "is an int, not a function"),
        ("nowhere", "load", "has no attribute 'nowhere'"),
    ],
)
def test_a_subject_that_cannot_be_audited_is_told_in_one_line(name, kind, text):
    with start(name) as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
    assert caught.value.kind == kind
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def time_to_start(monkeypatch):
    """A child has long to start, by the clock of the parent; a call that waits is ended by the child's own."""
    monkeypatch.setattr(time_limits, "WALL_CLOCK_FACTOR", 1000.0)


@pytest.mark.usefixtures("time_to_start")
@pytest.mark.parametrize(
    ("name", "timeout", "text"),
    [
        ("never_returns", 2, "a call did not return within 1 s of processor time (--timeout 2)"),
        ("sleeps", 0.4, "a call did not return within 3 s of wall-clock time (--timeout 0.4)"),
    ],
)
def test_a_call_that_never_returns_is_ended(name, timeout, text):
    with start(name, timeout=timeout, waiting=1) as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
    assert caught.value.kind == "timeout"
    assert text in str(caught.value)
    assert box.ended


def test_an_import_that_never_ends_is_ended(tmp_path, time_to_start, monkeypatch):
    file = tmp_path / "endless.py"
    file.write_text("while True: pass")
    with start("nested_results", timeout=1, waiting=1) as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
        monkeypatch.undo()
        box.load(f"{file}:f", PROBE)
    assert caught.value.kind == "timeout"
    assert str(caught.value) == f"importing {file}:f: not done within 1 s of processor time (--timeout 1)"


def test_memory_is_limited():
    with start("fills_the_memory", memory=2.0) as box, pytest.raises(RunFailed, match="MemoryError"):
        box.start(PROBE)
    with start("fills_the_memory", memory=16.0) as box:
        box.start(PROBE)


def calling(tmp_path, *lines):
    """A child that has loaded a verifier of which each call runs these lines."""
    file = tmp_path / "besides.py"
    body = "".join(f"    {line}\n" for line in lines)
    imports = "import multiprocessing, os, subprocess, time\n"
    file.write_text(f"{imports}def f(target_probs, draft_probs, draft_tokens):\n{body}    return [0]\n")
    return Sandbox(f"{file}:f", timeout=20)


def test_processes_that_a_call_starts_and_waits_for_are_its_own(tmp_path):
    lines = (
        "subprocess.run(['true'], check=True)",
        "child = os.fork()",
        "child or os._exit(3)",
        "assert os.waitpid(child, 0)[1] == 3 << 8",
        "other = multiprocessing.get_context('fork').Process(target=int)",
        "other.start(), other.join()",
        "assert other.exitcode == 0",
        "os.fork()",
    )
    with calling(tmp_path, *lines) as box:
        box.start(PROBE)
        assert measured(PROBE[0], "float64", box.law(PROBE[0])).known
        end = time.monotonic() + 30
        while processes_of(box._child._process.pid) > 2 and time.monotonic() < end:
            time.sleep(0.05)  # copies may still be ending
        assert processes_of(box._child._process.pid) <= 2
        made = box.side_effects()["forks"]
    assert re.fullmatch("[1-9][0-9]* copies of its process returned from its calls, and were ended", made)


def test_processes_that_stay_are_counted_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(child_process, "MOST_PROCESSES", 5)
    monkeypatch.setattr(child_process, "BETWEEN_COUNTS", 0.0)
    with calling(tmp_path, "os.fork() or time.sleep(600)") as box:
        with pytest.raises(RunFailed, match="it keeps more than 5 processes"):
            list(box.law(PROBE[0], hand_in=bool(box.start(PROBE))))
        assert box.ended and box._child
        while processes_of(box._child._process.pid):  # ended, not yet waited for by the system
            time.sleep(0.02)


def test_what_it_prints_is_counted_and_not_kept(tmp_path):
    with calling(tmp_path, "print('y' * 10**7)", "os.write(2, b'warning: odd\\n' * 10**5)") as box:
        box.start(PROBE)
        child = box._child
        law = measured(PROBE[0], "float64", box.law(PROBE[0]))
        printed = box.side_effects()["prints"]
    assert child and law.known and child.errors.last_line() == "warning: odd" and len(child.output._last) == 2000
    assert re.fullmatch(
        r"it writes [1-9]\d+\.\d MB to its standard output, the last line 'y{60}' and .* error", printed
    )


@pytest.mark.parametrize(
    ("source", "text"), [("def f(:", "SyntaxError"), ("raise SystemExit(3)", "SystemExit"), (None, "no such file")]
)
def test_files_that_cannot_be_imported_say_why(tmp_path, source, text):
    file = tmp_path / "broken.py"
    if source:
        file.write_text(source)
    with Sandbox(f"{file}:f") as box:
        assert text in one_line(box.start, PROBE, error=RunFailed)


def test_the_child_and_what_it_started_are_gone_afterwards(tmp_path):
    lines = ("child = subprocess.Popen(['sleep', '600'])", f"open('{tmp_path}/pid', 'a').write(f'{{child.pid}} ')")
    with calling(tmp_path, *lines) as box:
        box.start(PROBE)
        pids = [*map(int, (tmp_path / "pid").read_text().split())]
        assert pids and all(map(psutil.pid_exists, pids))
    for pid in pids:
        until = time.monotonic() + 60
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < until, "a process started by the subject outlived the sandbox"
            time.sleep(0.1)


def test_lists_are_found_to_be_wanted_where_arrays_raise(tmp_path):
    file = tmp_path / "lists.py"
    file.write_text(
        "import random\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    draft_probs.append([0.0] * len(draft_probs[0]))\n"
        "    return random.choices(range(len(target_probs[0])), target_probs[0])\n"
    )
    with Sandbox(f"{file}:f") as box:
        about = box.start(PROBE)
    assert about["convention"]["array"] == "rows"
    assert "with NumPy arrays it raises AttributeError" in about["findings"]["array"]
    assert "draft_probs" in about["findings"]["inputs-written"]


def test_a_problem_is_sent_once_and_again_to_a_new_child(monkeypatch):
    """A planted leak of digests across children would leave the second child without the problem."""
    sent = []
    plain = child_process.ChildProcess.send
    monkeypatch.setattr(child_process.ChildProcess, "send", lambda self, **r: (sent.append(r), plain(self, **r))[1])
    with Sandbox("draftproof.verifiers.zoo.controls:gumbel_race") as box:
        for _ in range(2):
            box.start(PROBE[:1])
            list(box.law(PROBE[0]))
            list(box.sample(PROBE[0], 10, 0))
    new = [len(r["new_problems"]) for r in sent if "new_problems" in r]
    assert new == [1, 0, 0] * 2
