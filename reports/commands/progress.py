"""The progress bar of every command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on standard error that goes away when the work is done; it is moved by ``progress(stage, done, total)``."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    columns = "{task.description}", BarColumn(), "{task.completed}/{task.total}", TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def progress(stage: str, done: int, total: int | None) -> None:
            bar.update(task, description=escape(stage), completed=done, total=total)

        yield progress
