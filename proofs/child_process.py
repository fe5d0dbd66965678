"""A child process for code that may crash, hang, fill its memory or print what it likes: the parent's side.

Requests and answers are lines of JSON. The child's side is ``interception.serving``.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from ..models.errors import RunFailed
from .printed import Printed
from .time_limits import TimeLimits

IN_CHILD = "DRAFTPROOF_CHILD"
"""Of the environment of a child process, so that code that it imports starts none of its own."""

ENVIRONMENT = {IN_CHILD: "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0"}


MOST_PROCESSES = 1000
"""Processes that the child and all that it started may be, those that ended and are not waited for included."""

BETWEEN_COUNTS = 2.0
"""Seconds between counts of them."""


class ChildProcess:
    """A Python process in a process group of its own, with limits.

    module: whose ``main`` it runs.
    arguments: what ``main`` finds in ``sys.argv[1:]``.
    memory: GiB of address space.
    limits: on time.
    environment: variables in addition to ours, or None for those to leave out.
    output, errors: what it printed.
    """

    def __init__(self, module: str, arguments: Sequence[str] = (), *, memory: float, limits: TimeLimits,
                 environment: Mapping[str, str | None] | None = None):  # fmt: skip
        self.limits = limits._replace(timeout=min(limits.timeout, 1e8))  # timers take no more
        self.output, self.errors = Printed(), Printed()
        self._counted = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path.pop(0); from {module} import main; main()", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors.writing_end,
            pass_fds=(self.output.writing_end,),
            start_new_session=True,
            env={n: v for n, v in {**os.environ, **ENVIRONMENT, **(environment or {})}.items() if v is not None},
        )
        printed = self.output.writing_end
        self.output.started()
        self.errors.started()
        assert self._process.stdin and self._process.stdout
        self.ended = False
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._unread = b""
        self.send(memory=memory, limits=self.limits, printed=printed)

    def send(self, **request: Any) -> None:
        """Send a request; until the child says what it is doing, it has the longest limit to answer.

        Raises: RunFailed if the child has ended.
        """
        self.expect("the child process", self.limits.timeout)
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except OSError:
            raise self._ended() from None

    def expect(self, doing: str, processor: float | None) -> None:
        """From now on the child may take so many seconds of processor time; None: ``timeout`` of wall-clock time."""
        self._doing, self._processor = doing, processor
        self._deadline = time.monotonic() + self.limits.wall_clock(processor)

    def receive(self) -> dict[str, Any]:
        """The next answer.

        Raises: RunFailed if none comes within the limits, the child has ended, or what comes is no answer.
        """
        while True:
            line = self._line()
            try:
                answer = json.loads(line)
            except ValueError:
                self.end()
                raise RunFailed("crash", "the answers of the child process are garbled") from None
            if "doing" not in answer:
                return answer
            self.expect(**answer)

    def _line(self) -> bytes:
        with selectors.DefaultSelector() as selector:
            for pipe in (self._answers, self.output.reading_end, self.errors.reading_end):
                selector.register(pipe, selectors.EVENT_READ)
            patience = 0.5
            while b"\n" not in self._unread:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    self.end()
                    raise self._out_of_time(waited=True)
                ready = [key.fileobj for key, _ in selector.select(min(left, patience))]
                for printed in (self.output, self.errors):
                    if printed.reading_end in ready and not printed.read():
                        selector.unregister(printed.reading_end)
                self._count()
                if self._answers in ready:
                    read = os.read(self._answers.fileno(), 1 << 16)
                    if not read:
                        raise self._ended()
                    self._unread += read
                elif patience == 0:  # it ended, but something it started holds the pipe
                    raise self._ended()
                elif self._process.poll() is not None:
                    patience = 0  # one more look: it may have answered just before
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _count(self) -> None:
        """Raises: RunFailed where there are too many processes; asked now and then."""
        if time.monotonic() - self._counted < BETWEEN_COUNTS:
            return
        self._counted = time.monotonic()
        if processes_of(self._process.pid) > MOST_PROCESSES:
            self.end()
            raise RunFailed("crash", f"{self._doing}: it keeps more than {MOST_PROCESSES:,} processes")

    def end(self, patience: float = 0.0) -> None:
        """End the child and everything it started. patience: seconds in which it may do so itself."""
        if self.ended:
            return
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for printed in (self.output, self.errors):
            printed.read()
            printed.reading_end.close()
        self.ended = True

    def _out_of_time(self, waited: bool) -> RunFailed:
        return RunFailed("timeout", f"{self._doing}: not done {self.limits.within(self._processor, waited=waited)}")

    def _ended(self) -> RunFailed:
        """How the child ended, with the last line that it wrote to its standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.returncode
        self.end()
        said = self.errors.last_line() or self.output.last_line()
        if code == -signal.SIGXCPU:
            return self._out_of_time(waited=False)
        how = f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit status {code}"
        return RunFailed("crash", f"the process ended ({how})" + (f": {said[:200]}" if said else ""))


def processes_of(session: int) -> int:
    """How many processes of a session there are."""
    count = 0
    for process in psutil.pids():
        with contextlib.suppress(OSError):
            count += os.getsid(process) == session
    return count
