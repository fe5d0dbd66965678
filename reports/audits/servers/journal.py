"""What was sent to a server and what it answered, line by line, in a file that a killed run goes on from."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO, Any

from ....models.errors import InputError
from ....models.law import Prefix

IN_FLIGHT = "in flight when the audit ended"
"""Why a request is lost that was sent and whose answer is not in the file."""

_FORM = "draftproof-server-1"


@dataclass
class Journal:
    """The slots of each kind of request, by number.

    texts: what was emitted, for each choice.
    lost: why it is not known.
    shown: what else the answer shows, as ``seen.shown`` has it.
    refusals: why requests were not taken -> how often.
    redrawn: the slots that were sent again although the server may have written a text before it refused.
    resumed: how often the run went on from the file.
    """

    texts: dict[str, dict[int, list[Prefix]]] = field(default_factory=lambda: defaultdict(dict))
    lost: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    shown: dict[str, dict[int, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    refusals: Counter[str] = field(default_factory=Counter)
    redrawn: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    resumed: int = 0
    _open: set[tuple[str, int]] = field(default_factory=set)
    _file: IO[str] | None = None
    _closed: bool = False
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def open(cls, path: str | None, plan: dict[str, Any]) -> "Journal":
        """Read the file, if there is one, and write to it from now on. plan: what the counts depend on.

        Guarantee: a request that had been sent and was not answered counts as lost. A line cut short by a kill is none.
        Raises: InputError if the file is of another run, or cannot be used.
        """
        journal = cls()
        if path is None:
            return journal
        file = Path(path)
        try:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
            whole = [line for line in lines if line.endswith("\n")]
            if lines and not whole and not lines[0].startswith('{"form":'):
                raise InputError(f"{path}: not a checkpoint of a server's audit")
            journal._read(path, whole, plan)
            journal._file = file.open("a", encoding="utf-8")
            if lines and len(whole) < len(lines):
                journal._file.write("\n")
            journal._write({"form": _FORM, "plan": plan} if not whole else {"resumed": journal.resumed})
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be used ({getattr(error, 'strerror', None) or error})") from None
        return journal

    def _read(self, path: str, lines: list[str], plan: dict[str, Any]) -> None:
        entries = [entry for line in lines if isinstance(entry := _parsed(line), dict)]
        if lines and (not entries or entries[0].get("form") != _FORM):
            raise InputError(f"{path}: not a checkpoint of a server's audit")
        if lines and entries[0].get("plan") != plan:
            old, new = entries[0].get("plan", {}), plan
            other = [name for name in new if old.get(name) != new[name]]
            raise InputError(f"{path}: of another run; {', '.join(other) or 'its form'} differs")
        for entry in entries[1:]:
            self.resumed += "resumed" in entry
            if "slot" not in entry:
                continue
            at = kind, slot = entry["kind"], entry["slot"]
            self._open.discard(at)
            if "texts" in entry:
                self.texts[kind][slot] = [tuple(text) for text in entry["texts"]]
                self.shown[kind][slot] = entry["shown"]
            elif "lost" in entry:
                self.lost[kind][slot] = entry["lost"]
            elif "refused" in entry:
                self._refuse(kind, slot, entry["refused"], entry["read"])
            elif "sent" in entry:
                self._open.add(at)
        self._lose_open()
        self.resumed += bool(lines)

    def left(self, kind: str, samples: int) -> list[int]:
        """The slots that have not been sent yet."""
        return [k for k in range(samples) if k not in self.texts[kind] and k not in self.lost[kind]]

    def sent(self, kind: str, slot: int) -> None:
        self._enter(kind, slot, sent=True)

    def refused(self, kind: str, slot: int, why: str, read: bool) -> None:
        """The server did not take it; unless it may have read it, it is as if it had not been sent."""
        self._enter(kind, slot, refused=why, read=read)

    def answered(self, kind: str, slot: int, texts: Sequence[Prefix], shown: dict[str, Any]) -> None:
        self._enter(kind, slot, texts=list(texts), shown=shown)

    def lose(self, kind: str, slot: int, why: str) -> None:
        self._enter(kind, slot, lost=why)

    def close(self) -> None:
        """Nothing more is taken; what is in flight counts as lost."""
        with self._lock:
            self._lose_open()
            self._closed = True
            if self._file:
                self._file.close()

    def _refuse(self, kind: str, slot: int, why: str, read: bool) -> None:
        self.refusals[why] += 1
        if read:
            self.redrawn[kind].add(slot)

    def _lose_open(self) -> None:
        for kind, slot in self._open:
            self.lost[kind][slot] = IN_FLIGHT
        self._open.clear()

    def _enter(self, kind: str, slot: int, **what: Any) -> None:
        """Note one slot; in the file it is a line, handed to the operating system at once: a killed process loses none."""
        with self._lock:
            if self._closed:
                return
            (self._open.add if "sent" in what else self._open.discard)((kind, slot))
            for name, slots in (("texts", self.texts), ("lost", self.lost), ("shown", self.shown)):
                if name in what:
                    slots[kind][slot] = what[name]
            if "refused" in what:
                self._refuse(kind, slot, what["refused"], what["read"])
            self._write({"kind": kind, "slot": slot, **what})

    def _write(self, entry: dict[str, Any]) -> None:
        if self._file:
            self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")
            self._file.flush()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
