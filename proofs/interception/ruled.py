"""A tracer that makes decisions by a rule for a while: those of requests whose law is not asked for."""

import hashlib
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .exploration import Exploration
from .tracer import MOST_CHOICES, Tracer, active

SAME_ANSWERS = 32
"""Times in a row that a question, or two by turns, get the same answer. So code that draws until it is content ends."""


class RuledTracer(Tracer):
    """A tracer that makes new decisions by a rule, and leaves no other way for later.

    rule: the number of the rule; None: decisions branch as usual.
    clear: what is done before each call, without the tracer, so that what other calls left is gone.
    most_choices: as of ``Tracer``.
    cancel_at: after so many further random numbers the call is cancelled; None: it is not.
    """

    def __init__(
        self, exploration: Exploration, clear: Callable[[], None] = lambda: None, most_choices: int = MOST_CHOICES
    ):
        super().__init__(exploration)
        self.clear, self.most_choices = clear, most_choices
        self.rule: int | None = None
        self.cancel_at: int | None = None
        self.row = 0
        self.asked_last: list[tuple] = []

    def begin(self) -> bool:
        begun = super().begin()
        if begun:
            self.clear()
        return begun

    def walk(self, points: list[int], drawn: list[int]) -> None:
        self.clear()
        super().walk(points, drawn)

    def first(self, probabilities: Sequence[Any]) -> int:
        if self.rule is None:
            return super().first(probabilities)
        asked = tuple(map(float, probabilities))
        if asked not in self.asked_last:
            self.row, self.asked_last = 0, [*self.asked_last[-1:], asked]
        self.row += 1
        question = repr((self.rule, asked, self.row // SAME_ANSWERS)).encode()
        point = int.from_bytes(hashlib.blake2b(question, digest_size=7).digest(), "big") / 2.0**56
        ways = [way for way, p in enumerate(asked) if p]
        while len(ways) > 1 and point >= asked[ways[0]]:
            point -= asked[ways.pop(0)]
        self.path.append(ways[0])
        return ways[0]

    def hand_out(self, source: Any, traced: Any) -> Any:
        if self.plain_call is None:
            self._count()
        return super().hand_out(source, traced)

    def plain_number(self, value: Any) -> Any:
        self._count()
        return super().plain_number(value)

    def choose(self, probabilities: Sequence[Any]) -> int:
        if self.plain_call is None:
            self._count()
        return super().choose(probabilities)

    def replayed_choice(self) -> int:
        self._count()
        return super().replayed_choice()

    def _count(self) -> None:
        """Cancel the call once it has drawn its numbers."""
        if self.cancel_at is not None:
            self.cancel_at -= 1
            if self.cancel_at < 0:
                raise CancelledError


@contextmanager
def before_the_call(rule: int, cancel_at: int | None) -> Iterator[None]:
    """Let decisions be made by a rule within, as of a call before the one whose law is asked for.

    rule, cancel_at: as of ``RuledTracer``. Without a tracer in force calls go as usual, and to their end.
    """
    tracer = active()
    if not isinstance(tracer, RuledTracer):
        yield
        return
    before = tracer.rule
    tracer.rule, tracer.cancel_at, tracer.row, tracer.asked_last = rule, cancel_at, 0, []
    try:
        yield
    except CancelledError:
        if cancel_at is None:
            raise
    finally:
        tracer.rule, tracer.cancel_at, tracer.run = before, None, object()
