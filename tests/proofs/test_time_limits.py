"""Time limits beside busy processes: what is right stays right, what is endless is ended."""

import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.api import audit
from draftproof.reports.commands.exit_status import of_verdict

BUSY_PROCESSES = 8


@contextmanager
def busy_machine():
    with ExitStack() as stack:
        for _ in range(BUSY_PROCESSES):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def test_every_limit_follows_the_option_and_allows_waiting():
    limits = TimeLimits(60.0)
    assert (limits.first_call, limits.call) == (30.0, 10.0)
    assert limits.wall_clock(limits.timeout) == 720.0
    assert limits.within(limits.call, waited=False) == "within 10 s of processor time (--timeout 60)"
    assert limits.within(limits.call, waited=True) == "within 220 s of wall-clock time (--timeout 60)"
    assert limits.within(None, waited=True) == "within 60 s of wall-clock time (--timeout 60)"


@pytest.mark.engine
@pytest.mark.interception
@pytest.mark.needs("torch")
@pytest.mark.long
def test_a_right_function_of_torch_is_lossless_and_a_loop_is_ended_beside_busy_processes(tmp_path):
    file = tmp_path / "beside.py"
    file.write_text(
        "import torch\n"
        "def right(target_probs, draft_probs, draft_tokens):\n"
        "    for i, x in enumerate(draft_tokens.tolist()):\n"
        "        if torch.rand((), dtype=torch.float64) * draft_probs[i, x] >= target_probs[i, x]:\n"
        "            left = (target_probs[i] - draft_probs[i]).clamp(min=0)\n"
        "            return [*draft_tokens[:i].tolist(), int(torch.multinomial(left, 1))]\n"
        "    return [*draft_tokens.tolist(), int(torch.multinomial(target_probs[-1], 1))]\n"
    )
    endless = tmp_path / "endless.py"
    endless.write_text("def loops(target_probs, draft_probs, draft_tokens):\n    while True: pass\n")
    problems = [toy(1), drawn(3, 1, "generic")]
    with busy_machine():
        right = audit(f"{file}:right", problems, array="torch", timeout=12)
        loops = audit(f"{endless}:loops", problems, timeout=2)
    assert (right.verdict, of_verdict(right.verdict)) == ("holds", 0), right.failure
    assert (loops.verdict, of_verdict(loops.verdict)) == ("error", 3)
    assert loops.failure == {
        "kind": "timeout",
        "message": "a call did not return within 1 s of processor time (--timeout 2)",
    }
