"""A third-party function in a child process with limits on time and memory.

The child can crash, hang, fill its memory or print what it likes; the parent notices, says so in one line, and
goes on. What the isolation does not promise: the child has the user's rights (files, network), and the third-party
code shares a process with the tracer, so code that sets out to deceive the audit can.
"""

import copy
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..models.errors import RunFailed
from ..models.problem import AnyProblem, Problem, as_json, digest_of
from .child_process import ChildProcess, amount, first_modules
from .forked import CopiedProcess, CopyingProcess
from .interception.outcomes import Walk, decoded_walk
from .interception.surroundings import ELSEWHERE, OTHER_ENVIRONMENT
from .time_limits import NOT_REACHED, WAITING, ProcessorTime, TimeLimits

MEMORY = 8.0
"""GiB of address space for the child; torch maps several without using them."""

MUCH = 10**6
"""Bytes on standard error from which on that is said: libraries write their warnings there."""


SLACK = 1.5
"""How much longer than its time a law may take, for the calls of a path, before its process is ended."""


class Sandbox:
    """A child process that has loaded one subject. Use as a context manager.

    child: the module whose ``main`` the child runs.
    timeout: seconds of processor time for the import, and for each problem.
    waiting: seconds that code may sleep or wait, on top of ten times its limits of processor time.
    memory: GiB of address space.
    torch: whether torch is imported before the subject.
    folders: where modules are searched before all others.
    program: whether the subject is the command of a program that speaks JSON lines.
    handed_over: the object that the subject is, if one was handed over (``interception.by_value``).
    time: that its requests may take together, but for loading the subject.
    copies: how often the process that has loaded the subject may be copied (``split``). If that is safe, the child is
      such a copy itself, and the first process makes no calls.
    elsewhere: to run it in other surroundings (``interception.surroundings``), with these variables of the environment
      added, or without those that are None.
    """

    child = "draftproof.proofs.interception.child"

    def __init__(self, subject: str, array: str | None = None, dtype: str = "float64", *, timeout: float = 60.0,
                 waiting: float = WAITING, memory: float = MEMORY, torch: bool = False,
                 folders: Sequence[str] = (), program: bool = False, handed_over: Mapping[str, Any] | None = None,
                 time: ProcessorTime | None = None, copies: int = 0,
                 elsewhere: Mapping[str, str | None] | None = None):  # fmt: skip
        self.subject, self.array, self.dtype = subject, array, dtype
        self.limits, self.memory, self.torch = TimeLimits(timeout, waiting), memory, torch
        self.folders, self.program, self.handed_over = list(folders), program, handed_over
        self.elsewhere, self.time, self.copies = elsewhere, time or ProcessorTime(), copies
        self.calls = 0
        self._child: CopyingProcess | CopiedProcess | None = None
        self._first: CopyingProcess | None = None
        self._written: Counter[str] = Counter()
        self._last_line = ""
        self._noticed: dict[str, str] = {}
        self._digests: dict[int, tuple[AnyProblem, str]] = {}
        self._sent, self._sent_first = set[str](), set[str]()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self, probe: list[Problem]) -> dict[str, Any]:
        """Start the child, load the subject, and find out how to call it. Copies that were made go on.

        Raises: RunFailed if it cannot be imported or called, in one line.
        """
        self._end(self._child)
        self._child = None
        self._sent.clear()
        copies = self.copies + 1 if self.copies and not self._first else 0
        arguments, environment = (), None
        if self.elsewhere is not None:
            arguments, environment = (ELSEWHERE,), {**OTHER_ENVIRONMENT, **self.elsewhere}
        with self.time.not_counted():
            self._child = CopyingProcess(
                self.child, arguments, copies=copies, memory=self.memory, limits=self.limits,
                environment=environment, modules=first_modules(self.array, self.torch),
            )  # fmt: skip
        about = self.load(self.subject, probe)
        if copies:
            self._copy_first()
        return about

    def _copy_first(self) -> None:
        """Let a copy of the child be the child from now on, if that is safe."""
        first = self._child
        assert isinstance(first, CopyingProcess)
        try:
            self._child, self._first, self._sent_first = first.copied(), first, set(self._sent)
        except RunFailed as failure:
            if failure.kind != "fork":
                raise

    def load(self, subject: str, probe: list[Problem]) -> dict[str, Any]:
        """Load another function into the same child (for code that is trusted to leave it as it was)."""
        if self.ended:
            self.subject = subject
            return self.start(probe)
        how = {"array": self.array, "dtype": self.dtype, "torch": self.torch}
        how |= {"folders": self.folders, "program": self.program, "handed_over": self.handed_over}
        with self.time.not_counted():  # torch and transformers take as long as a small law
            (description,) = self._answers(probe, do="load", subject=subject, **how)
        return description

    @property
    def ended(self) -> bool:
        """Check whether there is no child: it was never started, crashed, or was stopped for taking too long."""
        return self._child is None or self._child.ended

    def law(
        self,
        problem: AnyProblem,
        walks: bool = False,
        scales: tuple[float, float] = (1.0, 1.0),
        hand_in: bool = True,
        only: Sequence[Sequence[int]] | None = None,
        seed: int = 0,
        paths: int | None = None,
        seconds: float = math.inf,
        confirmations: int | None = None,
        lines: bool = False,
        every_id: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Yield the child's answers on one problem: the rows in use, then one law for each draft block.

        walks: whether to add calls with plain numbers on every path.
        scales: what the rows of target and draft are multiplied by; wide problems' are not.
        hand_in: whether a generator is handed in where it is optional.
        only: the draft blocks, in place of all; not of wide problems, nor of driven subjects.
        seed: of the random requests that confirm the law of a driven subject.
        paths: of a wide problem how many are walked on a draft block, ``row_draws.MOST_PATHS`` if None.
        seconds: of processor time, after which it is given up (``NOT_REACHED``).
        confirmations: of a driven subject how many random requests confirm its law, at most.
        lines: whether to add the line of each decision; not of wide problems, nor of driven subjects.
        every_id: of a wide problem whether each draft block calls all ids of a short row, and none takes turns.
        """
        how = {"walks": walks, "scales": scales, "hand_in": hand_in, "only": only, "seed": seed, "paths": paths}
        how |= {"confirmations": confirmations} if confirmations else {}
        how |= {"lines": True} if lines else {}
        how |= {"every_id": True} if every_id else {}
        yield from self._answers([problem], seconds, do="law", **how)

    def again(self, problems: Sequence[Problem], calls: Sequence[tuple[int, Sequence[int], Walk]]) -> list[Walk]:
        """Make calls with plain numbers, in this order: what came of each.

        calls: the problem's place in the list, the draft block, and the numbers.
        """
        made: list[Walk] = []
        wanted = [[k, list(block), walk.points, walk.drawn] for k, block, walk in calls]
        for answer in self._answers(problems, do="again", calls=wanted):
            made += map(decoded_walk, answer.get("walks", ()))
        return made

    def repeated(self, problems: Sequence[Problem], count: int, backwards: bool) -> dict[str, Any]:
        """Return the answers of a driven subject to random requests, the same for one count, and the calls made so far.

        backwards: one problem after the other, from the last request to the first, in place of in turn.
        """
        first, *_ = self._answers(problems, do="repeated", count=count, backwards=backwards)
        return first

    def batches(self, problems: Sequence[Problem], seed: int) -> dict[str, Any]:
        """Find which rows of batches are influenced by others (``driven.batches``)."""
        first, *_ = self._answers(problems, do="batches", seed=seed)
        return first

    def surroundings(self) -> dict[str, Any]:
        """Return what calls have asked of their surroundings, and how many were made."""
        first, *_ = self._answers([], do="surroundings")
        return first

    def kept(self, problem: Problem, calls: Sequence[tuple[Sequence[int], Walk]], alone: int) -> list[str]:
        """Return the names of what changes with every repetition of one of the first calls, ``alone`` many, or of all.

        calls: draft blocks, and the numbers.
        """
        wanted = [[list(block), walk.points, walk.drawn] for block, walk in calls]
        first, *_ = self._answers([problem], do="kept", calls=wanted, alone=alone)
        return first["kept"]

    def sample(self, problem: AnyProblem, count: int, seed: int) -> Iterator[dict[str, Any]]:
        """Yield counts of outcomes with real random numbers, in chunks."""
        yield from self._answers([problem], do="sample", count=count, seed=seed)

    def split(self) -> list["Sandbox"]:
        """Return copies of the process that has loaded the subject, as it was then; none where forks are not safe.

        What they print and change is not known here until ``take_in``. Any thread may ask them.
        """
        made, first = list[Sandbox](), self._first
        while first and not first.ended and first.pipes:
            part = copy.copy(self)
            try:
                part._child, part._first = first.copied(), None
            except RunFailed as failure:
                for one in made:
                    one.stop()
                if failure.kind != "fork":
                    raise
                return []
            part.calls, part.copies, part._last_line = 0, 0, ""
            part._written, part._noticed = Counter(), {}
            part._digests, part._sent = dict(self._digests), set(self._sent_first)
            made.append(part)
        return made

    def take_in(self, part: "Sandbox") -> None:
        """End a copy, and note what it did other than answer."""
        part.stop()
        self._written += part._written
        self._last_line = part._last_line or self._last_line
        self._noticed = part._noticed | self._noticed

    def kill(self) -> None:
        """Kill the child, from any thread."""
        if self._child is not None:
            self._child.kill()

    def stop(self) -> None:
        """End the child, its copies and everything they started."""
        self._end(self._first)
        self._end(self._child)
        self._child = self._first = None

    def _end(self, process: ChildProcess | None) -> None:
        """End a process, and note what it printed."""
        if process is not None:
            process.end()
            self._written += Counter(output=process.output.written, errors=process.errors.written)
            self._last_line = process.output.last_line() or self._last_line

    def side_effects(self) -> dict[str, str]:
        """Stop the child, and return what the subject did other than answer, as findings."""
        self.stop()
        output, errors = self._written["output"], self._written["errors"]
        printed = [f"{amount(output)} to its standard output, the last line {self._last_line[:60]!r}"] if output else []
        printed += [f"{amount(errors)} to its standard error"] if errors > MUCH else []
        return self._noticed | ({"prints": f"it writes {' and '.join(printed)}"} if printed else {})

    def _answers(
        self, problems: Sequence[AnyProblem], seconds: float = math.inf, **request: Any
    ) -> Iterator[dict[str, Any]]:
        """Yield the answers to a request.

        problems: it speaks of; the child gets each once, and then its digest. seconds: after which the child gives it
          up, or has to be ended a little later.
        """
        child = self._child
        if child is None or child.ended:
            raise RunFailed("crash", "the child process has ended")
        left = self.time.left() if request["do"] != "load" else math.inf
        most = min(left, SLACK * seconds + 1)
        if not most:
            raise RunFailed("timeout", NOT_REACHED)
        if most < math.inf:
            request |= {"seconds": min(seconds, left), "most": most}
        child.send(**request, **self._named(problems))
        done = False
        while not done:
            try:
                answer = child.receive()
            except RunFailed as failure:
                if failure.kind != "timeout" or most >= self.limits.timeout:
                    raise
                doing = str(failure).partition(": not done")[0]
                share = f"not done within {most:.2g} s of processor time, its share of the audit's"
                raise RunFailed("timeout", f"{doing}: {share}") from None
            self._noticed |= answer.pop("noticed", {})
            if "error" in answer:
                raise RunFailed(answer["kind"], answer["error"])
            done = answer.pop("done", False)
            self.calls = max(self.calls, answer.pop("calls", 0) if done else 0)
            yield answer

    def _named(self, problems: Sequence[AnyProblem]) -> dict[str, Any]:
        """Return the digests of the problems of a request, with those that the child has not got in full."""
        digests, new = [], {}
        for problem in problems:
            if id(problem) not in self._digests:
                self._digests[id(problem)] = problem, digest_of(problem)
            digest = self._digests[id(problem)][1]
            digests.append(digest)
            if digest not in self._sent:
                self._sent.add(digest)
                new[digest] = as_json(problem)
        return {"problems": digests, "new_problems": new}
