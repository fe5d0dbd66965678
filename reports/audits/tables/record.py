"""The cells measured so far: a run that was stopped goes on from there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from ....models.store import Store
from .plan import MeasurementCell

FILE_NAME = "cells.jsonl"


class Record:
    """DIR/cells.jsonl: the settings, and the cells in the order in which they were measured.

    Raises: InputError for a folder of something else, settings that differ, a damaged file, another run into it.
    """

    def __init__(self, folder: str | Path, settings: dict[str, Any]):
        self.folder, self.file = Path(folder), Path(folder) / FILE_NAME
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.file.exists() and any(self.folder.iterdir()):
                raise InputError(f"{folder}: is not empty; expected a folder that is new, empty, or has {FILE_NAME}")
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
        self._store = Store(self.file, "tables", settings, older=('{"format": "draftproof tables"',))
        self.cells = {MeasurementCell(*key): row for key, row in self._store.rows.items()}

    def add(self, cell: MeasurementCell, measured: Mapping[str, Any]) -> None:
        """Save a cell: once this returns, it outlives a kill. Raises: InputError if it cannot be written."""
        self.cells[cell] = dict(measured)
        self._store.put(tuple(cell), self.cells[cell])

    def close(self) -> None:
        self._store.close()
