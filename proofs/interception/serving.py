"""The child's side of ``child_process``: requests in, answers out, limits, and nothing else into the answers."""

import gc
import io
import json
import math
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ...verifiers.adapters.copies import COPIES
from ..time_limits import TimeLimits

MOST_HELD = 2**16
"""Bytes of answers that are held back, at most."""

LARGEST_FILE = 2**26
"""Bytes of a file that the child may write. What it prints goes into no file."""

WHILE_IMPORTING, ELSE = 10**5, gc.get_threshold()
"""Objects between two garbage collections: while libraries are imported, and later. Collections take a sixth of the
time of importing torch and transformers."""


class Server:
    """The requests of the parent, and the way back to it.

    Standard input is empty from here on, and what is printed goes into a pipe of its own. So neither third-party code
    nor its forks can write into the answers.
    """

    def __init__(self) -> None:
        gc.set_threshold(WHILE_IMPORTING)
        self._requests = os.fdopen(os.dup(0), encoding="utf-8")
        self._answers, self._held = os.fdopen(os.dup(1), "wb"), bytearray()
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        COPIES.remember_process()
        settings = json.loads(self._requests.readline())
        os.dup2(settings["printed"], 1)
        os.close(settings["printed"])
        self._ends = {*settings["copies"]}
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # what is printed is seen when the child is ended, too
        self.limits, self.memory = TimeLimits(*settings["limits"]), settings["memory"]
        _limit(resource.RLIMIT_AS, int(self.memory * 2**30))
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, LARGEST_FILE)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)

    def requests(self) -> Iterator[dict[str, Any]]:
        """Yield the requests, until the parent closes the pipe."""
        while line := self._requests.readline():
            request = json.loads(line)
            what = request.get("do")
            if what == "fork":
                if self._fork(request["ends"]):
                    yield {"do": "copied"}
            elif what == "reap":
                pid, status = os.waitpid(request["pid"], os.WNOHANG)
                self.answer(code=os.waitstatus_to_exitcode(status) if pid else None)
            else:
                yield request
            _limit(resource.RLIMIT_CPU, None)

    def _fork(self, ends: list[int]) -> bool:
        """Fork, unless that is not safe. The copy, for which this is true, has requests, answers and outputs of its
        own."""
        try:
            if reason := why_not_forked():
                raise OSError(reason)
            pid = os.fork()
        except OSError as error:
            self.answer(error=str(error))
            return False
        if pid:
            COPIES.forget_fork()
            self._closed(ends)
            self.answer(pid=pid)
            return False
        os.setpgid(0, 0)
        requests, answers, *printed = ends
        self._requests.close()
        self._answers.close()
        for file, end in enumerate(printed, start=1):
            os.dup2(end, file)
        self._closed([end for end in self._ends if end not in (requests, answers)])
        self._requests, self._answers = os.fdopen(requests, encoding="utf-8"), os.fdopen(answers, "wb")
        COPIES.remember_process()
        self.answer(ready=True)
        return True

    def _closed(self, ends: Iterable[int]) -> None:
        for end in ends:
            os.close(end)
        self._ends -= {*ends}

    def answer(self, data: bytes | None = None, **fields: Any) -> None:
        """Send an answer; a fork ends instead. data: follows it as it is, in a line of its own."""
        self.hold(data, **fields)
        self._send()

    def hold(self, data: bytes | None = None, **fields: Any) -> None:
        """Send an answer together with the next one, as each write is a call of the system; many are sent at once."""
        COPIES.settle()
        if data is not None:
            fields["bytes"] = len(data)
        self._held += json.dumps(fields).encode() + b"\n"
        if data is not None:
            self._held += data + b"\n"
        if len(self._held) > MOST_HELD:
            self._send()

    def _send(self) -> None:
        self._answers.write(self._held)
        self._answers.flush()
        self._held.clear()

    def imported(self) -> None:
        """Exclude what was imported from further garbage collections."""
        gc.freeze()
        gc.set_threshold(*ELSE)

    def begin(self, doing: str, seconds: float) -> None:
        """Tell the parent what is done next, and be ended by the system after so much processor time."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds))
        self.answer(doing=doing, processor=seconds)


def why_not_forked() -> str | None:
    """Return why a copy of this process could not go on as it does, or None."""
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()
    if threads > 1:
        return f"it runs {threads} threads"
    torch = sys.modules.get("torch")
    return "it uses CUDA" if torch and hasattr(torch, "cuda") and torch.cuda.is_initialized() else None


def _limit(resource_kind: int, most: int | None) -> None:
    """Set a soft limit; None sets the largest that the hard limit allows."""
    _, hard = resource.getrlimit(resource_kind)
    wanted = hard if most is None else most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource_kind, (wanted, hard))
