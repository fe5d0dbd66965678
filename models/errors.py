"""The exceptions that the command line shows in one line: bad input, no memory, a run that could not be completed.

And third-party text made safe to show: a terminal obeys control characters, and a page can be reordered by some.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class InputError(ValueError):
    """An error of the input: what is wrong, what was expected, and where. The command line prints it and exits with
    2.

    code: of its kind, a key of reports/pages/errors.json; empty for an error of no common kind.
    """

    def __init__(self, message: str = "", code: str = ""):
        super().__init__(message)
        self.code = code


@contextmanager
def of_kind(code: str) -> Iterator[None]:
    """Give every InputError raised within that has no code this one; also as a decorator."""
    try:
        yield
    except InputError as error:
        error.code = error.code or code
        raise


class OutOfMemoryError(InputError):
    """An error of memory that ran out while working. A command reports what it has measured so far and exits with 3."""


class RunFailed(Exception):
    """A run could not be completed, for a reason that lies with its subject or with its limits.

    kind: load, convention, crash, timeout, memory, raises, version or interrupted.
    message: one line.
    """

    def __init__(self, kind: str, message: str):
        super().__init__(kind, message)  # both, so that it can be pickled
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return self.message


def printable(text: str) -> str:
    """Return the text with "?" for each character that is neither printable nor the end of a line."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def printable_data(data: Any) -> Any:
    """Return data as JSON gives it, with every text in it printable."""
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {printable_data(key): printable_data(value) for key, value in data.items()}
    return [printable_data(value) for value in data] if isinstance(data, (list, tuple)) else data
