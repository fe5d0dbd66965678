"""Copies of a child process that has loaded a subject, each with requests, answers and limits of its own.

The child forks itself where that is safe (``interception.serving``). Its pipes to the copies exist before it starts.
"""

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from ..models.errors import RunFailed
from .child_process import ChildProcess, Printed
from .templates import ForkedHandle


class CopyPipes:
    """A set of pipes to a copy that is not forked yet.

    theirs: file descriptors of the copy: its requests, answers, output and errors.
    """

    def __init__(self) -> None:
        self.output, self.errors = Printed(), Printed()
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        self.theirs = requests, answers, self.output.writing_end, self.errors.writing_end

    def started(self) -> None:
        """Close the copy's ends on this side."""
        for end in self.theirs:
            os.close(end)

    def close(self) -> None:
        """Close this side's ends."""
        for end in (self.requests, self.answers):
            os.close(end)
        for printed in (self.output, self.errors):
            printed.reading_end.close()


class CopyingProcess(ChildProcess):
    """A child process that can be copied so many times.

    copies: how often. options: of ``ChildProcess``.
    """

    def __init__(self, module: str, arguments: Sequence[str] = (), *, copies: int, **options: Any):
        self.pipes = [CopyPipes() for _ in range(copies)]
        self.copies: list[CopiedProcess] = []
        try:
            super().__init__(module, arguments, copies=[pipes.theirs for pipes in self.pipes], **options)
        finally:
            for pipes in self.pipes:
                pipes.started()

    def end(self, patience: float = 0.0) -> None:
        for copy in self.copies:
            copy.end()
        if not self.ended:
            for pipes in self.pipes:
                pipes.close()
        super().end(patience)

    def copied(self) -> "CopiedProcess":
        """Fork the child. Raises: RunFailed, of the kind "fork" where that is not safe."""
        self.send(do="fork", ends=self.pipes[0].theirs)
        answer = self.receive()
        if "error" in answer:
            raise RunFailed("fork", answer["error"])
        copy = CopiedProcess(self, self.pipes.pop(0), answer["pid"])
        self.copies.append(copy)
        return copy

    def reaped(self, pid: int) -> int | None:
        """Return the exit code of a copy; None while it runs. After the child has ended nobody knows it: killed."""
        with self.asking:
            try:
                self.send(do="reap", pid=pid)
                return self.receive()["code"]
            except (RunFailed, ValueError):  # a pipe that is closed
                return -signal.SIGKILL


class CopiedProcess(ChildProcess):
    """A copy of a child process, in a group of its own. It ends by itself when its requests do."""

    def __init__(self, of: CopyingProcess, pipes: CopyPipes, pid: int):
        self.limits, self.output, self.errors = of.limits, pipes.output, pipes.errors
        self._counted, self.session = time.monotonic(), of.session
        self.what, self.ended, self._printed = of.what, False, (self.errors, self.output)
        self._process = ForkedHandle(of, pid)
        self._hold(os.fdopen(pipes.requests, "wb", buffering=0), os.fdopen(pipes.answers, "rb", buffering=0))
        self.expect("the child process", self.limits.timeout)
        self.receive()  # it is in its group now
