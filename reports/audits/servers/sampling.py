"""Requests to a server, many at once: refused ones are sent again, lost ones are not; both are counted."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any, Protocol

from ....models.errors import RunFailed
from ....models.law import Prefix
from .completions import Completion, Completions, Lost, Refused, Wrong
from .journal import Journal
from .kinds import Kind
from .remarks import shown

FIRST_WAIT, LONGEST_PAUSE = 0.1, 5.0
"""Seconds before a refused request is sent again, doubled each time."""

MOST_LOST = 10
"""Lost answers of one kind of request that a run goes on with; and a tenth of its requests."""


class SentPlan(Protocol):
    """What is sent, slot by slot, and what is read from the answers. length: tokens of a text that are kept."""

    @property
    def length(self) -> int: ...

    def body(self, kind: Kind, slot: int) -> dict[str, Any]: ...

    def texts(self, kind: Kind, slot: int, answer: Completion) -> list[Prefix]: ...


@dataclass
class Sampler:
    """Sends the slots of a plan that the journal does not have yet.

    at_once: requests in flight, of the kinds that are sent together.
    until: time.monotonic() at which the run ends.
    patience: seconds for which a refused request is sent again.
    """

    client: Completions
    plan: SentPlan
    journal: Journal
    samples: int
    at_once: int
    until: float
    patience: float
    _lock: Lock = field(default_factory=Lock)
    _stop: Event = field(default_factory=Event)
    _failure: RunFailed | None = None

    def run(self, kind: Kind, progress: Callable[[int], None]) -> None:
        """Send all requests of one kind. progress: called with the number of slots that are done.

        Raises: RunFailed if the server is gone, answers nothing that can be used, or time is up; KeyboardInterrupt.
        What was in flight is then lost.
        """
        slots, width = iter(self.journal.left(kind.name, self.samples)), self.at_once if kind.together else 1
        workers = [Thread(target=self._work, args=(kind, slots), daemon=True) for _ in range(width)]
        try:
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers):
                workers[0].join(0.05) if workers[0].is_alive() else time.sleep(0.01)
                progress(len(self.journal.texts[kind.name]) + len(self.journal.lost[kind.name]))
                if time.monotonic() > self.until and not self._stop.is_set():
                    self._fail(RunFailed("timeout", f"not done in time (--timeout), {self._place(kind)}"))
                if self._stop.is_set():
                    break
        except KeyboardInterrupt:
            self._stop.set()
            raise
        if self._failure:
            raise self._failure

    def _work(self, kind: Kind, slots: Iterator[int]) -> None:
        while not self._stop.is_set():
            with self._lock:
                slot = next(slots, None)
            if slot is None:
                return
            try:
                self._slot(kind, slot)
            except RunFailed as failure:
                self._fail(failure)

    def _slot(self, kind: Kind, slot: int) -> None:
        body, began, wait = self.plan.body(kind, slot), time.monotonic(), FIRST_WAIT
        while True:
            self.journal.sent(kind.name, slot)
            try:
                answer = self.client.ask(body)
                texts = self.plan.texts(kind, slot, answer)
            except Refused as refused:
                self.journal.refused(kind.name, slot, str(refused), refused.read)
                pause = wait if refused.wait is None else refused.wait
                if time.monotonic() + pause > began + self.patience:
                    why = f"{refused}, for {self.patience:g} s (--patience)"
                    raise RunFailed("crash", f"{why}, {self._place(kind)}") from None
                if self._stop.wait(pause):
                    return
                wait = min(2 * wait, LONGEST_PAUSE)
            except Wrong as wrong:
                self.journal.refused(kind.name, slot, str(wrong), True)
                raise RunFailed("crash", f"{wrong}, {self._place(kind)}") from None
            except Lost as lost:
                if not self._stop.is_set():
                    self._lose(kind, slot, str(lost))
                return
            else:
                cut = [text[: self.plan.length] for text in texts]
                self.journal.answered(kind.name, slot, cut, shown(kind, answer, texts, self.plan.length))
                return

    def _lose(self, kind: Kind, slot: int, why: str) -> None:
        self.journal.lose(kind.name, slot, why)
        lost = self.journal.lost[kind.name]
        nothing = not any(self.journal.texts.values())
        if len(lost) > (MOST_LOST if nothing else max(MOST_LOST, self.samples // 10)):
            plain = self.client.base.startswith("http://") and nothing
            hint = "; is it https:// that is meant?" if plain and "connection broke" in why else ""
            raise RunFailed("crash", f"{len(lost)} answers lost, the last one: {why}; {self._place(kind)}{hint}")

    def _fail(self, failure: RunFailed) -> None:
        with self._lock:
            self._failure = self._failure or failure
        self._stop.set()

    def _place(self, kind: Kind) -> str:
        return f"after {len(self.journal.texts[kind.name])} of {self.samples} texts of {kind.name!r}"
