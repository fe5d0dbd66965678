"""Copies of a process that third-party code forks off and that come back from its call: ended, waited for, counted.

A copy says its process id through a pipe before it ends, so that no other process is waited for: those that the
third-party code started by ``subprocess`` or ``multiprocessing`` are its own to wait for.
"""

import contextlib
import os
import select
import struct

ID = struct.Struct("=q")

PATIENCE = 0.05
"""Seconds to wait for copies that a call has made: without it they grow more and more."""


class Copies:
    """A count of copies of the process that calls ``mind``. Before that call copies are ended, and not waited for.

    ended: copies that came back and were ended.
    """

    def __init__(self) -> None:
        self.ended, self._process, self._made = 0, 0, 0
        self._read = self._write = -1

    def mind(self) -> None:
        """Record this process as the parent that must survive."""
        self._process = os.getpid()
        self._read, self._write = os.pipe()
        os.register_at_fork(after_in_parent=self._count)

    def _count(self) -> None:
        self._made += 1

    def end(self) -> None:
        """End this process, a copy."""
        with contextlib.suppress(OSError):
            os.write(self._write, ID.pack(os.getpid()))
        os._exit(0)

    def settle(self) -> None:
        """End a forked child after its call, and reap those that have exited."""
        if self._process and os.getpid() != self._process:
            self.end()
        while self._made:
            self._made -= 1
            try:
                if not select.select([self._read], [], [], PATIENCE)[0]:
                    break  # it does something else; what comes later is waited for after a later fork
                (process,) = ID.unpack(os.read(self._read, ID.size))
            except (OSError, ValueError, struct.error):
                break  # its files were closed
            self.ended += 1
            with contextlib.suppress(OSError):  # a copy of a copy
                os.waitpid(process, 0)


COPIES = Copies()
