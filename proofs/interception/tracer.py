"""One exploration of a third-party function: its choices, its random numbers, and what was noticed on the way."""

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ..enumeration import Branching
from ..field import QQ, rational
from ..time_limits import NOT_REACHED
from .exploration import Exploration
from .reads import asking_line
from .shared_noise import WholePath

MAX_CHOICES_PER_PATH = 400
"""Largest number of random choices in one call; code that makes more draws without bound."""

MAX_NUMBERS_PER_PATH = 3_000
"""Largest number of random numbers in one call on a small problem; code that draws more draws without bound."""

MAX_PATHS_PER_CALL = 20_000
"""Largest number of paths of one law."""

MOST_CHOICES = 120_000
"""Largest number of random choices on all paths of one law: long paths take longer."""

FIRST_PATHS = 100
"""Paths traced in order of their probability, before the longest one is looked for."""

MOST_ENDLESS = 1_000
"""Largest number of paths of code that draws without bound."""

LONG_PATH = 120
"""Random choices in one call from which on code is taken to draw without bound."""

SMALL = 2.0**-46
"""Probability of the remaining paths at which the search of unbounded code ends. It is added to the resolution."""

FAR = 2.0**-10
"""Probability of the remaining paths at which the search is given up, once the code is known to be unbounded."""

STATE = (
    "called again with the same inputs and the same random numbers it behaves differently: "
    "it keeps state between calls, or draws randomness from elsewhere"
)

LookUp = tuple[float, str] | None
"""Bits of a uniform that is looked up in a running sum, and the sum's dtype ("" if it is not known)."""

DEPENDS = "what is drawn from a row decides further draws"

MOST_VALUES = 4096
"""Largest number of values of a whole number that are traced one by one, each on a path of its own."""


class NotInterceptable(BaseException):
    """A signal that the function does something with a random number that is not traced.

    It is no Exception, so that an ``except Exception`` of third-party code does not swallow it.

    neutral: whether right code does so too, so that the reason says nothing of it: its paths, or its style.
    """

    def __init__(self, reason: str, neutral: bool = False):
        super().__init__(reason)
        self.reason, self.neutral = reason, neutral


class PathLeft(BaseException):
    """A signal that a path of unbounded code is not traced further. It is no Exception either."""


class Tracer(Branching):
    """A source of random numbers that decides what is asked of them, and traces every way they can fall.

    exploration: what is remembered of the subject.
    exactness: "exact" while only whole weights were drawn, "lattice" once a uniform was compared (exact on the
      generator's grid), "resolution" once a part of the law was left out, "by-calls" once a race was looked at at
      levels.
    resolution: the total variation by which the law may be wrong, all paths together.
    between_levels: what may hide between the levels at which races were looked at, all paths together.
    whole_from: entries of a row from which on a number that meets it is looked up in it as a whole.
    most_numbers, long_path, most_values, most_cuts: limits of one path (``MAX_NUMBERS_PER_PATH``, ``LONG_PATH``,
      ``MOST_VALUES``), and of the comparisons of one number. most_choices: the limit of all (``MOST_CHOICES``).
    numbers: random numbers on the paths that were replayed. retracing: whether a recorded path is traced again.
    races: those of the path, by their place in it.
    shares_noise: whether races that share noise are looked at together, after all paths (``shared_noise``).
    seeded: kind of generator -> the call in which one was made from the seed of the call.
    lines: the line of each decision on the path, if that is asked for.
    asked_at: the place and line of a decision that was put off, while it is made.
    """

    shares_noise = False
    whole_from: float = math.inf
    most_numbers: float = MAX_NUMBERS_PER_PATH
    long_path: float = LONG_PATH
    most_values = MOST_VALUES
    most_choices = MOST_CHOICES
    most_cuts: float = math.inf

    def __init__(self, exploration: Exploration):
        super().__init__()
        self.exploration = exploration
        self.queue: list[tuple[float, int, tuple[tuple[int, ...], Any]]] = []
        self.counter, self.longest_first, self.endless, self.left = itertools.count(), False, False, False
        self.findings: dict[str, str] = {}
        self.run = object()
        self.paths = self.choices = self.numbers = 0
        self.lattices: set[int] = set()
        self.resolution = self.between_levels = 0.0
        self.failure: NotInterceptable | None = None
        self.seeded: dict[str, object] = {}
        self.questions: dict[tuple[int, ...], tuple] = {}
        self.sources: list[Any] = []
        self.drawn: list[int] = []
        self.rows: list[Any] = []
        self.plain_call: tuple[list[int], list[int]] | None = None
        self.recorded: tuple[list[Any], list[int]] = ([], [])
        self.plain: list[Any] = []
        self.asked: list[tuple | list] = []
        self.retracing = False
        self.races: dict[int, Any] = {}
        self.lines: list[tuple[str, int]] = []
        self.asked_at: tuple[Any, tuple[str, int]] | None = None

    @property
    def exactness(self) -> str:
        if self.between_levels:
            return "by-calls"
        if self.resolution:
            return "resolution"
        return "lattice" if self.lattices else "exact"

    def begin(self) -> bool:
        """Set out on the next path. Return False if all are traced, or what unbounded code has left is small."""
        self.run = object()
        self.sources, self.drawn, self.plain_call = [], [], None
        self.retracing, self.lines, self.races = False, [], {}
        longest_first = self.paths >= FIRST_PATHS and not self.endless
        if longest_first != self.longest_first:
            self.longest_first = longest_first
            self.pending = [*self.pending, *(way for _, _, way in self.queue)]
            self.queue = []
        for script, probability in self.pending:
            order = -len(script) if longest_first else -float(probability)
            heapq.heappush(self.queue, (order, -next(self.counter), (script, probability)))
        self.pending = []
        if not self.queue or (self.endless and self._ends_here()):
            return False
        self.pending = [heapq.heappop(self.queue)[2]]
        self.left = False
        self.paths += 1
        self.mind_the_time()
        self.choices += len(self.pending[0][0])
        if self.choices > self.most_choices:
            self.give_up(f"more than {self.most_choices:,} random choices, on {self.paths:,} ways they can fall")
        if self.paths > MAX_PATHS_PER_CALL:
            self.give_up(f"more than {MAX_PATHS_PER_CALL:,} ways the random numbers can fall")
        return super().begin()

    def mind_the_time(self) -> None:
        """Give up if the audit has no time for further paths."""
        if time.process_time() > self.exploration.until:
            self.give_up(NOT_REACHED)

    def _ends_here(self) -> bool:
        """Check whether the remaining paths have so little probability that it can be added to the resolution."""
        left = sum(float(p) for _, _, (_, p) in self.queue)
        if left <= SMALL:
            self.resolution += left
        elif (left > FAR and self.paths > FIRST_PATHS) or self.paths > MOST_ENDLESS:
            self.give_up(
                f"draws without bound: {LONG_PATH} random choices in one call and more, and after {self.paths} ways "
                f"they can fall others are left, with probability {left:.1g}"
            )
        return left <= SMALL

    def remember_path(self) -> None:
        """Save the sources and indices of the path just traced, to replay it."""
        self.recorded = (self.sources, self.drawn)

    def leaf(self, outcome: Any) -> WholePath:
        """Return the path just traced, to be replayed after the others."""
        questions = tuple(self.questions[tuple(self.path[:at])] for at in range(len(self.path)))
        return WholePath(outcome, tuple(self.path), questions, self.races, self.sources, self.drawn)

    def return_to(self, leaf: WholePath) -> None:
        """Take a path for the one just traced."""
        self.path, self.races, self.sources, self.drawn = [*leaf.answers], leaf.races, leaf.sources, leaf.drawn

    def replay(self, which: int) -> None:
        """Set out on that path again, with plain numbers that lie on it in place of traced ones."""
        sources, drawn = self.recorded
        self.walk([source.on_path(which) for source in sources], drawn)

    def walk(self, points: list[int], drawn: list[int]) -> None:
        """Set out with plain numbers at these points of their sources, and with these indices drawn."""
        self.plain_call = (points, drawn[::-1])
        self.run = object()
        self.sources, self.plain, self.asked = [], [], []

    def hand_out(self, source: Any, traced: Any) -> Any:
        """Return a random number for third-party code: ``traced``, or the plain number of a replay."""
        if self.plain_call is not None:
            return self.plain_number(source.value)
        self.sources.append(source)
        if len(self.sources) > self.most_numbers:  # a loop in which they decide nothing
            self.give_up(f"draws without bound: more than {self.most_numbers:,} random numbers in one call")
        return traced

    def plain_number(self, value: Callable[[Any], Any]) -> Any:
        """Return the next number of a replay. value: the source's function from a point to a number."""
        assert self.plain_call is not None
        points, at = self.plain_call[0], len(self.sources)
        if at >= len(points):
            raise NotInterceptable("with plain random numbers it draws more of them")
        self.sources.append(points[at])
        self.plain.append(value(points[at]))
        return self.plain[-1]

    def give_up(self, reason: str, neutral: bool = False) -> NoReturn:
        """Stop tracing. The reason goes with the result.

        neutral: as of ``NotInterceptable``.
        """
        self.failure = NotInterceptable(reason, neutral)
        raise self.failure

    def differs(self) -> NoReturn:
        """Stop tracing a call that was repeated with its random numbers and returned something else."""
        self.notice("state", STATE)
        self.give_up("with the same random numbers it returned different results")

    def uncertain(self, amount: float, between_levels: float = 0.0) -> None:
        """Record that the law of the next decision may be wrong by so much, where this path comes to it.

        between_levels: what may hide in it between the points at which it was looked at.
        """
        if len(self.path) >= len(self.script) and not self.retracing:  # not in a replay, where it was added before
            self.resolution += amount * float(self.probability)
            self.between_levels += between_levels * float(self.probability)

    def notice(self, kind: str, text: str) -> None:
        self.findings.setdefault(kind, text)

    def branch(self, probabilities: Sequence[Any]) -> int:
        """Choose the side of a decision about a traced number that this path is on."""
        at = len(self.path)
        if at >= MAX_CHOICES_PER_PATH:
            self.give_up(f"draws without bound: more than {MAX_CHOICES_PER_PATH} random choices in one call", True)
        self.endless = self.endless or at >= self.long_path
        if self.endless and at >= LONG_PATH and (probability := float(self.probability)) < SMALL / MOST_ENDLESS:
            self.resolution += 0.0 if self.left else probability
            self.left = True
            raise PathLeft
        if self.exploration.decisions is not None:
            self.lines.append(self.asked_at[1] if self.asked_at else asking_line())
        here, asked = tuple(self.path), tuple(probabilities)
        if self.questions.get(here) != asked:
            self.leave_retrace()
        if self.questions.setdefault(here, asked) != asked:
            self.differs()
        return super().choose(probabilities)

    def leave_retrace(self) -> None:
        """Stop a replay that made a different request than the recorded path."""
        if self.retracing:
            raise NotInterceptable(DEPENDS)

    def choose(self, probabilities: Sequence[Any]) -> int:
        """Make a choice that arrives whole. The index drawn goes to third-party code as it is."""
        if self.plain_call is not None:
            self.asked.append(tuple(probabilities))
            return self.replayed_choice()
        self.drawn.append(self.branch(probabilities))
        return self.drawn[-1]

    def replayed_choice(self) -> int:
        """Return the index that a replay has for the next choice."""
        assert self.plain_call is not None
        if not self.plain_call[1]:
            raise NotInterceptable("with plain random numbers it makes more choices")
        return self.plain_call[1].pop()

    def draw_row(self, weights: Any, look_up: LookUp = None) -> int:
        """Draw an index by weights, with a path for each entry. weights: a row, or a function that makes it."""
        row: Any = weights() if callable(weights) else weights
        if self.plain_call is None:
            return self.choose(shares(row))
        self.asked.append([*row])
        return self.replayed_choice()

    def noise(self, shape: tuple[int, ...], kind: str, dtype: Any, step: float = 0.0) -> Any:
        """Return None: each number is traced alone. On wide problems return noise that is raced as a whole row.

        step: the generator's step, if it is coarser than in double precision.
        """
        return None

    def look_up(
        self, number: Any, passed: Callable[[Any], Any], cuts: Callable[[], Any],
        before: Callable[[], Any] = lambda: None,
    ) -> int | None:  # fmt: skip
        """Return None: a number is compared cut by cut. On wide problems return how many cuts of a row a uniform has
        passed.

        passed(x): for numbers [n] at points of the uniform, whether number k passes cut k. cuts: the row [n].
        before: where each stands for several, how many there are before each, and in all [n + 1].
        """
        return None

    def pick(self, count: int) -> int:
        """Choose one of ``count`` equally likely branches, such as the values of a whole number."""
        if count > self.most_values:
            self.give_up(f"it draws one of {count:,} whole numbers, too many to follow")
        return self.choose([QQ(1, count)] * count)


def shares(weights: Iterable[Any]) -> list[Any]:
    """Return the weights over their sum, exactly."""
    exact = [rational(w) for w in weights]
    total = sum(exact)
    return [w / total for w in exact]


class _InForce:
    """The tracer of the call that is being made. Only ``in_force`` sets it."""

    tracer: Tracer | None = None


class in_force:  # entered for every call, where a generator would take longer
    """A context in which hooks hand out the numbers of a tracer. Raises: RuntimeError within another, since one call is
    made at a time."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer

    def __enter__(self) -> None:
        if _InForce.tracer is not None:
            raise RuntimeError("a call is being followed already")
        _InForce.tracer = self.tracer

    def __exit__(self, *exception: object) -> None:
        _InForce.tracer = None


@contextmanager
def not_followed() -> Iterator[None]:
    """Suspend tracing, to look at what a call left behind: its random numbers then equal nothing, and are not asked."""
    tracer, _InForce.tracer = _InForce.tracer, None
    try:
        yield
    finally:
        _InForce.tracer = tracer


def active() -> Tracer | None:
    """Return the tracer in force. Hooks hand out real random numbers while there is none."""
    return _InForce.tracer


def refuse(reason: str) -> None:
    """Give up if a function is being traced; otherwise do nothing."""
    tracer = active()
    if tracer is not None:
        tracer.give_up(reason)


def give_up(reason: str) -> NoReturn:
    """Give up the trace in force."""
    tracer = active()
    assert tracer is not None
    tracer.give_up(reason)
