"""Results kept in a file as they become known: stopped or killed, the same command resumes from there.

The file has JSON lines, each with a checksum: the first says what its rows are of and which settings all of them depend
on; every other one is a row with its key and the digest of what else it depends on.
"""

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from .errors import InputError, of_kind
from .files import sync_folder

Key = tuple[Any, ...]

GROWTH = 4
"""Growth of a file, as a factor, after which it is rewritten with its rows alone."""

SMALL = 2**20
"""Bytes up to which a file is not rewritten, whatever its growth."""

PATIENCE = 3.0
"""Seconds for another process to let go of a file: one that was killed while it started a program shares its lock until
that program has begun."""

LOG = logging.getLogger(__name__)

_CHECK = b', "check": "'
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


class StoredRow(NamedTuple):
    """A row of a store. key: what the row is of; valid_for: the digest of what it depends on; row: its JSON form."""

    key: Key
    valid_for: str
    row: Any


class Store:
    """A file of rows, which one process at a time may write. Of several rows under one key the last one counts.

    file: its path; None keeps the rows in memory alone.
    what: what the rows are of. A file of anything else is refused.
    settings: what all rows depend on; a file with other settings is refused, with the name of one that differs.
    valid_for: the digest of what else the rows depend on; those for another one stay in the file and do not count.
    durable: whether a row outlives a power cut, and not only a kill, once ``put`` returns.

    rows: key -> row, of those that count. others: the rows for other digests.
    What a kill cut off is logged as a warning.
    Raises: InputError for a file that cannot be used, which is left unchanged.
    """

    _descriptor = -1

    @of_kind("DP209")
    def __init__(
        self,
        file: str | Path | None,
        what: str,
        settings: Mapping[str, Any] | None = None,
        *,
        valid_for: str = "",
        durable: bool = True,
    ):
        self.path, self.valid_for = Path(file).resolve() if file else None, valid_for
        self.rows: dict[Key, Any] = {}
        self.others: list[StoredRow] = []
        self._what, self._durable, self._head = what, durable, _head(what, settings or {})
        self._most = SMALL
        if self.path:
            try:
                self._open(self.path)
            except BaseException as error:
                self.close()
                if isinstance(error, OSError):
                    raise InputError(f"{self.path}: cannot be used ({error.strerror})") from None
                raise

    def put(self, key: Key, row: Any) -> None:
        """Keep a row. Raises: InputError if it cannot be written; the file then has what it had."""
        self.rows[key] = row
        if self.path:
            with _written(self.path):
                size = self._append(_line(StoredRow(key, self.valid_for, row)))
            if size > self._most:
                self._most = GROWTH * size
                with suppress(OSError):  # the row is there; a folder may refuse a new file
                    self._rewrite(self.path)

    def keep(self, keys: Iterable[Key]) -> None:
        """Leave these rows alone in the file, in this order. Raises: InputError if it cannot be written."""
        self.rows, self.others = {key: self.rows[key] for key in keys if key in self.rows}, []
        if self.path:
            with _written(self.path):
                self._rewrite(self.path)

    def close(self) -> None:
        """Close the file, so that another process may write."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    __del__ = close

    def _open(self, path: Path) -> None:
        content = self._locked(path)
        whole = content.rfind(b"\n") + 1
        settings, rows = _parsed(content[:whole] or self._head, self._what, str(path))
        if not whole and not self._head.startswith(content):
            raise InputError(f"{path}: {_foreign(self._what)}")
        _require_same(settings, json.loads(self._head)["settings"], str(path))
        self.rows = {key: row for key, digest, row in rows if digest == self.valid_for}
        self.others = [row for row in rows if row.valid_for != self.valid_for]
        if whole < len(content):
            os.ftruncate(self._descriptor, whole)
            LOG.warning("%s: its last line was cut off while it was written, and does not count", path)
        if not whole:
            self._append(self._head)
        self._most = max(SMALL, GROWTH * whole)

    def _locked(self, path: Path) -> bytes:
        """Return what the file holds, once no other process writes to it."""
        until = time.monotonic() + PATIENCE
        while True:
            self._descriptor = os.open(path, _FLAGS, 0o666)
            if _lock(self._descriptor) and os.fstat(self._descriptor).st_ino == path.stat().st_ino:
                return path.read_bytes()
            self.close()
            if time.monotonic() > until:
                raise InputError(f"{path}: another process writes to it; expected one at a time")
            time.sleep(0.05)

    def _append(self, content: bytes) -> int:
        """Write at the end of the file, all or nothing; its size."""
        before = os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            if os.write(self._descriptor, content) < len(content):
                raise OSError(28, "No space left on device")
            if self._durable:
                os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, before)
            raise
        return before + len(content)

    def _rewrite(self, path: Path) -> None:
        """Replace the file by one with its rows alone; whatever happens meanwhile, one of the two is there."""
        old, temporary = self._descriptor, path.with_name(f".{uuid4().hex}")
        rows = [*self.others, *(StoredRow(key, self.valid_for, row) for key, row in self.rows.items())]
        try:
            self._descriptor = os.open(temporary, _FLAGS | os.O_EXCL, os.fstat(old).st_mode)
            _lock(self._descriptor)
            self._most = max(SMALL, GROWTH * self._append(self._head + b"".join(map(_line, rows))))
            os.replace(temporary, path)
            if self._durable:
                sync_folder(path.parent)
        except BaseException:
            old, self._descriptor = self._descriptor, old
            temporary.unlink(missing_ok=True)
            raise
        finally:
            if old != self._descriptor:
                os.close(old)


class StoredFile(NamedTuple):
    """What a file holds: the settings that all rows depend on, and the rows, for whatever digest."""

    settings: dict[str, Any]
    rows: list[StoredRow]


def stored(file: Path, what: str) -> StoredFile:
    """Return what a file holds; nothing if it is not there. Another process may write to it.

    what: as of ``Store``.
    Raises: InputError for a file of anything else, and for a line that was changed.
    """
    content = file.read_bytes() if file.is_file() else b""
    return _parsed(content[: content.rfind(b"\n") + 1], what, str(file)) if content else StoredFile({}, [])


def stored_text(what: str, rows: Iterable[StoredRow]) -> bytes:
    """Return the content of a file with these rows, without settings."""
    return _head(what, {}) + b"".join(map(_line, rows))


def _foreign(what: str) -> str:
    return f"no file of {what}, or of a version before 0.2; it was not changed"


def _head(what: str, settings: Mapping[str, Any]) -> bytes:
    return _checked({"rows of": what, "version": 1, "settings": settings})


def _line(row: StoredRow) -> bytes:
    return _checked({"key": row.key, "for": row.valid_for, "row": row.row})


def _checked(content: Mapping[str, Any]) -> bytes:
    body = json.dumps(content).encode()[:-1]
    return body + _CHECK + _sum(body) + b'"}\n'


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


def _parsed(content: bytes, what: str, where: str) -> StoredFile:
    """Return what whole lines hold."""
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        body, _, end = line.rpartition(_CHECK)
        if end == _sum(body) + b'"}':
            lines.append(json.loads(line))
        elif lines:
            raise InputError(f"{where}: line {number} is not what was written there; it was not changed")
    if not lines or lines[0].get("rows of") != what:
        raise InputError(f"{where}: {_foreign(what)}")
    if lines[0]["version"] != 1:
        raise InputError(f"{where}: has version {lines[0]['version']}; expected version 1; it was not changed")
    rows = [StoredRow(tuple(line["key"]), line["for"], line["row"]) for line in lines[1:]]
    return StoredFile(lines[0]["settings"], rows)


def _require_same(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            said = (
                f"{where}: was begun with {name} {_shown(before.get(name))}, and {_shown(now.get(name))} is asked for"
            )
            raise InputError(f"{said}; expected the same, or another file")


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _lock(descriptor: int) -> bool:
    """Lock the file. Return whether no other process holds it; if files cannot be locked, nothing is checked."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except BlockingIOError:
        return False
    return True


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
