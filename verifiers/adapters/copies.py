"""Copies of a process that third-party code forks off and that come back from its call: ended, reaped and counted.

A copy ends with an exit status of its own, by which it is known. Processes that the third-party code started by
``subprocess`` or ``multiprocessing`` are its own to wait for.
"""

import contextlib
import os
from os import getpid

COPY = 83
"""The exit status of copies."""


class Copies:
    """A count of copies of the process that calls ``remember_process``.

    ended: copies that came back and were ended.
    """

    def __init__(self) -> None:
        self.ended, self._process, self._forks = 0, 0, 0

    def remember_process(self) -> None:
        """Record this process as the one that goes on."""
        if not self._process:
            os.register_at_fork(after_in_parent=self._count)
        self._process, self._forks = getpid(), 0

    def _count(self) -> None:
        self._forks += 1

    def forget_fork(self) -> None:
        """Take back the last fork, which was our own."""
        self._forks -= 1

    def settle(self) -> None:
        """End a copy after its call, for it must neither answer nor go on, and reap those that have ended."""
        if self._process and getpid() != self._process:
            os._exit(COPY)
        while self._forks:
            with contextlib.suppress(ChildProcessError):
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is not None and ended.si_status == COPY:
                    os.waitpid(ended.si_pid, 0)
                    self._forks, self.ended = self._forks - 1, self.ended + 1
                    continue
            break  # those that still run are reaped after a later call


COPIES = Copies()
