"""Proofs side by side: in copies of this process, while Coq compiles in processes of its own."""

import os
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Any

from ..verifiers.evidence import ERROR
from .proving import Proof, ProofRow, run
from .statements import METHODS

BETWEEN_LOOKS = 1.0
"""Seconds after which a copy without work looks whether this process is still there."""

CAN_FORK = sys.platform == "linux"
"""On Linux a process that has imported numeric libraries can go on after a fork; with those of macOS it cannot."""


class Stopped(Exception):
    """Nothing more is to be started: the user has ended the command."""


class Turns:
    """A limit on the cores that are used: a context manager that at most ``jobs`` threads are in at a time.

    groups: the process groups that these threads have started, and that still run. waiting: threads that wait to enter.
    Raises: Stopped, on entering, after ``stop``.
    """

    def __init__(self, jobs: int):
        self.jobs, self.groups = jobs, set[int]()
        self._turn, self._stopped = threading.Condition(), False
        self._free, self.waiting = jobs, 0

    def __enter__(self) -> None:
        with self._turn:
            self.waiting += 1
            self._turn.wait_for(lambda: self._stopped or self._free)
            self.waiting -= 1
            self._take()

    def __exit__(self, *failure: object) -> None:
        with self._turn:
            self._free += 1
            self._turn.notify_all()

    @contextmanager
    def when_none_waits(self) -> Iterator[None]:
        """Enter once there is a core that nobody who enters directly waits for."""
        with self._turn:
            self._turn.wait_for(lambda: self._stopped or self._free > self.waiting)
            self._take()
        try:
            yield
        finally:
            self.__exit__()

    def stop(self) -> None:
        """End what runs, and let nothing else begin."""
        with self._turn:
            self._stopped = True
            self._turn.notify_all()
        for group in [*self.groups]:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def _take(self) -> None:
        if self._stopped:
            raise Stopped
        self._free -= 1


class Copy:
    """A copy of this process that runs the proofs it is asked for by their place in the list."""

    def __init__(self, proofs: Sequence[Proof]):
        self._proofs, self._ended = proofs, False
        self._fork()

    def _fork(self) -> None:
        context = get_context("fork")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self._proofs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()

    def row(self, place: int) -> ProofRow:
        """Return the row of a proof: an error if the copy ends meanwhile, after which there is another copy."""
        try:
            self._pipe.send(place)
            return self._pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            said = f"its process ended with exit status {self.process.exitcode}"
            if not self._ended:
                self._fork()
            return ProofRow(*self._proofs[place][:4], ERROR, 0.0, said)

    def end(self) -> None:
        self._ended = True
        self.process.kill()
        self.process.join()


def _serve(pipe: Any, proofs: Sequence[Proof], parent: int) -> None:
    """Answer each place that comes with the row of its proof, as long as the parent lives."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the copies
    while True:
        while not pipe.poll(BETWEEN_LOOKS):
            if os.getppid() != parent:
                return
        try:
            place = pipe.recv()
        except EOFError:
            return
        (row,) = run([proofs[place]])
        pipe.send(row)


def side_by_side(proofs: Sequence[Proof], jobs: int, turns: Turns) -> Iterator[ProofRow]:
    """Run the proofs, ``jobs`` at a time, and yield each row as soon as it is there.

    Coq goes before the others, since one of its files waits for another: the others use the cores that it leaves. Of
    those by z3 and sympy begin: among them are the longest. turns: those in which Coq compiles too.
    Guarantee: each row is that of ``run``, seconds apart. If a process is killed, its proof ends as an error.
    """
    if jobs == 1 or not CAN_FORK:
        yield from run(proofs)
        return
    by_coq = [proof for proof in proofs if proof.method == "coq"]
    left = deque(sorted((k for k, proof in enumerate(proofs) if proof.method != "coq"),
                        key=lambda k: -METHODS.index(proofs[k].method)))  # fmt: skip
    copies = [Copy(proofs) for _ in range(min(jobs, len(left)))]
    rows: queue.SimpleQueue[ProofRow] = queue.SimpleQueue()

    def take_proofs(copy: Copy) -> None:
        with suppress(IndexError, Stopped):
            while True:
                with turns.when_none_waits():
                    row = copy.row(left.popleft())
                rows.put(row)

    def ask_coq() -> None:
        for row in run(by_coq):
            rows.put(row)

    work = [threading.Thread(target=take_proofs, args=(copy,), daemon=True) for copy in copies]
    for thread in (threading.Thread(target=ask_coq, daemon=True), *work):
        thread.start()
    try:
        for _ in proofs:
            yield rows.get()
    finally:
        turns.stop()
        for copy in copies:
            copy.end()
