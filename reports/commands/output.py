"""What a command writes: a bar while it works, then the files that its options name and a table for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ...models.errors import InputError
from ...models.files import write_atomically
from ...models.json_files import json_text
from ...models.libraries import reason
from .exit_status import INTERRUPTED, of_verdict, stop
from .parameters import kept_option

if TYPE_CHECKING:
    from rich.console import Console

    from ...verifiers.evidence import Evidence
    from ..audits.report import Report

STANDARD_OUTPUT = "-"


class Output:
    """A set of files that a command writes, checked before its work begins.

    json_file, html_file, sarif_file: those of ``--json``, ``--html``, ``--sarif``; "-" for standard output.
    others: further files that the command writes, by option; they must differ from these.
    The file of --junit, --verbose and --scope come from the command's context.
    Raises: InputError if two options name the same file, or one of the first four cannot be written.
    """

    def __init__(
        self, json_file: str | None, html_file: str | None = None, sarif_file: str | None = None, **others: str | None
    ) -> None:
        self.json_file, self.html_file, self.sarif_file = json_file, html_file, sarif_file
        self.junit_file: str | None = kept_option("junit")
        mine = {"json": json_file, "html": html_file, "sarif": sarif_file, "junit": self.junit_file}
        options: dict[Path | str, str] = {}
        for option, file in {**mine, **others}.items():
            if file is None:
                continue
            other = options.setdefault(file if file == STANDARD_OUTPUT else Path(file).resolve(), option)
            if other != option:
                place = "standard output" if file == STANDARD_OUTPUT else file
                raise InputError(f"{place}: named by both --{other} and --{option}; expected different files")
        for file in mine.values():
            require_writable(file)
        self.to_stderr = STANDARD_OUTPUT in mine.values()

    @property
    def console(self) -> Console:
        """Console for tables: standard output, or standard error if a file has taken that."""
        from rich.console import Console

        return Console(stderr=self.to_stderr, highlight=False)

    @property
    def written(self) -> list[str]:
        """Return the files of the options that were given, without standard output."""
        files = self.json_file, self.html_file, self.sarif_file, self.junit_file
        return [file for file in files if file and file != STANDARD_OUTPUT]

    def echo(self, line: str) -> None:
        """Write one line, unchanged, where tables go."""
        click.echo(line, err=self.to_stderr)

    def write(self, data: Any, page: Callable[[], str] | None = None) -> None:
        """Write the files that were asked for: the data as JSON, and the page."""
        if self.json_file:
            write_text(self.json_file, json_text(data))
        if self.html_file and page:
            write_text(self.html_file, page())

    def finish(self, report: Report, require_decision: bool) -> NoReturn:
        """Write a report, show it, and exit with its verdict's status: 130 if interrupted, never 0 without evidence."""
        from ..pages.terminal import show

        def form(name: str) -> Any:
            """Return what the module of that name makes of the report."""
            return getattr(import_module(f"..pages.{name}", __package__), name)(report)

        self.write(report.as_json())
        forms = {"page": self.html_file, "sarif": self.sarif_file, "junit": self.junit_file}
        for name, file in forms.items():
            with verdict_stands(f"--{'html' if name == 'page' else name}"):
                if file:
                    text = form(name)
                    write_text(file, text if isinstance(text, str) else json_text(text))
        if report.interrupted:
            saved = f"; they are in {self.json_file}" if self.json_file and not self.to_stderr else ""
            findings = len(report.evidence)
            shown = report.shown_refutation()
            seen = f" (refuted on {shown.problem})" if shown else " (none refutes)"
            after = f"after {findings} findings{seen}{saved}" if findings else "before the first finding"
            stop(f"interrupted {after}", INTERRUPTED)
        with verdict_stands("the terminal"):
            show(report, self.console, bool(kept_option("verbose")), bool(kept_option("scope")), self.written)
        left_out = bool(report.scope and report.scope.not_decided)
        raise SystemExit(of_verdict(report.verdict, require_decision or not report.evidence, left_out))


@contextmanager
def verdict_stands(what: str) -> Iterator[None]:
    """Say in one line what could not be drawn of a report, and go on: its verdict and its other files stand.

    Raises: InputError for a file that cannot be written.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        click.echo(
            f"{what}: could not be drawn ({type(error).__name__}: {reason(error)}); the verdict stands", err=True
        )


class Bar:
    """A bar of progress: ``bar(stage, done, total)`` moves it."""

    def __init__(self, move: Callable[[str, int, int | None], None], console: Console):
        self.move, self.console, self.said = move, console, False

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        self.move(stage, done, total)

    def refuted(self, shown: Evidence) -> None:
        """Print the first refutation above it, once, if standard error is a terminal."""
        if self.console.is_terminal and not self.said:
            from ..pages.terminal import show_first

            self.said = True
            with verdict_stands("the first refutation"):
                show_first(shown, self.console)


@contextmanager
def progress_bar() -> Iterator[Bar]:
    """Show a bar on standard error while the work lasts, if that is a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    columns = "{task.description}", BarColumn(), "{task.completed}/{task.total}", TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def progress(stage: str, done: int, total: int | None) -> None:
            bar.update(task, description=escape(stage), completed=done, total=total)

        yield Bar(progress, bar.console)


def say_what_was_made(preset: str | None) -> None:
    """Make the models of a preset from its package, once, and say how long that took and how large they are."""
    from ...models.pairs.packaged_pair import packaged_pair
    from ...models.pairs.presets import SMOLLM2

    if preset != SMOLLM2:
        return
    with progress_bar() as progress:
        folder, figures = packaged_pair(progress=progress)
    if figures["made"]:
        seconds, size = figures["cpu_seconds"], figures["bytes"] / 1e9
        click.echo(f"made        {folder}: {size:.2f} GB, {seconds:.0f} s of processor time; once", err=True)


def require_writable(file: str | None) -> None:
    """Raise InputError if a file cannot be written. A file that does not exist is not left there."""
    if file is None or file == STANDARD_OUTPUT:
        return
    path = Path(file).resolve()
    new = not path.exists()
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{file}: cannot be written; expected a file in a folder that exists", "DP205")
    try:
        path.open("a").close()
        if new:
            path.unlink()
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})", "DP205") from None


def write_text(file: str | Path, text: str) -> None:
    """Write a file, or to standard output. Raises: InputError if it cannot be written."""
    if file == STANDARD_OUTPUT:
        click.echo(text, nl=False)
        return
    try:
        write_atomically(file, text)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})", "DP205") from None
