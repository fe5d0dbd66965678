"""Laws that are measured again: in the process of the audit, and side by side with it in a fresh one elsewhere."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ....models.law import Prefix
from ....models.problem import Problem
from ....models.related import twins
from ....proofs.interception.outcomes import Walk, decoded_walk
from ....proofs.interception.reads import Read
from ....proofs.laws.small_law import Measurement
from ....proofs.sandbox import Sandbox
from ..sandboxed import probe_problems, sandbox_of
from .differences import Difference, described_call, shown_by
from .lanes import BETWEEN_LOOKS
from .session import FunctionSession

MOST_VARIABLES = 8
"""Variables of the environment up to which the fresh process has other values: code that reads more copies them all."""

NEEDED = {"PATH", "HOME", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV"}
"""Variables of the environment that a process needs in order to start."""

STAGE = "calling it again in another environment"
"""What is said meanwhile."""


Result = TypeVar("Result")


@dataclass
class Repeated:
    """A problem's law in one process, and the replays with plain numbers that confirmed it.

    only: the draft blocks that were called; None for all.
    """

    measurement: Measurement
    walks: dict[Prefix, list[Walk]] = field(default_factory=dict)
    only: list[Prefix] | None = None

    @property
    def stateful(self) -> bool:
        """Check whether the calls of this law did not repeat themselves."""
        return "state" in self.measurement.findings

    @property
    def calls(self) -> list[tuple[Prefix, Walk]]:
        """Return its replays with their draft blocks."""
        return [(block, walk) for block, walks in self.walks.items() for walk in walks]


@dataclass
class Variants:
    """A problem of which the audit has a law, and its twins: what is measured again. only: as in ``Repeated``."""

    original: Measurement
    problems: list[Problem]
    only: list[Prefix] | None = None

    @property
    def name(self) -> str:
        """Return the name of the problem."""
        return self.original.problem.name

    @property
    def twins_first(self) -> list[int]:
        """Return the places of the problems in the order of the fresh process."""
        return [*range(1, len(self.problems)), 0]


def measured_again(session: FunctionSession, sandbox: Sandbox, problem: Problem, only: list[Prefix] | None) -> Repeated:
    """Measure a law in that process, and keep its replays."""
    walks: dict[Prefix, list[Walk]] = {}

    def kept(answers: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for answer in answers:
            if "walks" in answer:
                walks[tuple(answer["block"])] = [*map(decoded_walk, answer["walks"])]
            yield answer

    answers = kept(sandbox.law(problem, walks=True, only=only))
    return Repeated(session.law_from(problem, answers), walks, only)


class Elsewhere:
    """A process with another clock, host, environment and hash seed, and arrays with gaps, with a thread that asks it.

    variables: of the environment, with their values there. first: the problem of the audit's first law; a twin of it is
      the first that the subject is called on.
    """

    def __init__(self, session: FunctionSession, variables: Mapping[str, str | None], first: Problem):
        given, settings = session.subject.handed_over, session.settings
        self.variables, self.first, self.ended = variables, first, False
        self.sandbox = sandbox_of(
            session.subject, session.dtype, array=session.sandbox.array, timeout=settings.timeout,
            memory=settings.memory, time=session.time, elsewhere=self.variables,
            handed_over=given if given and given["script"] else None,  # else imported anew: what it reads is read again
        )  # fmt: skip
        self._probe = probe_problems(twins(first)[:1])
        self._pool, self._asked = ThreadPoolExecutor(1), list[Future[Any]]()

    def begin(self) -> None:
        """Start the process, in its thread, unless that was begun before."""
        if not self._asked:
            self.ask(lambda: self.sandbox.start(self._probe))

    def ask(self, work: Callable[[], Result]) -> "Future[Result]":
        """Do that in its thread after what was asked before, if all of that succeeded."""
        before = self._asked[-1:]
        self._asked.append(answer := self._pool.submit(lambda: ([one.result() for one in before], work())[1]))
        return answer

    def wait(self, look: Callable[[], None]) -> None:
        """Wait until all that was asked is done. look: called now and then."""
        while wait(self._asked, BETWEEN_LOOKS).not_done:
            look()

    def end(self) -> None:
        """End the process, and what was asked of it."""
        self.ended = True
        for answer in self._asked:
            answer.cancel()
        self.wait(self.sandbox.kill)
        self._pool.shutdown()
        self.sandbox.stop()


class FreshProcess:
    """Laws that are measured in a process elsewhere.

    Use as a context manager. Where the audit may use several processes, they are measured beside the others from then
    on.
    groups: what is measured there, from the last to the first, in each its twins first; in the first dtype alone.
    variables, first: as of ``Elsewhere``. ahead: a process that was begun before, used if its variables are the same.
    """

    def __init__(self, session: FunctionSession, groups: Sequence[Variants], variables: Mapping[str, str | None],
                 first: Problem, ahead: Elsewhere | None = None):  # fmt: skip
        self.session, self.groups = session, groups if session.dtype == session.subject.dtypes[0] else ()
        fits = ahead and not ahead.ended and ahead.variables == variables
        self.process = ahead if ahead and fits else Elsewhere(session, variables, first)
        self._laws: list[tuple[Variants, int, Future[Repeated]]] = []

    def __enter__(self) -> "FreshProcess":
        if self.session.jobs > 1:
            self._begin(self.groups)
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.end()

    def first_difference(self, here: Mapping[str, Sequence[Repeated]], made: int) -> Difference | None:
        """Return the first law that differs there, by a call that shows it if one does. Raises: as ``Sandbox.law``.

        here: original problem -> the laws of its group in the process of the audit. made: calls there.
        """
        if not self._laws:
            self._begin([group for group in self.groups if group.name in here])
        self.process.wait(lambda: self.session.settings.progress(STAGE, 0, 1))
        for group, k, law in self._laws:
            if group.name in here and (difference := self._difference(group, k, here[group.name][k], law, made)):
                return difference
        return None

    def _begin(self, groups: Sequence[Variants]) -> None:
        for group in reversed(groups):
            for k in group.twins_first:
                self.process.begin()
                measured = partial(measured_again, self.session, self.process.sandbox, group.problems[k], group.only)
                self._laws.append((group, k, self.process.ask(measured)))

    def _difference(
        self, group: Variants, k: int, here: Repeated, law: Future[Repeated], made: int
    ) -> Difference | None:
        there, problems = law.result(), group.problems
        if there.measurement.known and here.measurement.agrees_with(there.measurement):
            return None
        turns = [(k, block, walk) for block, walk in here.calls]
        for (_, block, walk), now in zip(turns, self.process.sandbox.again(problems, turns)):
            if walk.shown != now.shown:
                when = "in a fresh process, with another clock, {}environment and layout of arrays"
                calls = [
                    described_call(problems[k], block, walk, f"after {made:,} other calls"),
                    described_call(problems[k], block, now, when.format("host, ")),
                ]
                return shown_by(when.format(""), calls, problems)
        if not there.measurement.known and not there.stateful:
            reason = there.measurement.reason
            return Difference(f"in a fresh process there is no distribution for {problems[k].name}: {reason}", "")
        return Difference(f"in a fresh process its distribution on {problems[k].name} differs", problems=problems)


def flipped(read: Iterable[Read]) -> dict[str, str | None]:
    """Return other values of variables that calls read, unless all were read: none where one is set."""
    variables = {r.key for r in read if r.key}
    wanted = variables - NEEDED if len(variables) <= MOST_VARIABLES else ()
    return {variable: None if variable in os.environ else "1" for variable in wanted}
