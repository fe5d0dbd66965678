"""The child process: whatever third-party code does, the parent says so in one line and goes on."""

import os
import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import RunFailed
from draftproof.proofs import child_process, time_limits
from draftproof.proofs.child_process import processes_of
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox

pytestmark = pytest.mark.interception
FAULTS = Path(__file__).parents[1] / "subjects" / "faults.py"
PROBE = [toy(1)]


def start(name, **limits):
    return Sandbox(f"{FAULTS}:{name}", **{"timeout": 20, **limits})


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("raises_always", "load", "raises on every call: RuntimeError: no kernel"),
        ("returns_text", "load", "returned text ('the next token')"),
        ("returns_nothing", "load", "returned None"),
        ("returns_no_tokens", "load", "returned no tokens"),
        ("takes_four", "load", "takes 4 required arguments (target_probs, draft_probs, draft_tokens, temperature)"),
        ("takes_two", "load", "expected f(target_probs, draft_probs, draft_tokens[, rng | generator])"),
        ("NOT_A_FUNCTION", "load", "is an int, not a function"),
        ("nowhere", "load", "has no attribute 'nowhere'"),
        ("crashes", "crash", "killed by SIGSEGV"),
        ("leaves_at_once", "crash", "exit status 0"),
    ],
)
def test_a_subject_that_cannot_be_audited_is_told_in_one_line(name, kind, text):
    with start(name) as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
    assert caught.value.kind == kind
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_leaving_by_sys_exit_is_an_answer_not_an_end(tmp_path):
    with start("leaves") as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
    assert "SystemExit" in str(caught.value) or "exit status 7" in str(caught.value)


@pytest.fixture
def time_to_start(monkeypatch):
    """A child has long to start, by the clock of the parent; a call that waits is ended by the child's own."""
    monkeypatch.setattr(time_limits, "WALL_CLOCK_FACTOR", 1000.0)


@pytest.mark.usefixtures("time_to_start")
@pytest.mark.parametrize(
    ("name", "timeout", "text"),
    [
        ("never_returns", 2, "a call did not return within 1 s of processor time (--timeout 2)"),
        pytest.param(
            "never_returns_and_swallows",
            2,
            ":never_returns_and_swallows: not done within 2 s of processor time (--timeout 2)",
            marks=pytest.mark.long,
        ),
        ("sleeps", 1, "a call did not return within 6 s of wall-clock time (--timeout 1)"),
    ],
)
def test_a_call_that_never_returns_is_ended(name, timeout, text):
    with start(name, timeout=timeout, waiting=1) as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
    assert caught.value.kind == "timeout"
    assert text in str(caught.value)
    assert box.ended


@pytest.mark.parametrize(
    ("source", "timeout", "text"),
    [
        ("while True: pass", 1, "not done within 1 s of processor time (--timeout 1)"),
        pytest.param(
            "import time\ntime.sleep(600)",
            0.5,
            "not done within 6 s of wall-clock time (--timeout 0.5)",
            marks=pytest.mark.long,
        ),
    ],
    ids=["loops", "sleeps"],
)
def test_an_import_that_never_ends_is_ended(tmp_path, source, timeout, text, time_to_start, monkeypatch):
    file = tmp_path / "endless.py"
    file.write_text(source)
    with start("nested_results", timeout=timeout, waiting=1) as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
        monkeypatch.undo()
        box.load(f"{file}:f", PROBE)
    assert caught.value.kind == "timeout"
    assert str(caught.value) == f"importing {file}:f: {text}"


def test_a_first_call_may_take_longer_than_a_later_one(tmp_path):
    """As one that compiles: 0.8 s of processor time, of 1.5 s allowed to it and 0.5 s to a later one."""
    file = tmp_path / "compiles.py"
    file.write_text(
        "import time\n"
        "calls = []\n"
        "def works():\n"
        "    until = time.process_time() + 0.8\n"
        "    while time.process_time() < until: pass\n"
        "def first(target_probs, draft_probs, draft_tokens):\n"
        "    calls or works()\n"
        "    calls.append(1)\n"
        "    return [0]\n"
        "def second(target_probs, draft_probs, draft_tokens):\n"
        "    len(calls) == 2 and works()\n"
        "    calls.append(1)\n"
        "    return [0]\n"
    )
    with Sandbox(f"{file}:first", timeout=3) as box:
        box.start(PROBE)
        box.load(f"{file}:second", PROBE)
        found = measured(PROBE[0], "float64", box.law(PROBE[0]))
    assert found.reason == "on draft block [0] a call did not return within 0.5 s of processor time (--timeout 3)"


def test_memory_is_limited():
    with start("fills_the_memory", memory=2.0) as box, pytest.raises(RunFailed, match="MemoryError"):
        box.start(PROBE)
    with start("fills_the_memory", memory=16.0) as box:
        box.start(PROBE)


def test_what_was_measured_before_a_crash_is_kept():
    answers = []
    with start("crashes_when_rows_are_equal") as box:
        box.start(PROBE)
        answers += box.law(drawn(3, 1, "generic"))
        with pytest.raises(RunFailed, match="SIGSEGV"):
            list(box.law(drawn(3, 1, "equal")))
        assert box.ended
    assert measured(drawn(3, 1, "generic"), "float64", answers).known


@pytest.mark.usefixtures("time_to_start")
def test_a_call_that_hangs_on_one_problem_names_the_block():
    with start("never_returns_when_rows_are_equal", timeout=1, waiting=1) as box:
        box.start(PROBE)
        found = measured(drawn(3, 1, "equal"), "float64", box.law(drawn(3, 1, "equal")))
    assert not found.known
    assert "did not return within 6 s of wall-clock time (--timeout 1)" in found.findings["never-returned"]


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
        assert box._child and processes_of(box._child._process.pid) <= 2  # the last copy may still be ending
        made = box.side_effects()["forks"]
    assert re.fullmatch("[1-9][0-9]* copies of its process came back from its calls, and were ended", made)


def test_processes_that_stay_are_counted_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(child_process, "MOST_PROCESSES", 5)
    monkeypatch.setattr(child_process, "BETWEEN_COUNTS", 0.0)
    with calling(tmp_path, "os.fork() or time.sleep(600)") as box:
        with pytest.raises(RunFailed, match="it keeps more than 5 processes"):
            list(box.law(PROBE[0], hand_in=bool(box.start(PROBE))))
        assert box.ended and box._child
        while processes_of(box._child._process.pid):  # ended, not yet waited for by the system
            time.sleep(0.02)


def test_a_file_that_it_may_not_write_is_no_outcome_of_a_verifier(tmp_path):
    with calling(tmp_path, f"len(draft_tokens) == 2 and os.pwrite(os.open('{tmp_path}/log', 65), b'x', 2**26)") as box:
        box.start(PROBE)
        with pytest.raises(RunFailed, match=r"^a call writes a file of more than 64 MiB$"):
            list(box.law(toy(2)))


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
    ("source", "text"),
    [
        ("def f(:", "SyntaxError"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_files_that_cannot_be_imported_say_why(tmp_path, source, text):
    file = tmp_path / "broken.py"
    file.write_text(source)
    with Sandbox(f"{file}:f") as box, pytest.raises(RunFailed) as caught:
        box.start(PROBE)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with Sandbox(f"{tmp_path}/none.py:f") as box, pytest.raises(RunFailed, match="no such file"):
        box.start(PROBE)


def test_the_child_and_what_it_started_are_gone_afterwards(tmp_path):
    file = tmp_path / "spawns.py"
    file.write_text(
        "import subprocess\n"
        f"child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    return [0]\n"
    )
    with Sandbox(f"{file}:f") as box:
        box.start(PROBE)
        pid = int((tmp_path / "pid").read_text())
        os.kill(pid, 0)
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("a process started by the subject outlived the sandbox")


def test_a_fork_of_the_subject_makes_no_calls_of_its_own(tmp_path):
    file, log = tmp_path / "forks.py", tmp_path / "processes"
    file.write_text(
        "import os\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    os.fork()\n"
        f"    with open({str(log)!r}, 'a') as log:\n"
        "        log.write(f'{os.getpid()}\\n')\n"
        "    return [0]\n"
    )
    with Sandbox(f"{file}:f") as box:
        box.start(PROBE)
        assert measured(PROBE[0], "float64", box.law(PROBE[0])).known
    calls = Counter(log.read_text().split())
    ours = max(calls, key=calls.__getitem__)
    assert calls.pop(ours) > 10
    assert set(calls.values()) <= {1}


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
