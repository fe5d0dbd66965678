"""How long code in a child process may run, by the clock of its processor, which a busy machine cannot run out; and how
much processor time an audit may take: its own, and that of all processes that it started."""

import math
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psutil

from ..models.errors import RunFailed

WALL_CLOCK_FACTOR = 10.0
"""Seconds of wall-clock time allowed for each second of processor time."""

WAITING = 120.0
"""Seconds of wall-clock time allowed beside those, to code that sleeps or waits."""

NOT_REACHED = "not reached within the processor time of the audit"
"""Why nothing is known of what there was no time for."""

LEAST = 0.1
"""Seconds with which nothing is begun any more."""


class TimeLimits(NamedTuple):
    """A set of limits from ``--timeout``, in seconds of processor time unless said otherwise.

    timeout: for an import, and for all calls on one problem.
    waiting: wall-clock seconds that every limit allows on top of ten times its processor time.
    """

    timeout: float
    waiting: float = WAITING

    @property
    def first_call(self) -> float:
        """Return the limit for the first call on a problem, which may compile."""
        return self.timeout / 2

    @property
    def call(self) -> float:
        """Return the limit for every later call."""
        return self.timeout / 6

    def wall_clock(self, processor: float | None) -> float:
        """Return the wall-clock seconds allowed with so many of processor time; if that has no limit, ``timeout``."""
        return self.timeout if processor is None else WALL_CLOCK_FACTOR * processor + self.waiting

    def within(self, processor: float | None, *, waited: bool) -> str:
        """Name the limit that ran out, for a message: the number in force, its clock and the option.

        waited: whether wall-clock time ran out, and not processor time.
        """
        seconds, clock = (self.wall_clock(processor), "wall-clock") if waited else (processor, "processor")
        return f"within {seconds:g} s of {clock} time (--timeout {self.timeout:g})"


class ProcessorTime:
    """A budget of processor time. seconds: the limit; none by default, and nothing is measured."""

    def __init__(self, seconds: float = math.inf):
        self.seconds, self._since = seconds, _used()

    def spent(self) -> float:
        """Return the seconds so far."""
        return _used() - self._since

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """Leave out what is spent inside; without a limit nothing is measured."""
        before = _used() if self.seconds < math.inf else 0.0
        try:
            yield
        finally:
            if self.seconds < math.inf:
                self._since += _used() - before

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until that share of the limit is spent; 0 if they are too few to begin anything."""
        if self.seconds == math.inf:
            return math.inf
        left = share * self.seconds - self.spent()
        return left if left > LEAST else 0.0


def _used() -> float:
    """Return the seconds that this process took, its children that ended, and all that live below it."""
    ended, living = resource.getrusage(resource.RUSAGE_CHILDREN), 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        living += times.user + times.system + getattr(times, "children_user", 0) + getattr(times, "children_system", 0)
    return time.process_time() + ended.ru_utime + ended.ru_stime + living


def out_of_time(failure: RunFailed) -> bool:
    """Check whether what failed had no more of the audit's time."""
    return str(failure) == NOT_REACHED
