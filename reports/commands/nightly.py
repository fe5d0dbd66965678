"""The commands draftproof nightly run and draftproof nightly status."""

import json
import sys
from collections.abc import Sequence

import click
from rich.console import Console

from ...models.errors import InputError
from ...models.problem import load_problem
from ..audits.functions.subject import SubjectSpec, subject_from
from ..audits.nightly import DEFAULT_FILE
from .console import NOT_AUDITED, OK, REFUTED, Finite, must_be_writable, must_differ, progress, write

LONGEST_VERSION = 80
"""Characters of --subject-version."""


def _shared(command):
    """Options of both commands."""
    for option in reversed((
        click.option("--db", metavar="URL", help="The history: an SQLite file or an SQLAlchemy URL  "
                     f"[default: {DEFAULT_FILE} in the current folder].",
                     envvar="DRAFTPROOF_DB", show_envvar=True),
        click.option("--json", "json_file", metavar="FILE", help="Write the history as JSON ('-': standard output)."),
        click.option("--html", "html_file", metavar="FILE", help="Write the history as one self-contained page."),
        click.option("--wait", type=Finite(min=0.1, max=3600), default=30.0, show_default=True, metavar="S",
                     help="Seconds to wait for another writer."),
    )):  # fmt: skip
        command = option(command)
    return command


@click.group()
def nightly() -> None:
    """A regression that stays quiet for years: fresh draws every night, one history, alarms with a lifetime error rate."""


@nightly.command()
@click.argument("subjects", nargs=-1, metavar="[SUBJECT ...]")
@_shared
@click.option(
    "--problem", "problems", multiple=True, metavar="FILE", help="Check on this problem, not on the usual ones."
)
@click.option("--samples", type=click.IntRange(min=100, max=10**8), default=20_000, show_default=True,
              help="Draws a check.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), help="Derive the seeds from this and the night  [default: fresh].")
@click.option("--night", metavar="DATE", help="The night the draws count for  [default: today, UTC].")
@click.option("--subject-version", metavar="TEXT", help="What SUBJECT's version is called: needed where its code cannot be "
              "digested, told beside the digest otherwise. A new one begins new e-processes.")  # fmt: skip
@click.option("--lifetime-alpha", type=Finite(min=0, max=0.1, min_open=True),
              help="The chance of a false alarm in the whole life of a history that begins now  [default: 0.001].")  # fmt: skip
@click.option("--array", type=click.Choice(("numpy", "rows", "list", "torch")), help="What the rows arrive as.")
@click.option("--dtype", type=click.Choice(("float64", "float32")), default="float64", show_default=True,
              help="Precision of the rows.")  # fmt: skip
@click.option("--timeout", type=Finite(min=0.1, max=10**7), default=300.0, show_default=True, metavar="S",
              help="Seconds for the draws of one check.")  # fmt: skip
@click.option("--memory", type=Finite(min=0.5, max=2**20), default=8.0, show_default=True, metavar="GIB",
              help="Address space of the child process.")  # fmt: skip
def run(subjects, db, json_file, html_file, wait, problems, night, lifetime_alpha, **options):
    """Draw from each SUBJECT (all reference verifiers and installed adapters if none is named) and add to the history.

    Exit status: 1 if a check drawn from is in alarm, 3 if a subject could not be drawn from. A second run on the same
    night adds its draws to the first's; with the same --seed it goes on where the first one was interrupted."""
    history_of = _history()
    from ..audits.nightly.history import checked_night
    from ..audits.nightly.run import Night, default_subjects, run_night
    from ..pages.nightly.summary import show

    array, dtype = options.pop("array"), options["dtype"]
    specs = [subject_from(name, array, (dtype,)) for name in dict.fromkeys(subjects or default_subjects())]
    _must_be_a_version(options["subject_version"], specs)
    loaded, date = [load_problem(problem) for problem in problems], checked_night(night)
    must_differ(json=json_file, html=html_file, db=(db or DEFAULT_FILE).removeprefix("sqlite:///"))
    for file in (json_file, html_file):
        must_be_writable(file)
    history = history_of.begin(db, lifetime_alpha, wait)
    try:
        with progress() as told:
            report = run_night(history, specs, Night(date, problems=loaded, progress=told, **options))
    finally:
        history.close()
    ids = {*report["drawn"], *report["resumed"]}
    drawn = [check for check in report["checks"] if check["id"] in ids]
    _write(report, json_file, html_file)
    show(report, drawn, Console(stderr="-" in (json_file, html_file), highlight=False))
    alarm = any(check["state"] == "alarm" for check in drawn)
    sys.exit(REFUTED if alarm else NOT_AUDITED if report["failures"] else OK)


@nightly.command()
@_shared
def status(db, json_file, html_file, wait):
    """What the history says now. Exit status: 1 if a check of a current version is in alarm."""
    history_of = _history()
    from ..audits.nightly.status import status as of
    from ..pages.nightly.summary import show

    must_differ(json=json_file, html=html_file, db=(db or DEFAULT_FILE).removeprefix("sqlite:///"))
    for file in (json_file, html_file):
        must_be_writable(file)
    history = history_of.read(db, wait)
    try:
        report = of(history)
    finally:
        history.close()
    _write(report, json_file, html_file)
    current = [check for check in report["checks"] if check["current"]]
    show(report, current, Console(stderr="-" in (json_file, html_file), highlight=False))
    sys.exit(REFUTED if report["state"] == "alarm" else OK)


def _must_be_a_version(text: str | None, specs: Sequence[SubjectSpec]) -> None:
    """Raises: InputError if it names nothing, could be taken for another, or there is no one subject that it is of."""
    if text is None:
        return
    if text != " ".join(text.split()) or not text.isprintable() or not 0 < len(text) <= LONGEST_VERSION:
        raise InputError(
            f"--subject-version: {text!r} is no version; expected 1 to {LONGEST_VERSION} characters in one line, single "
            "spaces between words"
        )
    if len(specs) != 1 or specs[0].reference:
        raise InputError("--subject-version: expected one SUBJECT, and it is not one of draftproof's own verifiers")


def _history():
    """The class, if what it needs is installed."""
    try:
        from ..audits.nightly.history import History
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sqlalchemy":
            raise
        raise InputError("nightly needs sqlalchemy; install draftproof[nightly]") from None
    return History


def _write(report: dict, json_file: str | None, html_file: str | None) -> None:
    if json_file:
        write(json_file, json.dumps(report, indent=1) + "\n")
    if html_file:
        from ..pages.nightly.page import page

        write(html_file, page(report))
