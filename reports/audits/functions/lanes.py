"""Pieces of an audit side by side, in copies of the process that has loaded the subject.

A lane has its pieces in order: what one shows depends on those before it in its lane alone, however many lanes run at
a time, and whatever is examined beside them. So state between pieces is met by those of one lane.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from typing import Any

from ....models.wide import ALL_CALLED, WideProblem
from ....proofs.sandbox import Sandbox

MOST_LANES = 4
"""Lanes of wide problems at most: the fewer, the more calls are made in one process."""

PER_CALL = 10_000
"""Vocabulary whose rows take as long as the rest of a call."""

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
    for work, family in sorted(((sum(map(work_of, f)), f) for f in families.values()), key=itemgetter(0), reverse=True):
        least = min(range(len(lanes)), key=lambda k: lanes[k][0])
        lanes[least] = lanes[least][0] + work, [*lanes[least][1], *family]
    place = {id(problem): k for k, problem in enumerate(problems)}
    by_work = sorted(lanes, key=lambda lane: lane[0], reverse=True)
    return [sorted(lane, key=lambda problem: place[id(problem)]) for _, lane in by_work]


def work_of(problem: WideProblem) -> float:
    """Return about how long a problem takes, in any unit: so many calls, each of which takes longer on wider rows."""
    if problem.exchanged or problem.few_ids:
        calls = 50
    elif problem.vocabulary <= ALL_CALLED:
        calls = 2 * problem.vocabulary
    else:
        calls = {"near": 4000, "ends": 100}.get(problem.kind, 200)
    return calls * (problem.vocabulary + PER_CALL)


def _shown(lane: Sequence[Piece], part: Sandbox) -> Iterator[Any]:
    """Yield what each piece shows."""
    for piece in lane:
        yield piece(part)


class Lanes:
    """A run of lanes, each in a copy of the process that has loaded the subject, or all in the child, in turn.

    The child is taken where that process cannot be copied. Until the first result is asked for, one lane less runs than
    may: something else is examined meanwhile.
    Use with ``contextlib.closing``.
    lanes: their pieces. work: about how long each takes, in any unit. asked: the lanes in the order in which ``next``
      will ask for their pieces: those begin first, so that an audit that ends early has begun little else, until one
      lane is so long that the others would end before it. jobs: lanes at a time. tell: called now and then; what it
      raises is raised by ``next``.
    Guarantee: what ``next`` returns does not depend on ``jobs``.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        lanes: Sequence[Sequence[Piece]],
        work: Sequence[Sequence[float]],
        asked: Sequence[int],
        jobs: int,
        tell: Callable[[], None],
    ):
        self.sandbox, self.tell, self._stopped = sandbox, tell, threading.Event()
        self.copies = sandbox.split() if len(lanes) > 1 else []
        self.left = [*map(len, lanes)]
        self._running = [*map(_shown, lanes, self.copies or [sandbox] * len(lanes))]
        self._waiting, self._busy, self._begun = [*asked], set[int](), threading.Condition()
        self._work_left, self._jobs = [[*pieces] for pieces in work], jobs
        self._ready: list[queue.SimpleQueue[tuple[Any, BaseException | None]]] = [queue.SimpleQueue() for _ in lanes]
        self._pool: ThreadPoolExecutor | None = None
        self._paused = self._joined = False
        if self.copies and jobs > 1:
            self._pool = ThreadPoolExecutor(jobs)
            for _ in range(jobs - 1):
                self._pool.submit(self._work)

    def pause(self) -> None:
        """Begin no further piece until a result is asked for."""
        self._paused = True

    def close(self) -> None:
        """End the copies. What one did other than answer is noted if all its pieces were taken."""
        self._stopped.set()
        if self._pool:
            for part in self.copies:
                part.kill()
            with self._begun:
                self._begun.notify_all()
            self._pool.shutdown(cancel_futures=True)
        for part, left in zip(self.copies, self.left):
            if left:
                part.stop()
            else:
                self.sandbox.take_in(part)

    def next(self, lane: int) -> Any:
        """Return the result of the next piece of a lane. Raises: what the piece raises."""
        self.tell()
        if self._pool and not self._joined:
            self._joined, self._paused = True, False
            self._pool.submit(self._work)
            with self._begun:
                self._begun.notify_all()
        result = self._waited_for(self._ready[lane]) if self._pool else next(self._running[lane])
        self.left[lane] -= 1
        return result

    def _work(self) -> None:
        """Run pieces, in the order in which they are asked for, of lanes in which none is running."""
        while (lane := self._begin()) is not None:
            try:
                result = next(self._running[lane]), None
            except BaseException as error:  # raised where it is waited for
                result = None, error
            self._ready[lane].put(result)
            with self._begun:
                if not result[1]:
                    self._busy.discard(lane)
                self._begun.notify_all()

    def _begin(self) -> int | None:
        """Return a lane whose next piece is to run, once there is one; None when all are done or the run has ended."""
        with self._begun:
            while self._waiting and not self._stopped.is_set():
                if ready := [k for k in self._waiting if k not in self._busy and not self._paused]:
                    left = [*map(sum, self._work_left)]
                    longest = max(ready, key=left.__getitem__)
                    lane = longest if left[longest] * self._jobs >= sum(left) else ready[0]
                    self._waiting.remove(lane)
                    self._work_left[lane].pop(0)
                    self._busy.add(lane)
                    return lane
                self._begun.wait()
        return None

    def _waited_for(self, ready: "queue.SimpleQueue[tuple[Any, BaseException | None]]") -> Any:
        while True:
            try:
                result, error = ready.get(timeout=BETWEEN_LOOKS)
            except queue.Empty:
                self.tell()
                continue
            if error:
                raise error
            return result
