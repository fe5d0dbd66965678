"""What a process prints: read from a pipe as it comes, counted, and its end kept. No file grows, and no write fails."""

import os

LAST = 2000
"""Bytes that are kept."""

AT_ONCE = 2**20


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
        """The process has its end: close ours, so that the pipe ends with the process."""
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
        """The last line that is not empty; empty if there is none."""
        lines = self._last.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def amount(count: int) -> str:
    """Bytes, for a message."""
    return f"{count / 1e6:,.1f} MB" if count >= 10**5 else f"{count:,} bytes"
