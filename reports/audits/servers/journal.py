"""What was sent to a server and what it answered, in a file that a killed run goes on from."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from ....models.law import Prefix
from ....models.store import Store
from .reported import Entries, entry_from

IN_FLIGHT = "in flight when the audit ended"
"""Reason of a lost request that was sent and whose answer is not in the file."""


class Journal:
    """A journal of the slots of each kind of request, by number.

    path: of the file; None keeps nothing.
    plan: what the counts depend on.

    texts: kind -> slot -> what was emitted, for each choice.
    lost: kind -> slot -> why that is not known.
    shown: kind -> slot -> what else the answer shows, as ``remarks.shown`` has it.
    reported: kind -> slot -> the logprobs of each choice, if they were asked for.
    refusals: why requests were refused -> how often.
    redrawn: kind -> slots that were sent again although the server may have written a text before it refused.
    resumed: how often the run went on from the file.
    in_flight: the most requests that this run had in flight at once.

    Guarantee: a request that was sent and not answered counts as lost, also if the run was killed.
    Raises: InputError if the file is of another run, or cannot be used.
    """

    def __init__(self, path: str | None, plan: dict[str, Any]):
        self.texts: dict[str, dict[int, list[Prefix]]] = defaultdict(dict)
        self.lost: dict[str, dict[int, str]] = defaultdict(dict)
        self.shown: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.reported: dict[str, dict[int, list[Entries]]] = defaultdict(dict)
        self.refusals: Counter[str] = Counter()
        self.redrawn: dict[str, set[int]] = defaultdict(set)
        self.in_flight = 0
        self._lock, self._closed = Lock(), False
        # A row is handed to the operating system at once: a killed process loses nothing.
        self._store = Store(path, "a server's audit", plan, durable=False)
        self.resumed = len(self._store.rows) and self._store.rows.pop(("resumed", 0)) + 1
        for (kind, slot), row in self._store.rows.items():
            self._take(kind, slot, row, row["refused"])
        self._lose_open()
        self._store.put(("resumed", 0), self.resumed)

    def left(self, kind: str, samples: int) -> list[int]:
        """Return the slots that have not been sent yet."""
        return [k for k in range(samples) if k not in self.texts[kind] and k not in self.lost[kind]]

    def missed(self, kind: str) -> set[int]:
        """Return the slots whose text is not known, or was drawn again."""
        return self.redrawn[kind].union(self.lost[kind])

    def sent(self, kind: str, slot: int) -> None:
        """Note that a request is in flight."""
        self._enter(kind, slot, sent=True)

    def refused(self, kind: str, slot: int, why: str, read: bool) -> None:
        """Note a refusal. Unless the server may have read the request, it is as if it had not been sent."""
        self._enter(kind, slot, (why, read))

    def answered(
        self, kind: str, slot: int, texts: Sequence[Prefix], shown: dict[str, Any], reported: Sequence[Entries] = ()
    ) -> None:
        """Note an answer."""
        self._enter(kind, slot, texts=list(texts), shown=shown, reported=reported)

    def lose(self, kind: str, slot: int, why: str) -> None:
        """Note that an answer is lost, also one that was noted before."""
        self._enter(kind, slot, lost=why)

    def close(self) -> None:
        """Take nothing more; what is in flight counts as lost."""
        with self._lock:
            self._lose_open()
            self._closed = True
            self._store.close()

    def _enter(self, kind: str, slot: int, refusal: tuple[str, bool] | None = None, **what: Any) -> None:
        with self._lock:
            if self._closed:
                return
            before = self._store.rows.get((kind, slot), {"refused": []})["refused"]
            self._store.put((kind, slot), {"refused": [*before, refusal] if refusal else before, **what})
            self._take(kind, slot, what, [refusal] if refusal else [])

    def _take(self, kind: str, slot: int, row: dict[str, Any], refusals: Sequence[Sequence[Any]]) -> None:
        """Count what a row says of its slot."""
        for why, read in refusals:
            self.refusals[why] += 1
            if read:
                self.redrawn[kind].add(slot)
        if "texts" in row:
            self.texts[kind][slot] = [tuple(text) for text in row["texts"]]
            self.shown[kind][slot] = row["shown"]
            self.reported[kind][slot] = [entries and [*map(entry_from, entries)] for entries in row["reported"]]
        elif "lost" in row:
            for kept in (self.texts, self.shown, self.reported):
                kept[kind].pop(slot, None)
            self.lost[kind][slot] = row["lost"]

    def _lose_open(self) -> None:
        for (kind, slot), row in self._store.rows.items():
            if kind != "resumed" and "sent" in row:
                self.lost[kind][slot] = IN_FLIGHT
