"""A child process for code that may crash, hang, fill its memory or print what it likes: the parent's side.

Requests and answers are lines of JSON; an answer that says how many is followed by so many bytes, and a new line. The
child's side is ``interception.serving``.
"""

import contextlib
import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Container, Mapping, Sequence
from typing import IO, Any
from weakref import WeakSet

import psutil

from ..models.errors import RunFailed, printable
from .templates import forked, template
from .time_limits import TimeLimits

LAST = 2000
"""Bytes that are kept."""

AT_ONCE = 2**20
"""Bytes that are read together, where the system's pipes hold so many."""


class Printed:
    """A pipe for what a process prints.

    written: bytes that were read. writing_end: to hand to the process, until ``start``. reading_end: that does not
      block.
    """

    def __init__(self) -> None:
        reading_end, self.writing_end = os.pipe()
        os.set_blocking(reading_end, False)
        self.reading_end = os.fdopen(reading_end, "rb", buffering=0)
        self.written, self._last = 0, b""

    def started(self) -> None:
        """Close our copy of the process's end, so that the pipe ends with the process."""
        os.close(self.writing_end)

    def read(self) -> bool:
        """Read what waits; whether more may come."""
        new = self.reading_end.read(AT_ONCE)
        if new is None:  # nothing waits
            return True
        self.written += len(new)
        self._last = (self._last + new)[-LAST:]
        return bool(new)

    def last_line(self) -> str:
        """Return the last line that is not empty; empty if there is none."""
        lines = self._last.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def amount(count: int) -> str:
    """Return a number of bytes for a message."""
    return f"{count / 1e6:,.1f} MB" if count >= 10**5 else f"{count:,} bytes"


IN_CHILD = "DRAFTPROOF_CHILD"
"""Variable in the environment of a child process, so that code that it imports starts none of its own."""

ENVIRONMENT = {
    IN_CHILD: "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0",
    # Rows of a whole vocabulary are taken and given back by thousands: their pages are kept (a twentieth of the time).
    "MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**28),
}  # fmt: skip

MOST_PROCESSES = 1000
"""Processes that the child and all that it started may be, those that ended and are not waited for included."""

BETWEEN_COUNTS = 2.0
"""Seconds between counts of them."""


RUNNING: WeakSet["LineProcess"] = WeakSet()
"""The processes that this one has started and still holds."""

TIME_TO_END = 5.0
"""Seconds in which a process that has closed its output may end."""

STARTING = threading.Lock()
"""Lock of ``RUNNING``: threads start processes side by side."""


def kill_started_by(threads: Container[int]) -> None:
    """Kill the processes that these threads started, and all that those started: who waits for one gets ``RunFailed``.

    threads: as ``threading.get_ident`` numbers them.
    """
    with STARTING:
        mine = [process for process in RUNNING if process.thread in threads]
    for process in mine:
        process.kill()


class LineProcess:
    """A process in a group of its own that answers lines of JSON with such lines; the end of what it prints is kept.

    words: its command. what: it is, in messages. outputs: further pipes for what it prints. ends: further file
    descriptors that it gets. options: of Popen.
    Raises: OSError if it cannot be started.
    """

    def __init__(
        self, words: Sequence[str], what: str, outputs: Sequence[Printed] = (), ends: Sequence[int] = (), **options: Any
    ):
        self.what, self.errors, self.ended = what, Printed(), False
        self._printed = (self.errors, *outputs)
        try:
            self._process = self._started(words, [*(printed.writing_end for printed in outputs), *ends], options)
        except OSError:
            for printed in self._printed:
                printed.reading_end.close()
            raise
        finally:
            for printed in self._printed:
                printed.started()
        assert self._process.stdin and self._process.stdout
        self._hold(self._process.stdin, self._process.stdout)

    def _started(self, words: Sequence[str], ends: Sequence[int], options: dict[str, Any]) -> Any:
        """Start the process, and return its handle. ends: file descriptors that it gets beside its standard ones."""
        return subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors.writing_end, pass_fds=ends,
            **{"start_new_session": True, **options},
        )  # fmt: skip

    def _hold(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        """Take the process in, with its pipes."""
        self.thread = threading.get_ident()
        with STARTING:
            RUNNING.add(self)
        self._requests, self._answers = requests, answers
        os.set_blocking(self._requests.fileno(), False)
        if sys.platform == "linux":  # a row of a whole vocabulary is a line of megabytes
            for pipe in (self._requests, self._answers):
                with contextlib.suppress(OSError):
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, AT_ONCE)
        self._unsent, self._unread, self._deadline = bytearray(), bytearray(), 0.0

    def write(self, request: Mapping[str, Any]) -> None:
        """Send a line. Raises: RunFailed if the process has ended."""
        self._send(json.dumps(request).encode() + b"\n")

    def _send(self, text: bytes = b"") -> None:
        """Send as much as the pipe takes. The rest goes while the answer is waited for."""
        self._unsent += text
        try:
            del self._unsent[: os.write(self._requests.fileno(), self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            raise self._ended() from None

    def read(self, at_least: int = 0) -> bytes:
        """Read the next line, which has at least so many bytes, whatever they are.

        Raises: RunFailed if none comes until the deadline, or the process has ended.
        """
        looked_at = at_least
        while (end := self._unread.find(b"\n", looked_at)) < 0:
            looked_at = max(at_least, len(self._unread))
            self._unread += self._received()
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def _received(self) -> bytes:
        """Wait for more of the answers. Raises: as ``read``."""
        with selectors.PollSelector() as selector:  # others need calls of the system to be made, filled and closed
            for pipe in (self._answers, *(printed.reading_end for printed in self._printed)):
                selector.register(pipe, selectors.EVENT_READ)
            if self._unsent:
                selector.register(self._requests, selectors.EVENT_WRITE)
            patience = 0.5
            while True:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    self.end()
                    raise self._out_of_time(waited=True)
                ready = [key.fileobj for key, _ in selector.select(min(left, patience))]
                for printed in self._printed:
                    if printed.reading_end in ready and not printed.read():
                        selector.unregister(printed.reading_end)
                if self._requests in ready:
                    self._send()
                    if not self._unsent:
                        selector.unregister(self._requests)
                if self._answers in ready:
                    if not (read := os.read(self._answers.fileno(), AT_ONCE)):
                        raise self._ended()
                    self._look()
                    return read
                self._look()
                if patience == 0:  # it ended, but something it started holds the pipe
                    raise self._ended()
                if self._process.poll() is not None:
                    patience = 0  # one more look: it may have answered just before

    def _look(self) -> None:
        """Look at the process after each read, and twice a second. Raises: RunFailed for what must not be."""

    def _out_of_time(self, waited: bool) -> RunFailed:
        return RunFailed("timeout", f"{self.what} gave no answer in time")

    def end(self, patience: float = 0.0) -> None:
        """End the process and everything it started. patience: seconds in which it may do so itself."""
        if self.ended:
            return
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # it may have no group of its own
        self._process.wait()
        for printed in self._printed:
            printed.read()
            printed.reading_end.close()
        self.ended = True

    def kill(self) -> None:
        """Kill the process and everything it started, from any thread; who waits for its answer ends it."""
        if not self.ended and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _ended(self) -> RunFailed:
        """Say how it ended, with the last line that it wrote to its standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(TIME_TO_END)
        code = self._process.returncode
        self.end()
        said = next(filter(None, (printed.last_line() for printed in self._printed)), "")
        if code == -signal.SIGXCPU:
            return self._out_of_time(waited=False)
        if code is None:
            how = "it closed its output"
        else:
            status = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
            how = f"{self.what} ended ({status})"
        return RunFailed("crash", how + (f": {printable(said[:200])}" if said else ""))


def first_modules(array: str | None, torch: bool) -> list[str]:
    """Return what a child imports before a subject. array: its rows arrive as. torch: whether it is asked for."""
    return ["torch"] if array == "torch" or torch else []


def prepare(modules: Sequence[str]) -> None:
    """Start what child processes are forked from, so that it imports while this process does.

    modules: as of ``ChildProcess``.
    """
    template({**os.environ, **ENVIRONMENT}, modules)


class ChildProcess(LineProcess):
    """A Python process with limits.

    module: whose ``main`` it runs.
    arguments: what ``main`` finds in ``sys.argv[1:]``.
    memory: GiB of address space.
    limits: on time.
    environment: variables in addition to ours, or None for those to leave out.
    modules: that it imports first.
    copies: file descriptors of pipes for its copies (``forked``).
    output, errors: what it printed. asking: a lock for threads that ask it by turns.
    """

    def __init__(self, module: str, arguments: Sequence[str] = (), *, memory: float, limits: TimeLimits,
                 environment: Mapping[str, str | None] | None = None, modules: Sequence[str] = (),
                 copies: Sequence[Sequence[int]] = ()):  # fmt: skip
        self.limits = limits._replace(timeout=min(limits.timeout, 1e8))  # timers take no more
        self.output = Printed()
        self._counted = time.monotonic()
        printed = self.output.writing_end
        self._module, self._arguments, self._modules = module, arguments, modules
        words = [sys.executable, "-c", f"import sys; sys.path.pop(0); from {module} import main; main()", *arguments]
        variables = {**os.environ, **ENVIRONMENT, **(environment or {})}
        known = {name: value for name, value in variables.items() if value is not None}
        ends = [end for copy in copies for end in copy]
        super().__init__(words, "the process", (self.output,), ends, env=known)
        self.asking, self.session = threading.Lock(), self._process.pid
        self.send(copies=ends, memory=memory, limits=self.limits, printed=printed)

    def _started(self, words: Sequence[str], ends: Sequence[int], options: dict[str, Any]) -> Any:
        """Fork a template, or start from nothing."""
        files = {2: self.errors.writing_end, **{end: end for end in ends}}
        child = forked(self._module, self._arguments, options["env"], files, self._modules)
        return child or super()._started(words, ends, options)

    def send(self, **request: Any) -> None:
        """Send a request; until the child says what it is doing, it has the longest limit to answer.

        Raises: RunFailed if the child has ended.
        """
        self.expect("the child process", self.limits.timeout)
        self.write(request)

    def expect(self, doing: str, processor: float | None) -> None:
        """Allow the child so many seconds of processor time from now on; None: ``timeout`` of wall-clock time."""
        self._doing, self._processor = doing, processor
        self._deadline = time.monotonic() + self.limits.wall_clock(processor)

    def receive(self) -> dict[str, Any]:
        """Return the next answer.

        Raises: RunFailed if none comes within the limits, the child has ended, or what comes is no answer.
        """
        while True:
            line = self.read()
            try:
                answer = json.loads(line)
            except ValueError:
                self.end()
                raise RunFailed("crash", "the answers of the child process are garbled") from None
            if "bytes" in answer:
                answer["data"] = self.read(at_least=answer.pop("bytes"))
            if "doing" not in answer:
                return answer
            self.expect(**answer)

    def _look(self) -> None:
        """Count processes now and then."""
        if time.monotonic() - self._counted < BETWEEN_COUNTS:
            return
        self._counted = time.monotonic()
        if processes_of(self.session) > MOST_PROCESSES:
            self.end()
            raise RunFailed("crash", f"{self._doing}: it keeps more than {MOST_PROCESSES:,} processes")

    def _out_of_time(self, waited: bool) -> RunFailed:
        return RunFailed("timeout", f"{self._doing}: not done {self.limits.within(self._processor, waited=waited)}")


def processes_of(session: int) -> int:
    """Count the processes of a session."""
    count = 0
    for process in psutil.pids():
        with contextlib.suppress(OSError):
            count += os.getsid(process) == session
    return count
