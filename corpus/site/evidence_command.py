"""The command evidence: run a command of draftproof and keep what it shows, with what it was run on."""

from pathlib import Path
from time import monotonic

import click

from draftproof.models.errors import InputError
from draftproof.reports.commands.exit_status import INTERRUPTED, NOT_AUDITED, OK, REFUTED
from draftproof.reports.commands.main import cli

from .evidence_folder import HEAD, WRITES, kept, run_of, write_run


@click.command(name="evidence", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="The folder, new or of the same run that goes on.")  # fmt: skip
@click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def evidence(out: Path, words: tuple[str, ...]) -> None:
    """Run COMMAND (audit, e2e, engine, server, tables) and keep its report in DIR with date, device, driver, versions.

    The exit status is that of COMMAND. The row that documents may quote is printed."""
    if words[0] not in WRITES:
        raise InputError(f"{words[0]!r} cannot be kept; expected one of {', '.join(WRITES)}")
    option, *files = WRITES[words[0]]
    given = {word.partition("=")[0] for word in words} & {"--json", "--html", "--out"}
    if given:
        raise InputError(
            f"{min(given)}: the files of a kept run are those of --out DIR; expected {words[0]} without it"
        )
    out.mkdir(parents=True, exist_ok=True)
    options = [option, *[str(out / file) if not file.startswith("--") else file for file in files]]
    began, status = monotonic(), OK
    try:
        cli.main([*words, *options], prog_name="draftproof", standalone_mode=False)
    except SystemExit as end:
        status = int(end.code or OK)
    if status in (OK, REFUTED, NOT_AUDITED, INTERRUPTED):
        write_run(out, run_of(words, monotonic() - began, status))
        click.echo(f"{HEAD}\n{kept(out).line}")
    raise SystemExit(status)
