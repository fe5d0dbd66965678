"""Requests to a server, many at once: refused ones are sent again, lost ones are not; both are counted."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from ....models.errors import RunFailed
from .completions import Completions, Lost, Refused, Wrong, short
from .journal import Journal
from .remarks import shown
from .requests import SentRequests
from .settings import AskedServer

FIRST_WAIT = 0.1
"""Seconds before a refused request is sent again; doubled each time."""

LONGEST_PAUSE = 5.0
"""Seconds between two attempts at most, if the server asks for no other."""

LONGEST_END = 5.0
"""Seconds to wait at most for requests in flight after a failure. Closing the client closes no connection that is still
being made."""

MOST_LOST = 10
"""Lost answers of one kind of request that a run goes on with; or a tenth of its requests, if that is more."""


@dataclass
class Sampler:
    """A sender of those slots of a kind of request that the journal does not have yet.

    until: time.monotonic() at which the run ends.
    """

    client: Completions
    journal: Journal
    settings: AskedServer
    until: float
    _lock: Lock = field(default_factory=Lock)
    _stop: Event = field(default_factory=Event)
    _failure: RunFailed | None = None

    def run(
        self, requests: SentRequests, samples: int, progress: Callable[[int], None] = lambda done: None, *,
        until: int | None = None,
    ) -> None:  # fmt: skip
        """Send all requests of one kind.

        samples: their number. until: those before this slot alone. progress: called with the number of finished slots.
        Raises: RunFailed if the server is gone, answers nothing that can be used, or time is up; KeyboardInterrupt.
        What was in flight is then lost.
        """
        kind, journal = requests.kind, self.journal
        left, width = journal.left(kind.name, until or samples), self.settings.at_once if kind.together else 1
        journal.in_flight = max(journal.in_flight, min(width, len(left)))
        work = (requests, samples, iter(left))
        workers = [Thread(target=self._work, args=work, name="requests", daemon=True) for _ in range(width)]
        try:
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers) and not self._stop.is_set():
                workers[0].join(0.05) if workers[0].is_alive() else time.sleep(0.01)
                progress(len(journal.texts[kind.name]) + len(journal.lost[kind.name]))
                if time.monotonic() > self.until:
                    self._fail(RunFailed("timeout", f"not done in time (--timeout), {self._place(requests, samples)}"))
        except KeyboardInterrupt:
            self._stop.set()
            raise
        if self._failure:
            end = time.monotonic() + LONGEST_END
            for worker in workers:
                worker.join(max(0.0, end - time.monotonic()))
            raise self._failure

    def _work(self, requests: SentRequests, samples: int, slots: Iterator[int]) -> None:
        while not self._stop.is_set():
            with self._lock:
                slot = next(slots, None)
            if slot is None:
                return
            try:
                self._send(requests, samples, slot)
            except RunFailed as failure:
                self._fail(failure)
            except Exception as error:  # of the journal, say: without this the run would end as if it were complete
                self._fail(RunFailed("crash", f"{short(error)}, {self._place(requests, samples)}"))

    def _send(self, requests: SentRequests, samples: int, slot: int) -> None:
        """Send one request until the server takes it. Raises: RunFailed."""
        name, body, patience = requests.kind.name, requests.body(slot), self.settings.patience
        began, wait = time.monotonic(), FIRST_WAIT
        while True:
            self.journal.sent(name, slot)
            try:
                answer = self.client.ask(body)
                texts, reported = requests.texts(slot, answer), requests.reported(slot, answer)
            except Refused as refused:
                self.journal.refused(name, slot, str(refused), refused.read)
                pause = wait if refused.wait is None else refused.wait
                if time.monotonic() + pause > began + patience:
                    why = f"{refused}, for {patience:g} s (--patience)"
                    raise RunFailed("crash", f"{why}, {self._place(requests, samples)}") from None
                if self._stop.wait(pause):
                    return
                wait = min(2 * wait, LONGEST_PAUSE)
            except Wrong as wrong:
                self.journal.refused(name, slot, str(wrong), True)
                raise RunFailed("crash", f"{wrong}, {self._place(requests, samples)}") from None
            except Exception as error:  # a thread that dies would leave its slots without an answer or a reason
                if not self._stop.is_set():
                    unread = f"an answer that cannot be read ({short(error)})"
                    self._lose(requests, samples, slot, str(error) if isinstance(error, Lost) else unread)
                return
            else:
                cut = [text[: requests.length] for text in texts]
                also = shown(requests.kind, answer, texts, requests.length)
                self.journal.answered(name, slot, cut, also, reported)
                return

    def _lose(self, requests: SentRequests, samples: int, slot: int, why: str) -> None:
        """Count a lost answer. Raises: RunFailed if they are too many."""
        self.journal.lose(requests.kind.name, slot, why)
        lost = self.journal.lost[requests.kind.name]
        nothing = not any(self.journal.texts.values())
        if len(lost) > (MOST_LOST if nothing else max(MOST_LOST, samples // 10)):
            plain = self.client.base.startswith("http://") and nothing
            hint = "; did you mean https://?" if plain and "connection broke" in why else ""
            place = self._place(requests, samples)
            raise RunFailed("crash", f"{len(lost)} answers lost, the last one: {why}; {place}{hint}")

    def _fail(self, failure: RunFailed) -> None:
        with self._lock:
            self._failure = self._failure or failure
        self._stop.set()

    def _place(self, requests: SentRequests, samples: int) -> str:
        name = requests.kind.name
        return f"after {len(self.journal.texts[name])} of {samples} outputs of {name!r}"
