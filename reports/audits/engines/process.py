"""The parent's side of an engine: a child process that may crash, hang or print what it likes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

ENOUGH = 5.0
"""Seconds for a child that has said everything to end by itself."""


class Sampled(NamedTuple):
    """counts: emitted tokens -> times. failure: its kind and why, if not all samples were taken."""

    counts: Counter
    failure: tuple[str, str] | None


def sampled(
    request: dict[str, Any], timeout: float, progress: Callable[[int], None]
) -> tuple[Sequence[Sampled], dict[str, Any]]:
    """For each of the request's jobs what the engine emitted, and what is known of it: digest, versions of packages.

    What was counted before a failure is kept. timeout: seconds for all jobs; progress: told the samples so far.
    """
    counts = [Counter() for _ in request["jobs"]]
    ended: dict[int, tuple[str, str] | None] = {}
    about: dict[str, Any] = {}
    late = threading.Event()
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile() as errors:
        json.dump(request, asked)
        asked.seek(0)
        child = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys; sys.path.pop(0); from draftproof.reports.audits.engines.child import main; main()",
            ],
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        )
        timer = threading.Timer(timeout, lambda: (late.set(), _end(child)))
        timer.start()
        try:
            for line in child.stdout:
                answer = _read(line)
                if "job" not in answer:
                    about |= answer
                    continue
                for text, n in answer["counts"]:
                    counts[answer["job"]][tuple(text)] += n
                if answer.get("done"):
                    ended[answer["job"]] = None
                elif "why" in answer:
                    ended[answer["job"]] = answer["failure"], answer["why"]
                progress(sum(sum(seen.values()) for seen in counts))
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(ENOUGH)
        finally:
            timer.cancel()
            _end(child)
            child.stdout.close()
            code = child.wait()
        if "why" in about:
            rest = about["failure"], about["why"]
        else:
            rest = ("timeout", f"not done within {timeout:g} s") if late.is_set() else ("crash", _told(code, errors))
    return [Sampled(seen, ended.get(k, rest)) for k, seen in enumerate(counts)], about


def _read(line: bytes) -> dict[str, Any]:
    """An answer; nothing where the process was ended in the middle of one."""
    try:
        return json.loads(line)
    except ValueError:
        return {}


def _end(child: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _told(code: int, errors) -> str:
    errors.seek(0)
    told = errors.read()[-2000:].decode(errors="replace").strip().splitlines()
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    return f"the process ended ({how})" + (f": {told[-1][:200]}" if told else "")
