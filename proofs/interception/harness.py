"""Calls of a third-party function by the plain convention, in the child process."""

import contextlib
import errno
import functools
import inspect
import itertools
import linecache
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import ITIMER_PROF, ITIMER_REAL, setitimer  # by name: the functions of the module note who asks
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np

from ...models.errors import RunFailed
from ...models.problem import Problem
from ...verifiers.adapters.calling_convention import (
    ARRAYS,
    BadResult,
    NotASubject,
    OnLogits,
    call,
    never_called,
    plan_call,
    tokens_of,
)
from ...verifiers.adapters.conventions import OFFERED, adapted
from ...verifiers.adapters.copies import COPIES
from ...verifiers.adapters.watermark_keys import over_keys, takes_a_key
from ...verifiers.trees.draft_tree import EVERY_WAY, WAYS
from ..time_limits import TimeLimits
from .exploration import Exploration
from .given_again import same
from .outcomes import Outcome, Raised, readable
from .rows_in_use import Rows, rows_for
from .serving import LARGEST_FILE

MOST_COPIES = 100
"""Largest number of copies of the process that may come back from calls; each takes ten milliseconds to end."""

REPEATED = 1.0
"""Seconds after which a call that went on all the same is interrupted again."""


class NeverReturned(BaseException):
    """A signal that a call was interrupted at a time limit. It is no Exception, so third-party code does not handle it.

    waited: whether its wall-clock time ran out, and not its processor time.
    limit: that limit, for a message.
    """

    def __init__(self, waited: bool, limit: str = ""):
        super().__init__(limit)
        self.waited = waited


OVER_KEYS = "its noise depends on a key, drawn anew for each call: distributions are averages over keys"


class Subject:
    """A third-party function with everything needed to call it.

    exploration: what is remembered of it. calls: the number of calls so far. called: what is called, by plan.
    """

    gaps = driven = False

    def __init__(self, function: Any, name: str, array: str | None, dtype: str, limits: TimeLimits):
        self.findings: dict[str, str] = {}
        if takes_a_key(function):
            function, self.findings["key"] = over_keys(function), OVER_KEYS
        self.function, self.exploration, self.calls = function, Exploration(), 0
        self.name, self.limits = name, limits
        self.called, self.plan = function, plan_call(function, name)
        if isinstance(function, OnLogits):
            self.called, self.plan = function.on_logits, self.plan._replace(by_name=False)
        self.array = array or getattr(self.function, "array", None)
        self.dtype, self.trees, self.drafting = dtype, self.plan.trees, getattr(self.function, "drafting", WAYS)
        self.description: dict[str, Any] = {}
        self.written: set[str] = set()
        self.returned: tuple[Any, tuple[int, ...]] | None = None
        self.outside = Outside(self.called)
        if self.plan.random == "generator" and self.array is None:
            self.array = "torch"
        if self.array == "torch":
            import torch  # noqa: F401  # its hooks come with it

    def until(self, moment: float) -> None:
        """Begin no further path after that processor time."""
        self.exploration.until = moment

    def probe(self, problems: list[Problem]) -> dict[str, Any]:
        """Find the kind of arrays it takes, by calling it for real on a few blocks.

        Raises: NotASubject if no call returns tokens; NeverReturned if two calls do not end.
        """
        refusals, late = {}, None
        for array in [self.array] if self.array else [a for a in ARRAYS if a != "torch" or "torch" in sys.modules]:
            self.array, reasons = array, []
            for problem in problems:
                rows = rows_for(problem, self)
                for block in itertools.islice(rows.blocks(), 3):
                    try:
                        outcome = self.outcome(rows, block, self.real_random(0))
                    except NeverReturned as never:  # it may wait for a rare token
                        if late:
                            raise late from None
                        late = never
                        continue
                    if not isinstance(outcome, Raised):
                        if refusals:
                            first, why = next(iter(refusals.items()))
                            how = f"takes {ARRAY_TEXT[array]}: with {ARRAY_TEXT[first]} it raises {why}"
                            self.findings["array"] = how
                        random = {"random": self.plan.random or "global generators"}
                        random |= {"optional": True} if self.plan.optional else {}
                        return {"array": array, **random, **of_trees(self)}
                    reasons.append(str(outcome) if outcome.error != "BadResult" else outcome.message)
            refusals[array] = reasons[0] if reasons else "nothing"
        if late:
            raise late
        why = next(iter(refusals.values()))
        order = "" if self.plan.by_name else f"; its arguments were given in the order {', '.join(self.plan.names)}"
        raise never_called(self.name, why + order)

    def mind_layout(self, problems: list[Problem]) -> None:
        """Hand in arrays that are not contiguous, and tensors without gradients, unless it refuses those."""
        self.gaps = True
        if self.array == "torch":
            sys.modules["torch"].set_grad_enabled(False)
        try:
            self.probe(problems)
        except NotASubject:
            self.gaps = False

    def real_random(self, seed: int) -> Any:
        """Return the generator to hand in, if one is asked for. It is traced while a tracer is active."""
        if self.plan.random == "rng":
            return np.random.default_rng(seed)
        if self.plan.random == "generator":
            import torch

            return torch.Generator().manual_seed(seed % 2**64)  # as many bits as it takes
        return None

    def outcome(self, rows: "Rows", block: tuple[int, ...], generator: Any) -> Outcome:
        """Make one call on fresh arguments, and return the tokens or what it raised."""
        try:
            given, before = rows.given(block)
        except Exception as error:  # no outcome of a call
            raise RunFailed("raises", f"{self.name}: its arguments cannot be made: {error!r}") from None
        first, rows.called = not rows.called, True
        self.calls += 1
        arithmetic = self.exploration.arithmetic
        try:
            if arithmetic is not None:
                arithmetic.noting, arithmetic.additions = True, 0
            called = functools.partial(call, self.called, self.plan, given, generator)
            return timed_call(self.limits, first, lambda: self._tokens(self.outside.calling(called)))
        finally:
            if arithmetic is not None:
                arithmetic.noting = False
            if not rows.take_back(given):
                self._look_for_writes(given, before)

    def _tokens(self, result: Any) -> tuple[int, ...]:
        """Return the emitted tokens, and check that the result of the call before is still what it was."""
        before, self.returned = self.returned, None
        if before and _now(before[0]) != before[1]:
            text = "what a call returned is overwritten by a later one: it has to be read or copied before"
            self.findings["result-overwritten"] = text
        tokens = tokens_of(result)
        self.outside.look_at(tokens)
        self.returned = result, tokens
        return tokens

    def _look_for_writes(self, given: list, before: list) -> None:
        for name, now, then in zip(self.plan.names, given, before):
            if not same(now, then):
                self.written.add(name)
                self.findings["inputs-written"] = f"writes to its input {', '.join(sorted(self.written))}"


def _now(result: Any) -> tuple[int, ...] | None:
    try:
        return tokens_of(result)
    except BadResult:
        return None


def timed_call(limits: TimeLimits, first: bool, work: Callable[[], Outcome]) -> Outcome:
    """Make a call of third-party code within its time, and return its result or what it raised.

    first: whether it is the first call on a problem, which may take longer.
    Raises: NeverReturned at a time limit; RunFailed for a file that it may not write, since that limit is ours.
    """
    seconds = limits.first_call if first else limits.call
    _set_timers(seconds, limits.wall_clock(seconds))
    try:
        return work()
    except (BadResult, Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise RunFailed("crash", f"a call writes a file of more than {LARGEST_FILE / 2**20:g} MiB") from None
        return Raised(type(error).__name__, readable(error))
    except NeverReturned as late:
        raise NeverReturned(late.waited, limits.within(seconds, waited=late.waited)) from None
    finally:
        _set_timers(0, 0)
        COPIES.settle()
        if COPIES.ended > MOST_COPIES:
            raise RunFailed("crash", f"it forks: more than {MOST_COPIES} copies of its process returned from its calls")


def offered(function: Any, tried: Sequence[str], given: Sequence[Any], problems: list[Problem]) -> str:
    """Return the convention by which a function that cannot be called plainly returns tokens, for a message.

    tried: the conventions by which it was called. given: the other arguments of ``Subject``.
    """
    for conventions in ([*tried, *more] for more in OFFERED):
        with contextlib.suppress(NotASubject, NeverReturned):
            Subject(adapted(function, conventions), *given).probe(problems[:1])
            return f"; with --convention {','.join(conventions)} it returns tokens"
    return ""


def of_trees(subject: Any) -> dict[str, Any]:
    """Return what the calling convention adds for a verifier of draft trees: how they have to be drawn.

    Raises: NotASubject for ways that are not known.
    """
    if not subject.trees:
        return {}
    ways, several = subject.drafting, isinstance(subject.drafting, (list, tuple, set, frozenset))
    if not several or not ways or any(type(way) is not str or way not in EVERY_WAY for way in ways):
        said = readable(ValueError(repr(ways)))[:100]
        known = ", ".join(EVERY_WAY)
        raise NotASubject(f"{subject.name} has drafting {said}; expected a list or tuple of some of {known}")
    return {"trees": [way for way in EVERY_WAY if way in ways]}


ARRAY_TEXT = {
    "numpy": "NumPy arrays", "rows": "lists of NumPy rows", "list": "plain lists", "torch": "torch tensors",
}  # fmt: skip


class _Timers:
    """The state of the timers of calls. heard: whether this process handles their signals, which else would end it."""

    heard = False


def _set_timers(processor: float, clock: float) -> None:
    """Interrupt the call after so many seconds of processor time or by the clock, again and again; 0: never."""
    if _Timers.heard:
        setitimer(ITIMER_PROF, processor, REPEATED)
        setitimer(ITIMER_REAL, clock, REPEATED)


def interrupt_long_calls() -> None:
    """Let the timers of a call raise NeverReturned in the main thread."""

    def interrupt(signum: int, frame: object) -> None:
        raise NeverReturned(waited=signum == signal.SIGALRM)

    for timer in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(timer, interrupt)
    _Timers.heard = True


MOST_FOLLOWED = 1000
"""Largest number of calls that are traced to the line, since each path is called several times."""

Result = TypeVar("Result")


class Outside:
    """A record of returned ids that are no tokens, on one problem.

    id: the first of them. place: the file, the line and its text, once such a call was traced; or a program's answer.
    """

    def __init__(self, function: Any):
        self.code = _code_of(function)
        self.begin(0)

    def begin(self, vocabulary: int) -> None:
        """Take ids of this vocabulary from here on; 0: look at nothing."""
        self.vocabulary, self.id, self.place, self.followed, self.line = vocabulary, None, "", 0, 0

    def calling(self, call: Callable[[], Result]) -> Result:
        """Make a call. Trace it to the line where it returns if it is not known yet which line returns such an id."""
        self.line = 0
        if self.id is None or self.place or self.code is None or self.followed >= MOST_FOLLOWED or sys.getprofile():
            return call()
        self.followed += 1
        sys.setprofile(self._event)
        try:
            return call()
        finally:
            sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is self.code:
            self.line = frame.f_lineno

    def look_at(self, tokens: Sequence[int], by_a_call: bool = True) -> None:
        """Look at what the last call, or some call, returned."""
        if not self.vocabulary or self.place:
            return
        stray = self._stray(tokens)
        if stray is not None and by_a_call and self.line and self.code:
            text = linecache.getline(self.code.co_filename, self.line).strip()
            self.place = f", at {Path(self.code.co_filename).name}:{self.line}" + (f": {text[:100]}" if text else "")
        self.id = self.id if stray is None else stray

    def look_at_answer(self, tokens: Sequence[int], shown: Callable[[], str]) -> None:
        """Look at what a program answered. shown: returns its answer, in words."""
        if self.vocabulary and not self.place and (stray := self._stray(tokens)) is not None:
            self.id, self.place = stray, f", in its answer {shown()}"

    def _stray(self, tokens: Sequence[int]) -> int | None:
        if not tokens or (min(tokens) >= 0 and max(tokens) < self.vocabulary):
            return None
        return next(token for token in tokens if not 0 <= token < self.vocabulary)

    @property
    def finding(self) -> dict[str, str]:
        """Return the finding by its kind, or nothing."""
        if self.id is None:
            return {}
        return {"outside-vocabulary": f"returns {self.id}, an id outside the vocabulary{self.place}"}


def _code_of(function: Any) -> CodeType | None:
    """Return the code of a function, or of an object's ``__call__``."""
    function = inspect.unwrap(getattr(function, "func", function))
    function = function if hasattr(function, "__code__") else inspect.getattr_static(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
