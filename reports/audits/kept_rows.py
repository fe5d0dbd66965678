"""Rows of a long survey, kept in a file of JSON lines as they become known: stopped, the same survey goes on from there."""

import json
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any


class KeptRows:
    """The rows of a file that were made by one state of the code.

    file: one row a line; its folder is made.
    key: the columns that name a row.
    code: a digest of what the rows depend on; those of other code do not count, and stay in the file.
    """

    def __init__(self, file: Path, key: tuple[str, ...], code: str):
        self.file, self.key, self.code = file, key, code
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        rows = [row for row in map(json.loads, lines) if row["code"] == code]
        self.rows: dict[tuple[Hashable, ...], dict[str, Any]] = {tuple(row[k] for k in key): row for row in rows}

    def row(self, *named: Hashable, make: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        """The row of that name, made by ``make(*named)`` if it is not there; in the file before it is given out."""
        if named not in self.rows:
            self.rows[named] = dict(zip(self.key, named)) | {"code": self.code} | make(*named)
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(self.rows[named]) + "\n")
        return self.rows[named]
