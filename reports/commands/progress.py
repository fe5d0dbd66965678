"""The progress bar of every command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on standard error that goes away when the work is done; it is moved by ``progress(stage, done, total)``;
    none if that is no terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    columns = "{task.description}", BarColumn(), "{task.completed}/{task.total}", TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def progress(stage: str, done: int, total: int | None) -> None:
            bar.update(task, description=escape(stage), completed=done, total=total)

        yield progress
