"""What every command shares: the progress bar, files named on the command line, words joined by commas."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ...models.errors import InputError
from ...models.files import write_atomically

OK, REFUTED, WRONG_USE, NOT_AUDITED, INCONCLUSIVE = 0, 1, 2, 3, 4
"""Exit statuses: nothing refuted; refuted; wrong use or bad input; could not be audited; inconclusive (on demand)."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

STATUS = {"lossless": OK, "holds": OK, "inconclusive": OK, "refuted": REFUTED, "error": NOT_AUDITED}
"""Exit status of a verdict."""


class Comma(click.ParamType):
    """Words joined by commas, each one of those known."""

    name = "LIST"

    def __init__(self, known):
        self.known = tuple(known)

    def convert(self, value, param, ctx):
        words = tuple(w.strip() for w in value.split(",") if w.strip()) if isinstance(value, str) else value
        if not words:
            self.fail(f"expected one or more of {', '.join(self.known)}", param, ctx)
        for word in words:
            if word not in self.known:
                self.fail(f"{word!r} is not one of {', '.join(self.known)}", param, ctx)
        return words


class Finite(click.FloatRange):
    """A number of a range: FloatRange itself takes nan for one of any range, and infinity where there is no end."""

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number", param, ctx)
        return number


@contextmanager
def progress() -> Iterator:
    """A bar on standard error that goes away when the work is done."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, of: bar.update(task, description=escape(what), completed=done, total=of)


def must_be_writable(file: str | None) -> None:
    """Before the work is done, not after; a file that was not there is not left behind. Raises: InputError."""
    if file is None or file == "-":
        return
    path = Path(file).resolve()
    new = not path.exists()
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{file}: cannot be written; expected a file in a folder that exists")
    try:
        with path.open("a"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})") from None


def must_differ(**files: str | None) -> None:
    """Files of one command that would overwrite each other, or be mixed on standard output ("-"). Raises: InputError."""
    taken: dict[Path | None, str] = {}
    for name, file in files.items():
        if file is None:
            continue
        other = taken.setdefault(None if file == "-" else Path(file).resolve(), name)
        if other != name:
            place = "standard output" if file == "-" else file
            raise InputError(f"{place}: named by both --{other} and --{name}; expected different files")


def write(file: str, text: str) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        write_atomically(file, text)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})") from None
