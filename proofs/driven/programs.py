"""A program in any language that speaks JSON lines: its first line, requests in batches, answers in any order."""

import contextlib
import resource
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import psutil

from ...models.drafting import How
from ...models.errors import InputError, RunFailed
from ...models.json_files import parse
from ...verifiers.adapters.calling_convention import MAX_TOKEN, PARENTS, BadResult, NotASubject, tokens_of
from ...verifiers.trees.draft_tree import WAYS
from ..child_process import LineProcess
from ..interception.outcomes import Outcome, Raised, readable
from ..interception.rows_in_use import Rows
from ..time_limits import WAITING, TimeLimits
from .declared import declared, stated
from .subjects import DrivenSubject, Request, digest_of_files

PROTOCOL = "draftproof-1"
LONGEST_LINE = 2**20
"""Largest number of bytes of a line that a program may write."""

MOST_BATCH = 65_536
LISTENING = 0.25
"""Seconds between looks at the processor time of a program that has not answered."""


class Pipes(LineProcess):
    """A running program: lines in, lines out, limits on time.

    It belongs to the process group of this process, and ends with it.
    Raises: OSError for a program that is not there; later RunFailed with the line that was read, or how it ended.
    """

    def __init__(self, words: Sequence[str], limits: TimeLimits, memory: float):
        def limit() -> None:
            for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU):  # not address space: runtimes reserve far more
                most = resource.getrlimit(kind)[1]
                resource.setrlimit(kind, (most, most))
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            most = int(memory * 2**30)
            resource.setrlimit(
                resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
            )

        super().__init__(words, "the program", start_new_session=False, preexec_fn=limit)
        self.limits, self._about = limits, psutil.Process(self._process.pid)
        self._spent, self._computed = 0.0, time.monotonic()

    def exchange(self, text: bytes, count: int, seconds: float, doing: str) -> list[bytes]:
        """Write a text, and read so many lines.

        seconds: of processor time that the program may take to the next line. doing: for a message.
        """
        self._doing, self._seconds = doing, seconds
        self._send(text)
        return [self._line() for _ in range(count)]

    def _line(self) -> bytes:
        if b"\n" not in self._unread:
            self._since, self._used = time.monotonic(), self.used()
            self._deadline = self._since + self.limits.wall_clock(self._seconds)
        line = self.read()
        self._refuse_long(line)
        return line

    def _refuse_long(self, line: bytes | bytearray) -> None:
        if len(line) > LONGEST_LINE:
            raise RunFailed("crash", f"it wrote a line of more than {LONGEST_LINE:,} bytes: {_quoted(line)}")

    def used(self) -> float:
        """Return the seconds of processor time that the program has taken; 0 once it has ended."""
        try:
            times = self._about.cpu_times()
            return times.user + times.system
        except psutil.Error:
            return 0.0

    def _look(self) -> None:
        """Check that the program is within its time, and that its line is. Raises: RunFailed."""
        self._refuse_long(self._unread)
        if self.used() - self._used > self._seconds:
            raise self._out_of_time(waited=False)
        if self._idle() > WAITING:
            how = f"no answer in {WAITING:g} s, during which it used no processor time"
            raise RunFailed("timeout", f"{self._doing}: {how}; does it flush its output after each line?")

    def _out_of_time(self, waited: bool) -> RunFailed:
        return RunFailed("timeout", f"{self._doing}: not done {self.limits.within(self._seconds, waited=waited)}")

    def _idle(self) -> float:
        """Return the seconds since it last wrote a line, or since it or a child of it was last seen to compute."""
        now = time.monotonic()
        if now - self._since < LISTENING:
            return 0.0
        with contextlib.suppress(psutil.Error):
            each = [process.cpu_times() for process in (self._about, *self._about.children(recursive=True))]
            if (spent := sum(times.user + times.system for times in each)) != self._spent:
                self._spent, self._computed = spent, now
        return now - max(self._since, self._computed)

    def _ended(self) -> RunFailed:
        failure = super()._ended()
        part = f", in the middle of a line: {_quoted(self._unread)}" if self._unread else ""
        return RunFailed(failure.kind, failure.message + part)


class DrivenProgram(DrivenSubject):
    """A program by its command.

    Raises: NotASubject for a first line that promises what cannot be sent; RunFailed for a program that cannot be run.
    """

    def __init__(self, command: str, limits: TimeLimits, memory: float):
        super().__init__(command, "list", "float64", limits)
        words = words_of(command)
        try:
            self.pipes = Pipes(words, limits, memory)
        except OSError as error:
            raise NotASubject(f"{words[0]}: cannot be run ({error.strerror})") from None
        try:
            self._introduced(_first_line(*self.pipes.exchange(b"", 1, limits.timeout, "its first line")))
        except (NotASubject, RunFailed):
            self.pipes.end()
            raise
        files = [shutil.which(word) or word for word in words]
        self.digest = digest_of_files([file for file in files if Path(file).is_file()])
        self._next = 0
        self._texts: dict[tuple[int, ...], bytes] = {}
        self._rows: Rows | None = None

    def _introduced(self, hello: "Hello") -> None:
        """Take what the first line says. Raises: NotASubject."""
        self.dtype, self.batch, self.trees, self.drafting = hello.dtype, hello.batch, hello.parents, hello.drafting
        self.random = declared(hello.random, hello.dtype)
        if any(one.keyed for one in self.random or ()):
            raise NotASubject('"keyed" random numbers are for Python objects: a program cannot ask a table')
        self.title = f"{hello.name} {hello.version}".strip()

    @property
    def convention(self) -> dict[str, Any]:
        """Return how it is called, and what it says that it is."""
        return super().convention | {"program": self.title, "dtype": self.dtype}

    def seconds(self) -> float:
        """Return the processor time taken so far, by this process and by the program."""
        return super().seconds() + self.pipes.used()

    def outcomes(self, rows: Rows, requests: Sequence[Request]) -> list[Outcome]:
        """Return the outcome of each request. Two parts of a batch are under way: one is written while one is worked
        on."""
        first, rows.called = not rows.called, True
        seconds = self.limits.first_call if first else self.limits.call
        start, size = self._next, max(1, self.batch // 2)
        self._next += len(requests)
        self.calls += len(requests)
        outcomes: list[Outcome | None] = [None] * len(requests)
        read = 0
        for k in range(0, len(requests), size):
            part = requests[k : k + size]
            due = max(0, k + len(part) - read - (self.batch - size))
            self._answered(self.text(rows, part, start + k), due, seconds, start, outcomes)
            read += due
        self._answered(b"", len(requests) - read, seconds, start, outcomes)
        return [outcome for outcome in outcomes if outcome is not None]

    def _answered(self, text: bytes, due: int, seconds: float, start: int, outcomes: list[Outcome | None]) -> None:
        lines = self.pipes.exchange(text, due, seconds, f"answers to requests {start:,} and later")
        for line, (number, outcome) in zip(lines, map(_answer, lines)):
            place = number - start
            if not 0 <= place < len(outcomes) or outcomes[place] is not None:
                again = 0 <= place < len(outcomes)
                why = "a second time" if again else "that was not asked"
                raise RunFailed("crash", f"it answers a request {why}: {_quoted(line)}")
            outcomes[place] = outcome
            if not isinstance(outcome, Raised):
                self.outside.look_at_answer(outcome, lambda line=line: _quoted(line))

    def text(self, rows: Rows, requests: Sequence[Request], number: int) -> bytes:
        """Return the lines of requests, the first with this number."""
        if rows is not self._rows:
            self._rows, self._texts = rows, {}
        for request in requests:
            if request.block not in self._texts:
                self._texts[request.block] = self._fixed(rows, request.block)
        given: Sequence[int | bytes] = [request.seed for request in requests]
        line = b'{"id":%d,%b,"seed":%d}\n'
        if self.random is not None and requests:  # many numbers in one call: most of what a request costs
            numbers = requests[0].layout.many([request.point for request in requests])
            given, line = ENCODER.encode_lines(numbers).split(b"\n"), b'{"id":%d,%b,"random":%b}\n'
        fixed = [self._texts[request.block] for request in requests]
        return b"".join([line % (number + k, a, b) for k, (a, b) in enumerate(zip(fixed, given))])

    def _fixed(self, rows: Rows, block: tuple[int, ...]) -> bytes:
        """Return what all requests on a block have in common."""
        return ENCODER.encode(dict(zip(("target", "draft", "tokens", PARENTS), rows.arguments(block))))[1:-1]


def words_of(command: str) -> list[str]:
    """Return the words of a command line. Raises: NotASubject if there are none."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise NotASubject(f"{command!r} is no command ({error})") from None
    if not words:
        raise NotASubject("the command of the program is empty")
    return words


class Hello(msgspec.Struct):
    """A program's first line."""

    protocol: str
    random: list[Any] | Literal["own"]
    dtype: Literal["float64", "float32", "float16", "bfloat16"] = "float64"
    batch: Annotated[int, msgspec.Meta(ge=1, le=MOST_BATCH)] = 1
    name: str | int | float = ""
    version: str | int | float = ""
    parents: bool = False
    drafting: Annotated[tuple[How, ...], msgspec.Meta(min_length=1)] = WAYS


class ProgramAnswer(msgspec.Struct):
    """A program's answer to one request: tokens, or an error."""

    id: int
    emitted: Any = msgspec.UNSET
    error: Any = msgspec.UNSET


ENCODER, LINE = msgspec.json.Encoder(), msgspec.json.Decoder(ProgramAnswer)


def _not_json(line: bytes) -> RunFailed:
    return RunFailed("crash", f"it wrote a line that is not JSON: {_quoted(line)}")


def _first_line(line: bytes) -> Hello:
    try:
        hello = parse(line, "its first line")
    except InputError:
        raise _not_json(line) from None
    if not isinstance(hello, dict) or hello.get("protocol") != PROTOCOL:
        raise NotASubject(
            f'its first line is {_quoted(line)}; expected {{"protocol": "{PROTOCOL}", "random": [...], ...}}'
        )
    return stated(Hello, hello, "its first line")


def _answer(line: bytes) -> tuple[int, Outcome]:
    """Return the id and the outcome of an answer."""
    try:
        answer = LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not isinstance(error, msgspec.ValidationError):
            raise _not_json(line) from None
        answer = ProgramAnswer(0)
    if answer.error is not msgspec.UNSET:
        return answer.id, Raised("error", readable(ValueError(answer.error)))
    emitted = answer.emitted
    if emitted is msgspec.UNSET:
        raise RunFailed("crash", f'it answers {_quoted(line)}; expected {{"id": .., "emitted": [..]}}')
    if type(emitted) is list and emitted and all(type(x) is int and -MAX_TOKEN < x < MAX_TOKEN for x in emitted):
        return answer.id, tuple(emitted)
    try:
        return answer.id, tokens_of(emitted)
    except BadResult as error:
        return answer.id, Raised("BadResult", readable(error))


def _quoted(line: bytes | bytearray) -> str:
    text = readable(ValueError(line[:100].decode(errors="replace")))
    return repr(text + ("..." if len(line) > 100 else ""))
