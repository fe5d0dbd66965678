"""The memory of one third-party function while its laws are measured.

Each subject gets one of its own, and its tracers carry it. What was found on one path serves on the next; a subject
that comes after it starts with an empty one.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .arithmetic import Arithmetic
from .reads import Reads

FIRST_REPEATED = 300
"""Paths of a subject that are replayed at every point; each later one is at one or two points, which take turns."""


@dataclass
class Exploration:
    """The memory of one subject.

    seed: the seed that the subject is called with, as decoders are; None for functions. A generator made from it is
      chance.
    replays: how often a path is replayed with plain numbers: three replays are its middle and its ends.
    repeated: the number of paths replayed so far.
    monotone: operations that were seen to be monotone where they were asked for.
    effects: what calls of torch's functions were seen to do to random entries.
    put_off: most answers of a comparison that was put off (``undecided``) in the call at hand. deciding: which of
      them tensors depend on. late: whether any are put off. compared: laws of such calls that were found at once too.
    thresholds, edges, ladders, races: known answers, since replays of a path ask the same questions again.
    reads: what its calls have asked of their surroundings.
    until: processor time of this process after which no further path is begun (``time_limits``).
    noise_rows: whether rows of noise are traced as a whole.
    arithmetic: the dtypes in which it computes on the problem at hand. None in float64 on small problems, where no
      dtype is finer and no sum is long.
    decisions: the paths of a call with the line of each decision, if that is asked for.
    """

    seed: int | None = None
    replays: int = 6
    repeated: int = 0
    monotone: set[tuple] = field(default_factory=set)
    effects: dict[tuple, Any] = field(default_factory=dict)
    put_off: int = 0
    deciding: dict[tuple, int | None] = field(default_factory=dict)
    late: bool = True
    compared: int = 0
    thresholds: dict[tuple, tuple[bool, int, bool]] = field(default_factory=dict)
    edges: dict[tuple, tuple[int, ...]] = field(default_factory=dict)
    ladders: dict[tuple, Any] = field(default_factory=dict)
    races: dict[tuple, Any] = field(default_factory=dict)
    reads: Reads = field(default_factory=dict)
    until: float = math.inf
    noise_rows: bool = True
    arithmetic: Arithmetic | None = None
    decisions: list[dict[str, Any]] | None = None

    @contextmanager
    def noting_no_types(self) -> Iterator[None]:
        """Suspend the notes on dtypes, for replays of a path on which they were made before."""
        arithmetic, self.arithmetic = self.arithmetic, None
        try:
            yield
        finally:
            self.arithmetic = arithmetic

    def points(self, one: bool = False) -> Sequence[int]:
        """Return the points of the next path that are replayed with plain numbers, as of ``RandomSource.on_path``.

        The first three are the middle and both ends. The law does not rest on their number: every comparison of a path
        was seen. They look for code that treats stand-ins differently, which shows on the first paths or on many.
        one: whether a later path has one of the two points, the middle or another in turn, and not both.
        """
        if self.repeated < FIRST_REPEATED:
            return range(self.replays)
        others = self.replays - 1
        if one:
            turn = self.repeated % (2 * others + 1)  # odd, so that paths that alternate have all in the end
            return ((turn + 1) // 2 if turn % 2 else 0,)
        return (0, 1 + self.repeated % others)
