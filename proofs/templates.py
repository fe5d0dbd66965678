"""Processes that have imported what child processes need, and are forked for each: the parent's side.

A Python process that starts from nothing takes half a second of processor time to import this package and NumPy.
The other side is ``interception.template``.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, Protocol

import psutil

BETWEEN_LOOKS = 0.01
"""Seconds between looks at a process that is about to end."""

AT_START = ("DRAFTPROOF", "LC_", "LANG", "LD_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PATH", "PYTHON", "VIRTUAL_ENV")
"""Beginnings of the variables that an interpreter and its libraries read when they start: where one of them differs, so
does the process that is forked. All others are set after the fork."""

PATIENCE = 300.0
"""Seconds of wall-clock time that it may take to import its modules; after that child processes do so themselves."""

MOST_ENDS = 250
"""File descriptors that are handed over together, at most; Linux takes 253."""


class Reaper(Protocol):
    """A process that forked others, and waits for them."""

    def reaped(self, pid: int) -> int | None:
        """Return the exit code of a process; None while it runs."""
        ...


class ForkedHandle:
    """A handle of a process that another one forked, with what ``subprocess.Popen`` has of a child.

    of: the process that forked it.
    """

    def __init__(self, of: Reaper, pid: int, stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None):
        self.of, self.pid, self.returncode, self.stdin, self.stdout = of, pid, None, stdin, stdout

    def poll(self) -> int | None:
        if self.returncode is None and not _runs(self.pid):
            self.returncode = self.of.reaped(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a copy", timeout or 0.0)
            time.sleep(BETWEEN_LOOKS)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None and _runs(self.pid):
            os.kill(self.pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


class Template:
    """A process that is forked for each child process.

    environment: with which it starts. modules: that it imports beside those of every child.
    """

    def __init__(self, environment: Mapping[str, str], modules: Sequence[str] = ()):
        self._lock, self._ended = threading.Lock(), False
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(PATIENCE)
        start = "import sys; sys.path.pop(0); from draftproof.proofs.interception.template import main; main()"
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", start, str(theirs.fileno()), *modules], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                env=environment, start_new_session=True,
            )  # fmt: skip
        self._answers = self._socket.makefile("rb")

    def forked(self, module: str, arguments: Sequence[str], environment: Mapping[str, str],
               ends: Mapping[int, int]) -> int | None:  # fmt: skip
        """Fork it for a child process, and return its process id; None where that is not possible.

        ends: file descriptors of the child, and ours.
        """
        if len(ends) > MOST_ENDS:
            return None
        how = {"module": module, "arguments": [*arguments], "environment": dict(environment), "ends": [*ends]}
        try:
            return self._ask({"folder": os.getcwd(), **how}, [*ends.values()])
        except OSError:
            return None

    def reaped(self, pid: int) -> int | None:
        """Return the exit code of a child; None while it runs. After the template has ended nobody knows it: killed."""
        try:
            return self._ask({"reap": pid})
        except OSError:
            return -signal.SIGKILL

    def _ask(self, request: dict[str, Any], ends: Sequence[int] = ()) -> Any:
        """Return the answer to a request. Raises: OSError if there is none."""
        with self._lock:
            if self._ended:
                raise ConnectionError("the template has ended")
            self._ended = True
            socket.send_fds(self._socket, [b"\n"], ends)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._answers.readline()
            if not line:
                raise ConnectionError("the template has ended")
            self._ended = False
        return json.loads(line)

    def end(self) -> None:
        """End it; its children go on."""
        self._ended = True
        self._answers.close()
        self._socket.close()
        self.process.kill()
        self.process.wait()


_TEMPLATES: dict[tuple[int, tuple[str, ...], tuple[tuple[str, str], ...]], Template] = {}
"""The templates of this process, by its id, what they import and the variables that count at their start."""

_LOCK = threading.Lock()


@atexit.register
def end_all() -> None:
    """End the templates of this process."""
    for (process, *_), one in _TEMPLATES.items():
        if process == os.getpid():
            one.end()


def template(environment: Mapping[str, str], modules: Sequence[str] = ()) -> Template | None:
    """Return the template of child processes with these variables, started if there is none; None but on Linux."""
    if sys.platform != "linux":
        return None
    at_start = tuple(sorted(item for item in environment.items() if item[0].startswith(AT_START)))
    with _LOCK:
        if (key := (os.getpid(), tuple(modules), at_start)) not in _TEMPLATES:
            _TEMPLATES[key] = Template(environment, modules)
        return _TEMPLATES[key]


def forked(module: str, arguments: Sequence[str], environment: Mapping[str, str],
           ends: Mapping[int, int], modules: Sequence[str] = ()) -> ForkedHandle | None:  # fmt: skip
    """Fork a template for a child process; None where it has to be started from nothing.

    module: whose ``main`` it runs. arguments: what that finds in ``sys.argv[1:]``. ends: file descriptors of the child
    beside its standard ones, and ours; its standard error is among them. modules: that it has imported.
    """
    if (parent := template(environment, modules)) is None:
        return None
    requests, answers = os.pipe(), os.pipe()
    try:
        pid = parent.forked(module, arguments, environment, {0: requests[0], 1: answers[1], **ends})
    finally:
        os.close(requests[0])
        os.close(answers[1])
    stdin, stdout = os.fdopen(requests[1], "wb", buffering=0), os.fdopen(answers[0], "rb", buffering=0)
    if pid is None:
        stdin.close()
        stdout.close()
        return None
    return ForkedHandle(parent, pid, stdin, stdout)
