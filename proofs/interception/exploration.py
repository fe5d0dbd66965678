"""What is remembered of one third-party function while its laws are measured, and nothing of any other.

One is made for each subject, and its tracers carry it: what was seen of its loops and whole numbers on one path
serves on
the next, and a subject that comes after it starts with none of it.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .arithmetic import Arithmetic
from .reads import Reads

FIRST_REPEATED = 1000
"""Paths of a subject from which on each is repeated at one scattered point in place of three."""

MOST_LOOPS, CALLS_OF_VALUES, MOST_UNLIKE = 12, 20_000, 3
"""Loops that are left after each of many rounds; values of larger groups of whole numbers that are walked one and all;
loops whose rounds were not seen to be alike, beyond which no further one is looked at."""


@dataclass
class Exploration:
    """The memory of one subject.

    endless: places in its code that were seen to draw without end (``recurring``).
    by_value: places, with the kind of number, at which a plain whole number is a path for each value (``groups``).
    seed: that the subject is called with, as decoders are; None of functions. A generator made from it is chance.
    rehearsals: how often a path is walked with plain numbers: three are its middle and its ends.
    repeated: how many paths were, so far.
    unlike, loops_left, values_left: loops whose rounds were not alike so far, and what is left of the budgets above.
    monotone: operations that were seen to be monotone where they were asked for.
    effects: what calls of torch's functions were seen to do to random entries.
    thresholds, edges, ladders, races: answers that are known: replays of a path ask the same questions again.
    reads: what its calls have asked of their surroundings.
    until: processor time of this process after which no further path is begun (``time_limits``).
    noise_rows: whether rows of noise are followed as a whole.
    loops_over_rows: lines where a number is compared with cut after cut (``scans``): how, and the answer on which the
      loop goes on.
    races_in_loops: lines where a random score is compared with the best so far again and again (``race_loops``).
    tables: what is known at places where a whole number was drawn that may be a column (``alias_tables``).
    arithmetic: the types in which it computes on the problem at hand; None where nothing can
      be finer, in float64, nor sums be long.
    """

    endless: set[tuple] = field(default_factory=set)
    by_value: set[tuple] = field(default_factory=set)
    seed: int | None = None
    rehearsals: int = 6
    repeated: int = 0
    unlike: int = 0
    loops_left: int = MOST_LOOPS
    values_left: int = CALLS_OF_VALUES
    monotone: set[tuple] = field(default_factory=set)
    effects: dict[tuple, Any] = field(default_factory=dict)
    thresholds: dict[tuple, tuple[bool, int, bool]] = field(default_factory=dict)
    edges: dict[tuple, tuple[int, ...]] = field(default_factory=dict)
    ladders: dict[tuple, Any] = field(default_factory=dict)
    races: dict[tuple, Any] = field(default_factory=dict)
    reads: Reads = field(default_factory=dict)
    until: float = math.inf
    noise_rows: bool = True
    loops_over_rows: dict[tuple[str, int], tuple[str, bool]] = field(default_factory=dict)
    races_in_loops: set[tuple] = field(default_factory=set)
    tables: dict[tuple, Any] = field(default_factory=dict)
    arithmetic: Arithmetic | None = None

    @contextmanager
    def noting_no_types(self) -> Iterator[None]:
        """For calls with plain numbers on a path on which the types in which it computes were noted before."""
        arithmetic, self.arithmetic = self.arithmetic, None
        try:
            yield
        finally:
            self.arithmetic = arithmetic

    @property
    def times(self) -> int:
        """How often the next path is walked with plain numbers."""
        return min(self.rehearsals, 6 if self.repeated < FIRST_REPEATED else 4)

    @property
    def follows_loops(self) -> bool:
        """Whether loops without a bound are still looked at for rounds that are alike."""
        return self.unlike < MOST_UNLIKE
