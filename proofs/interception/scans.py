"""Loops over a row that compare one uniform with cut after cut, until it lies below one: a draw from the row at once.

The loop is seen when one number is compared many times at one line. From then on the call is made twice: once with the
uniform at the end of its range at which the loop goes on for longest, to record the cuts; then it is looked up among
them (``row_draws``), and the comparisons up to the cut where the loop ends have to be with the recorded ones.
"""

import math
import operator
from typing import Any

import numpy as np

from .places import place, site
from .tracer import Recorded

MANY_CUTS, LEAST_CUTS = 64, 5
"""Comparisons of one number at one line that show a loop; cuts of one from which on it is looked up at once."""


class LoopSeen(BaseException):
    """The exploration begins again: what a loop decides was taken for decisions one by one."""


class Scans:
    """Those of one tracer.

    cuts: of each loop that was walked to its end, by the path that led to it; None of one that is not looked up.
    """

    def __init__(self, tracer: Any):
        self.tracer, self.cuts = tracer, dict[tuple, np.ndarray | None]()
        self.begin()

    def begin(self) -> None:
        """A call begins."""
        self.number: Any = None
        self.where: tuple = ()
        self.entered: dict[tuple, Any] = {}  # the numbers, which keep their identity so long
        self.recorded: list[Any] | None = None
        self.known: list[float] | None = None
        self.stopped: type[BaseException] | None = None

    def answer(self, number: Any, cut: Any, name: str) -> bool | None:
        """What a comparison comes to in a loop that was seen; None where it is decided for itself."""
        if number is self.number and self.stopped is None:
            answer = self._in_the_loop(cut, name)
            if answer is not None:
                return answer
        self.ended()
        where = site()[:2]
        if number is not self.number or where != self.where:
            self.number, self.where, self.first, self.asked, self.count = number, where, cut, name, 0
            self.known = None
        source = number.source
        if source.spent is not None or source.settled is not None or getattr(source, "bits", 64) > 53:
            return None
        self.loop = self.tracer.exploration.loops_over_rows.get(where)
        if self.loop is None:
            return self._look_for_a_loop(cut, name)
        here = id(number), where, len(self.tracer.rows)
        if here in self.entered or self.loop[0] != name:
            return None
        self.entered[here] = number
        self._enter()
        return self._in_the_loop(cut, name)

    def _in_the_loop(self, cut: Any, name: str) -> bool | None:
        if self.recorded is not None:
            return self._record(cut, name)
        return None if self.known is None else self._walked(cut, name)

    def _look_for_a_loop(self, cut: Any, name: str) -> None:
        self.count += 1
        if self.count >= MANY_CUTS and self.asked == name and cut != self.first:
            # It goes on as long as the cuts do not reach the number.
            self.tracer.exploration.loops_over_rows[self.where] = name, (name in ("gt", "ge")) == (cut > self.first)
            self.stopped = LoopSeen
            raise LoopSeen

    def _enter(self) -> None:
        """Record the cuts from here on, or look the number up among those that were; neither where they do not fit."""
        number, tracer = self.number, self.tracer
        self.ends, (self.name, self.goes_on) = number.ends(), self.loop
        self.op = getattr(operator, self.name)
        self.key = tuple(tracer.path), len(tracer.rows), tuple(sorted(tracer.forced.items()))
        if self.key not in self.cuts:
            self.recorded, self.left = [], [*self.ends]
            return
        cuts = self.cuts[self.key]
        if cuts is None:
            return
        weak = type(self.ends[0]) is float  # such a number takes the type of the cut
        rising = (self.name in ("gt", "ge")) == self.goes_on
        farthest = (np.maximum if rising else np.minimum).accumulate(cuts)
        passed = lambda x: self.op(x.astype(cuts.dtype) if weak else x, farthest) == self.goes_on  # noqa: E731
        self.stop = tracer.look_up(number, passed, lambda: farthest)
        self.known, self.at, self.ends = cuts.tolist(), 0, number.ends()

    def _record(self, cut: Any, name: str) -> bool:
        """Go on as long as one of the ends of the uniform does."""
        assert self.recorded is not None
        self.recorded.append(cut if name == self.name else math.nan)
        while self.left and self.op(self.left[-1], self.recorded[-1]) != self.goes_on:
            self.left.pop()
        if not self.left:
            self.ended()
        return self.goes_on

    def ended(self) -> None:
        """Something else is asked: where the cuts of a loop were being recorded, these are all."""
        if self.stopped is not None:  # third-party code has swallowed it
            raise self.stopped
        if self.recorded is not None:
            kinds = {*map(type, self.recorded)}
            fit = len(self.recorded) >= LEAST_CUTS and (kinds <= {float, np.float64} or kinds == {np.float32})
            cuts = np.array(self.recorded) if fit else None
            self.cuts[self.key] = None if cuts is None or np.isnan(cuts).any() else cuts
            self.recorded, self.stopped = None, Recorded
            raise Recorded

    def _walked(self, cut: Any, name: str) -> bool | None:
        assert self.known is not None
        if self.at < self.stop:  # so the uniform was looked up: it passes them
            self._compare(cut, name)
            return self.goes_on
        one, other = (bool(getattr(operator, name)(end, cut)) for end in self.ends)
        if self.at == self.stop < len(self.known):
            self._compare(cut, name, one == other != self.goes_on)
        return one if one == other else None

    def _compare(self, cut: Any, name: str, as_looked_up: bool = True) -> None:
        """Give up where the loop is not at the cut that was recorded there."""
        assert self.known is not None
        if cut != self.known[self.at] or name != self.name or not as_looked_up:
            self.tracer.leave_replay()
            self.tracer.give_up(f"the cuts with which a random number is compared at {place()} change", True)
        self.at += 1
