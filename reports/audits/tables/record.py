"""The cells measured so far, in a file to which each is appended as a line: what a killed run goes on from."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from .plan import FORMAT, VERSION, MeasurementCell, require_same_settings

NAME = "cells.jsonl"

CELL = {"seed": int, "group": int, "temperature": float, "data": str, "columns": list, "on_the_same": list}
COLUMN = {
    "drafter": int, "verifier": str, "gamma": int, "tokens": int, "calls": int, "seconds": float,
    "processor_seconds": float, "accepted": list, "texts": str,
}  # fmt: skip
ON_THE_SAME = {"drafter": int, "gamma": int, "token": list, "block": list}
"""What ``measure.Bench.cell`` writes, by name and type."""


class Record:
    """DIR/cells.jsonl: the settings in the first line, then a cell a line, in the order in which they were measured."""

    def __init__(self, folder: str | Path, settings: dict[str, Any]):
        """Open or begin it. Raises: InputError for a folder that is not ours, settings that differ, a damaged file."""
        self.folder, self.file = Path(folder), Path(folder) / NAME
        self.cells: dict[MeasurementCell, dict[str, Any]] = {}
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

    def add(self, cell: MeasurementCell, measured: dict[str, Any]) -> None:
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
                    require_same_settings(found["settings"], header["settings"], str(self.folder))
                else:
                    _must_be_a_cell(found)
                    cell = MeasurementCell(*(found.pop(name) for name in MeasurementCell._fields))
                    self.cells[cell] = {name: found[name] for name in ("data", "columns", "on_the_same")}
            except InputError:
                raise
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                raise InputError(
                    f"{self.file}: line {number} is not what was written there; it was left as it is"
                ) from None
        if whole < len(text):  # a line that was being written when the run was killed
            os.truncate(self.file, whole)


def _must_be_a_cell(found: Any) -> None:
    """Raises ValueError, TypeError or KeyError for what is not a cell with all its columns' fields."""
    _must_have(found, CELL)
    for column in found["columns"]:
        _must_have(column, COLUMN)
        for taus in column["accepted"]:
            _must_be_all(taus, int)
    for one in found["on_the_same"]:
        _must_have(one, ON_THE_SAME)
        for name in ("token", "block"):
            _must_be_all(one[name], float)


def _must_have(found: Any, kinds: dict[str, type]) -> None:
    for name, kind in kinds.items():
        _must_be_all([found[name]], kind)


def _must_be_all(values: Any, kind: type) -> None:
    """A whole number is a number too; true and false are none; NaN and infinity are never written."""
    kinds = (int, float) if kind is float else (kind,)
    if type(values) is not list or any(type(v) not in kinds or (kind is float and not isfinite(v)) for v in values):
        raise ValueError


@contextmanager
def exclusive_run(folder: Path) -> Iterator[None]:
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
