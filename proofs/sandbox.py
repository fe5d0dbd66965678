"""The parent's side: a foreign function in a child process with limits on time and memory.

The child can crash, hang, fill its memory or print what it likes; the parent notices, says so in one line, and
goes on. What the isolation does not promise: the child has the user's rights (files, network), and the foreign
code shares a process with the tracer, so code that sets out to deceive the audit can.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from ..models.errors import RunFailed
from ..models.problem import Problem, as_json

MEMORY = 8.0
"""GiB of address space for the child; torch maps several without using them."""


class Sandbox:
    """A child process that has loaded one subject. Use as a context manager.

    child: the module whose ``main`` the child runs, with ``arguments``.
    """

    child = "draftproof.proofs.interception.child"
    arguments: tuple[str, ...] = ()

    def __init__(self, subject: str, array: str | None = None, dtype: str = "float64", *, timeout: float = 60.0,
                 memory: float = MEMORY, torch: bool = False):  # fmt: skip
        self.subject, self.array, self.dtype = subject, array, dtype
        self.timeout, self.memory, self.torch = timeout, memory, torch
        self._child: subprocess.Popen | None = None
        self._buffer, self._doing = b"", ""

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception) -> None:
        self.stop()

    def start(self, probe: list[Problem]) -> dict[str, Any]:
        """Start the child, load the subject, and find out how to call it.

        Raises: RunFailed if it cannot be imported or called, in one line.
        """
        self.stop()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed in stop(), with the child
        start = f"import sys; sys.path.pop(0); from {self.child} import main; main()"
        threads = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0"}
        self._child = subprocess.Popen(
            [sys.executable, "-c", start, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            env=os.environ | threads,
        )
        self._buffer, self._answered = b"", 0
        self._say(memory=self.memory, longest_call=min(10.0, self.timeout / 2))
        return self._load(self.subject, probe)

    def load(self, subject: str, probe: list[Problem]) -> dict[str, Any]:
        """Load another function into the same child (for code that is trusted to leave it as it was)."""
        if self._child is None:
            self.subject = subject
            return self.start(probe)
        return self._load(subject, probe)

    def _load(self, subject: str, probe: list[Problem]) -> dict[str, Any]:
        how = {"array": self.array, "dtype": self.dtype, "torch": self.torch}
        self._doing = ", while it was imported and first called"
        self._say(do="load", subject=subject, probe=[as_json(p) for p in probe], **how)
        about = next(self._answers(max(self.timeout, 60.0)))
        self._doing = ""
        return about

    @property
    def ended(self) -> bool:
        """Whether there is no child: it was never started, crashed, or was stopped for taking too long."""
        return self._child is None

    def law(self, problem: Problem) -> Iterator[dict[str, Any]]:
        """The child's answers on one problem: the rows in use, then one law for each draft block."""
        self._say(do="law", problem=as_json(problem))
        yield from self._answers(self.timeout)

    def sample(self, problem: Problem, count: int, seed: int) -> Iterator[dict[str, Any]]:
        """Counts of outcomes with real random numbers, in chunks."""
        self._say(do="sample", problem=as_json(problem), count=count, seed=seed)
        yield from self._answers(self.timeout)

    def stop(self) -> None:
        """End the child and everything it started."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        child.wait()
        self._errors.close()

    def _say(self, **message) -> None:
        if self._child is None:
            raise RunFailed("crash", "the child process has ended")
        try:
            self._child.stdin.write(json.dumps(message).encode() + b"\n")
            self._child.stdin.flush()
        except (BrokenPipeError, OSError):
            raise self._crashed() from None

    def _answers(self, seconds: float) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + seconds
        while True:
            answer = self._line(deadline, seconds)
            if "error" in answer:
                raise RunFailed(answer.get("kind", "load"), answer["error"])
            if answer.pop("done", False):
                yield answer
                return
            yield answer
            if "ok" in answer:
                return

    def _line(self, deadline: float, seconds: float) -> dict[str, Any]:
        pipe = self._child.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0:
                    self.stop()
                    raise RunFailed(
                        "timeout",
                        f"no answer within {seconds:g} s{self._doing} (--timeout sets the limit for one problem)",
                    )
                if not selector.select(min(left, 0.5)):
                    if self._child.poll() is not None:  # it ended, but something it started holds the pipe
                        raise self._crashed()
                    continue
                read = os.read(pipe.fileno(), 1 << 16)
                if not read:
                    raise self._crashed()
                self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            answer = json.loads(line)
            if answer.pop("number") != self._answered:
                raise ValueError
        except (ValueError, KeyError, AttributeError, TypeError):
            self.stop()
            raise RunFailed("crash", "the answers of the child process are garbled") from None
        self._answered += 1
        return answer

    def _crashed(self) -> RunFailed:
        child = self._child
        try:
            code = child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        self._errors.seek(0)
        told = self._errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        self.stop()
        how = f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit status {code}"
        return RunFailed("crash", f"the process ended ({how})" + (f": {told[-1][:200]}" if told else ""))
