"""The commands draftproof nightly run and draftproof nightly status."""

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from typing import Any

import click

from ...models.errors import InputError
from ...models.libraries import require
from ...models.problem import load_problem
from ..audits.nightly import DEFAULT_FILE
from ..audits.subject import SubjectSpec, subject_from
from .exit_status import NOT_AUDITED, OK, REFUTED
from .output import Output, progress_bar
from .parameters import (
    Command,
    Finite,
    file_options,
    kept_option,
    memory_option,
    problems_option,
    row_options,
    timeout_option,
    verbose_option,
)

MAX_VERSION_LENGTH = 80


def _shared(command: Command) -> Command:
    """Add the options of both commands."""
    db = click.option(
        "--db",
        metavar="URL",
        envvar="DRAFTPROOF_DB",
        show_envvar=True,
        help=f"The history: an SQLite file or an SQLAlchemy URL  [default: {DEFAULT_FILE} in the current folder].",
    )
    wait = click.option("--wait", type=Finite(min=0.1, max=3600), default=30.0, show_default=True, metavar="S",
                        help="Seconds to wait for another writer.")  # fmt: skip
    return db(file_options("the history")(wait(verbose_option(command))))


@click.group(name="nightly")
def command() -> None:
    """Run a regression that stays quiet for years: fresh draws every night, alarms with a lifetime error rate."""


@command.command()
@click.argument("subjects", nargs=-1, metavar="[SUBJECT ...]")
@_shared
@problems_option
@click.option("--samples", type=click.IntRange(100, 10**8), default=20_000, show_default=True, help="Draws a check.")
@click.option("--seed", type=click.IntRange(min=0), help="Derive the seeds from this and the night  [default: fresh].")
@click.option("--night", metavar="DATE", type=click.DateTime(["%Y-%m-%d"]),
              help="The night the draws count for  [default: today, UTC].")  # fmt: skip
@click.option(
    "--subject-version",
    metavar="TEXT",
    help="Name of SUBJECT's version: needed if its code cannot be digested, "
    "else added to the digest. A new one begins new e-processes.",
)
@click.option(
    "--lifetime-alpha",
    type=Finite(min=0, max=0.1, min_open=True),
    help="The chance of a false alarm in the whole life of a history that begins now  [default: 0.001].",
)
@row_options(("float64", "float32"))
@timeout_option(300.0, 0.1, "Seconds of processor time for the draws of one check.", most=10**7)
@memory_option(most=2**20)
def run(
    subjects: tuple[str, ...],
    db: str | None,
    json_file: str | None,
    html_file: str | None,
    wait: float,
    problems: tuple[str, ...],
    night: datetime | None,
    lifetime_alpha: float | None,
    **options: Any,
) -> None:
    """Draw from each SUBJECT (all reference verifiers and installed adapters if none is named) and add to the history.
    Of a SUBJECT steps:FOLDER the recorded shards that are new are judged.

    Exit status: 1 if a check of the code drawn from is in alarm, 3 if a subject could not be drawn from or a shard not
    be judged. A second run on the same night adds its draws to the first's; with the same --seed it goes on where the
    first one was interrupted."""
    output = _output(db, json_file, html_file)
    from ...models.recorded_steps import Recording
    from ..audits.nightly.history import History, checked_night
    from ..audits.nightly.recorded import PREFIX
    from ..audits.nightly.run import Night, default_subjects, run_night
    from ..audits.nightly.states import code_of
    from ..pages.nightly.summary import show

    array, dtype = options.pop("array"), options["dtype"]
    names = [*dict.fromkeys(subjects or default_subjects())]
    specs = [name if name.startswith(PREFIX) else subject_from(name, array, (dtype,)) for name in names]
    for name in specs:
        if isinstance(name, str):
            Recording.open(name.removeprefix(PREFIX))  # bad input is said before anything is drawn
    _must_be_a_version(options["subject_version"], specs)
    loaded, date = [load_problem(problem) for problem in problems], checked_night(night.date() if night else None)
    with closing(History.begin(db, lifetime_alpha, wait)) as history, progress_bar() as progress:
        report = run_night(history, specs, Night(date, problems=loaded, progress=progress, **options))
    ids = {*report["drawn"], *report["resumed"]}
    codes = {code_of(check["subject"], check["version"]) for check in report["checks"] if check["id"] in ids}
    drawn = [check for check in report["checks"] if code_of(check["subject"], check["version"]) in codes]
    output.write(report, lambda: _page(report))
    show(report, drawn, output.console, bool(kept_option("verbose")), output.written)
    alarm = any(check["state"] == "alarm" for check in drawn)
    failed = [failure for failure in report["failures"] if failure["kind"] != "gone"]
    raise SystemExit(REFUTED if alarm else NOT_AUDITED if failed else OK)


@command.command()
@_shared
def status(db: str | None, json_file: str | None, html_file: str | None, wait: float) -> None:
    """Show what the history says now. Exit status: 1 if a check of a current version is in alarm."""
    output = _output(db, json_file, html_file)
    from ..audits.nightly.history import History
    from ..audits.nightly.status import status as status_of
    from ..pages.nightly.summary import show

    with closing(History.read(db, wait)) as history:
        report = status_of(history)
    output.write(report, lambda: _page(report))
    current = [check for check in report["checks"] if check["current"]]
    show(report, current, output.console, bool(kept_option("verbose")), output.written)
    raise SystemExit(REFUTED if report["state"] == "alarm" else OK)


def _page(report: dict[str, Any]) -> str:
    from ..pages.nightly.page import page

    return page(report)


def _must_be_a_version(text: str | None, specs: Sequence[SubjectSpec | str]) -> None:
    """Raise InputError if it is not one line of plain words, or there is not exactly one subject for it."""
    if text is None:
        return
    if text != " ".join(text.split()) or not text.isprintable() or not 0 < len(text) <= MAX_VERSION_LENGTH:
        expected = f"1 to {MAX_VERSION_LENGTH} characters in one line, single spaces between words"
        raise InputError(f"--subject-version: {text!r} is not a version; expected {expected}")
    if len(specs) != 1 or isinstance(specs[0], str) or specs[0].reference:
        raise InputError("--subject-version: expected one SUBJECT, and it is not one of draftproof's own verifiers")


def _output(db: str | None, json_file: str | None, html_file: str | None) -> Output:
    output = Output(json_file, html_file, db=(db or DEFAULT_FILE).removeprefix("sqlite:///"))
    require("sqlalchemy", extra="nightly")
    return output
