"""The cells measured so far, each appended to a file as a line: a run that was stopped goes on from there."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from .plan import MeasurementCell, require_same_settings

FORMAT, VERSION = "draftproof tables", 1
FILE_NAME = "cells.jsonl"

FILE_KEYS = {"data": "data", "columns": "columns", "same_blocks": "on_the_same"}
"""The parts of a measured cell, and their keys in a file of this version."""

CELL_TYPES = {"seed": int, "group": int, "temperature": float, "data": str, "columns": list, "on_the_same": list}
COLUMN_TYPES = {
    "drafter": int, "verifier": str, "gamma": int, "tokens": int, "calls": int, "seconds": float,
    "processor_seconds": float, "accepted": list, "texts": str,
}  # fmt: skip
SAME_BLOCKS_TYPES = {"drafter": int, "gamma": int, "token": list, "block": list}
"""What a line of the file has, by key and type."""


class Record:
    """DIR/cells.jsonl: the settings in the first line, then a cell a line, in the order in which they were measured.

    Raises: InputError for a folder of something else, settings that differ, a damaged file.
    """

    def __init__(self, folder: str | Path, settings: dict[str, Any]):
        self.folder, self.file = Path(folder), Path(folder) / FILE_NAME
        self.cells: dict[MeasurementCell, dict[str, Any]] = {}
        header = {"format": FORMAT, "version": VERSION, "settings": settings}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.file.exists():
                if any(self.folder.iterdir()):
                    raise InputError(
                        f"{folder}: is not empty; expected a folder that is new, empty, or has {FILE_NAME}"
                    )
                self._append(header)
                return
            self._read(header)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from None

    def add(self, cell: MeasurementCell, measured: Mapping[str, Any]) -> None:
        """Save a cell: once this returns, it outlives a kill. Raises: InputError if it cannot be written."""
        self.cells[cell] = dict(measured)
        try:
            self._append({**cell._asdict(), **{key: measured[name] for name, key in FILE_KEYS.items()}})
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
                entry = json.loads(line)
                if number == 1:
                    if (entry["format"], entry["version"]) != (FORMAT, VERSION):
                        raise ValueError
                    require_same_settings(entry["settings"], header["settings"], str(self.folder))
                else:
                    _require_cell(entry)
                    cell = MeasurementCell(*(entry[name] for name in MeasurementCell._fields))
                    self.cells[cell] = {name: entry[key] for name, key in FILE_KEYS.items()}
            except InputError:
                raise
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                raise InputError(
                    f"{self.file}: line {number} is not what was written there; it was left as it is"
                ) from None
        if whole < len(text):  # a line that was being written when the run was killed
            os.truncate(self.file, whole)


def _require_cell(entry: Any) -> None:
    """Raises ValueError, TypeError or KeyError for what is not a cell with all its columns' fields."""
    _require_fields(entry, CELL_TYPES)
    for column in entry["columns"]:
        _require_fields(column, COLUMN_TYPES)
        for taus in column["accepted"]:
            _require_type(taus, int)
    for one in entry["on_the_same"]:
        _require_fields(one, SAME_BLOCKS_TYPES)
        for name in ("token", "block"):
            _require_type(one[name], float)


def _require_fields(entry: Any, kinds: dict[str, type]) -> None:
    for name, kind in kinds.items():
        _require_type([entry[name]], kind)


def _require_type(values: Any, kind: type) -> None:
    """A whole number is a float too; true and false are no numbers; NaN and infinity are never written."""
    kinds = (int, float) if kind is float else (kind,)
    if type(values) is not list or any(type(v) not in kinds or (kind is float and not isfinite(v)) for v in values):
        raise ValueError


@contextmanager
def exclusive_run(folder: Path) -> Iterator[None]:
    """Raises InputError if another process measures into this folder; where files cannot be locked, nothing is checked."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / FILE_NAME).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another run is measuring into it; expected one at a time") from None
        yield
