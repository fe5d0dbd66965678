"""Pieces of an audit side by side, in copies of the process that has examined the small problems.

A lane has its pieces in order: what one shows depends on those before it in its lane alone, however many lanes run at
a time. So state that small problems leave is met by all, and state between pieces by those of one lane.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ....models.wide import WideProblem
from ....proofs.sandbox import Sandbox

MOST_LANES = 4
"""Lanes of wide problems at most: the fewer, the more calls are made in one process."""

BETWEEN_LOOKS = 0.2
"""Seconds after which who waits for a piece looks whether the user has ended the audit."""

Piece = Callable[[Sandbox], Any]


def lanes_of(problems: Sequence[WideProblem]) -> list[list[WideProblem]]:
    """Divide wide problems into lanes, in their order, the most work first: those of one vocabulary stay together.

    A cache that takes rows for those of another problem of the vocabulary shows there.
    """
    families: dict[int, list[WideProblem]] = {}
    for problem in problems:
        families.setdefault(problem.vocabulary, []).append(problem)
    lanes: list[tuple[float, list[WideProblem]]] = [(0.0, []) for _ in range(min(len(families), MOST_LANES))]
    for family in sorted(families.values(), key=_work, reverse=True):
        least = min(range(len(lanes)), key=lambda k: lanes[k][0])
        lanes[least] = lanes[least][0] + _work(family), [*lanes[least][1], *family]
    place = {id(problem): k for k, problem in enumerate(problems)}
    by_work = sorted(lanes, key=lambda lane: lane[0], reverse=True)
    return [sorted(lane, key=lambda problem: place[id(problem)]) for _, lane in by_work]


def _work(family: Sequence[WideProblem]) -> float:
    """Return about how long the problems take, in any unit."""
    return sum(p.count(p.gamma) * (5 + min(p.vocabulary / 100, 10) + p.vocabulary / 3000) for p in family)


def _shown(lane: Sequence[Piece], part: Sandbox) -> Iterator[Any]:
    """Yield what each piece shows."""
    for piece in lane:
        yield piece(part)


class Lanes:
    """A run of lanes, each in a copy of the child; one after the other in the child itself if it cannot be copied.

    Use as a context manager. lanes: their pieces. jobs: lanes at a time. tell: called now and then; what it raises is
    raised by ``next``.
    Guarantee: what ``next`` returns does not depend on ``jobs``.
    """

    def __init__(self, sandbox: Sandbox, lanes: Sequence[Sequence[Piece]], jobs: int, tell: Callable[[], None]):
        self.sandbox, self.tell, self._stopped = sandbox, tell, threading.Event()
        self.copies = sandbox.split() if len(lanes) > 1 else []
        self.left = [*map(len, lanes)]
        parts = self.copies or [sandbox] * len(lanes)
        self._results = [*map(_shown, lanes, parts)]
        self._pool: ThreadPoolExecutor | None = None
        if self.copies and jobs > 1:
            self._pool, running = ThreadPoolExecutor(jobs), self._results
            self._results = [self._drained(results) for results in running]

    def __enter__(self) -> "Lanes":
        return self

    def __exit__(self, *exception: object) -> None:
        """End the copies. What one did other than answer is noted if all its pieces were taken."""
        self._stopped.set()
        if self._pool:
            for part in self.copies:
                part.kill()
            self._pool.shutdown(cancel_futures=True)
        for part, left in zip(self.copies, self.left):
            if left:
                part.stop()
            else:
                self.sandbox.take_in(part)

    def next(self, lane: int) -> Any:
        """Return the result of the next piece of a lane. Raises: what the piece raises."""
        self.tell()
        result = next(self._results[lane])
        self.left[lane] -= 1
        return result

    def _drained(self, results: Iterator[Any]) -> Iterator[Any]:
        """Let a thread of the pool take the results, and yield them as they come."""
        assert self._pool
        ready: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def drain() -> None:
            try:
                for result in results:
                    ready.put((result, None))
                    if self._stopped.is_set():
                        return
            except BaseException as error:  # raised where it is waited for
                ready.put((None, error))

        self._pool.submit(drain)
        return self._waited_for(ready)

    def _waited_for(self, ready: "queue.SimpleQueue[tuple[Any, BaseException | None]]") -> Iterator[Any]:
        while True:
            try:
                result, error = ready.get(timeout=BETWEEN_LOOKS)
            except queue.Empty:
                self.tell()
                continue
            if error:
                raise error
            yield result
