"""How long code in a child process may run, by the clock of its processor, which a busy machine cannot run out."""

from typing import NamedTuple

WALL_CLOCK_FACTOR = 10.0
"""Seconds of wall-clock time allowed for each second of processor time."""

WAITING = 120.0
"""Seconds of wall-clock time allowed beside those, to code that sleeps or waits."""


class TimeLimits(NamedTuple):
    """What ``--timeout`` allows, in seconds of processor time unless said otherwise.

    timeout: for an import, and for all calls on one problem.
    waiting: wall-clock seconds that every limit allows on top of ten times its processor time.
    """

    timeout: float
    waiting: float = WAITING

    @property
    def first_call(self) -> float:
        """For the first call on a problem, which may compile."""
        return self.timeout / 2

    @property
    def call(self) -> float:
        """For every later call."""
        return self.timeout / 6

    def wall_clock(self, processor: float | None) -> float:
        """Wall-clock seconds allowed beside so many of processor time; where that has no limit, ``timeout``."""
        return self.timeout if processor is None else WALL_CLOCK_FACTOR * processor + self.waiting

    def within(self, processor: float | None, *, waited: bool) -> str:
        """The limit that ran out, for a message: the number in force, its clock and the option.

        waited: whether wall-clock time ran out, and not processor time.
        """
        seconds, clock = (self.wall_clock(processor), "wall-clock") if waited else (processor, "processor")
        return f"within {seconds:g} s of {clock} time (--timeout {self.timeout:g})"
