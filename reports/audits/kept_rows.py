"""Rows of a long survey, kept in a file of JSON lines as they become known: stopped, the same survey goes on from there."""

import json
import signal
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from ...models.errors import InputError, RunFailed

Result = TypeVar("Result")


def in_processes(
    function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[tuple[tuple[Any, ...], Result]]:
    """The arguments and the result of every call, as they become known; here, in order, if there is one worker.

    function: of a module, since new processes import it by name
    Raises: RunFailed if a process ends without a result.
    """
    calls = [*calls]
    if min(workers, len(calls)) <= 1:
        yield from ((call, function(*call)) for call in calls)
        return
    silently = signal.SIGINT, signal.SIG_DFL  # Ctrl-C ends a worker too, without a traceback of its own
    with ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, silently) as pool:
        running = {pool.submit(function, *call): call for call in calls}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool as broken:
            raise RunFailed(
                "crash", f"one of {workers} processes ended without a result; --workers 1 makes none"
            ) from broken
        finally:
            pool.shutdown(cancel_futures=True)


def rows_of_file(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines; none if it is not there. What follows the last end of a line was being written.

    Raises: InputError that names a line that is no row.
    """
    rows, text = [], file.read_text(encoding="utf-8") if file.is_file() else ""
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or "code" not in row:
            raise InputError(f"{file}: line {number} is no row of a survey; expected JSON with the digest of the code")
        rows.append(row)
    return rows


class KeptRows:
    """The rows of a file that were made by one state of the code.

    file: one row a line; its folder is made.
    key: the columns that name a row.
    code: a digest of what the rows depend on; those of other code do not count, and stay in the file.
    """

    def __init__(self, file: Path, key: tuple[str, ...], code: str):
        self.file, self.key, self.code = file, key, code
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [row for row in rows_of_file(file) if row["code"] == code]
        if file.is_file():
            with file.open("rb+") as stream:
                stream.truncate(stream.read().rfind(b"\n") + 1)  # a row that was being written is made again
        self.rows: dict[tuple[Hashable, ...], dict[str, Any]] = {tuple(row[k] for k in key): row for row in rows}

    def made(
        self, names: Iterable[tuple[Hashable, ...]], make: Callable[..., dict[str, Any]], workers: int = 1
    ) -> Iterator[dict[str, Any]]:
        """The rows of those names that are not there, by ``make(*name)``; each in the file before it is given out."""
        for named, columns in in_processes(make, [name for name in names if name not in self.rows], workers):
            self.rows[named] = dict(zip(self.key, named)) | {"code": self.code} | columns
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(self.rows[named]) + "\n")
            yield self.rows[named]
