"""The cells measured so far, in a file to which each is appended as a line: what a killed run goes on from."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...models.errors import InputError
from .plan import FORMAT, VERSION, Cell, must_be_the_same

NAME = "cells.jsonl"


class Record:
    """DIR/cells.jsonl: the settings in the first line, then a cell a line, in the order in which they were measured."""

    def __init__(self, folder: str | Path, settings: dict[str, Any]):
        """Open or begin it. Raises: InputError for a folder that is not ours, settings that differ, a damaged file."""
        self.folder, self.file = Path(folder), Path(folder) / NAME
        self.cells: dict[Cell, dict[str, Any]] = {}
        header = {"format": FORMAT, "version": VERSION, "settings": settings}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.file.exists():
                if any(self.folder.iterdir()):
                    raise InputError(f"{folder}: is not empty; expected a folder that is new, empty, or has {NAME}")
                self._append(header)
                return
            self._read(header)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from None

    def add(self, cell: Cell, measured: dict[str, Any]) -> None:
        """Keep a cell: once this returns, it outlives a kill. Raises: InputError if it cannot be written."""
        self.cells[cell] = measured
        try:
            self._append({**cell._asdict(), **measured})
        except OSError as error:
            raise InputError(f"{self.file}: cannot be written ({error.strerror})") from None

    def _append(self, line: dict[str, Any]) -> None:
        with self.file.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, header: dict[str, Any]) -> None:
        text = self.file.read_bytes()
        whole = text.rfind(b"\n") + 1
        lines = text[:whole].splitlines()
        if not lines:  # killed while the first line was written
            self.file.write_bytes(b"")
            self._append(header)
            return
        for number, line in enumerate(lines, 1):
            try:
                found = json.loads(line)
                if number == 1:
                    if (found["format"], found["version"]) != (FORMAT, VERSION):
                        raise ValueError
                    must_be_the_same(found["settings"], header["settings"], str(self.folder))
                else:
                    cell = Cell(*(found.pop(name) for name in Cell._fields))
                    self.cells[cell] = {name: found[name] for name in ("data", "columns", "on_the_same")}
            except InputError:
                raise
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise InputError(
                    f"{self.file}: line {number} is not what was written there; it was left as it is"
                ) from None
        if whole < len(text):  # a line that was being written when the run was killed
            os.truncate(self.file, whole)


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Raises InputError if another process measures into this folder; where files cannot be locked, nothing is held."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / NAME).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another run is measuring into it; expected one at a time") from None
        yield
