"""The command draftproof history: the verdict of every release of an engine's verifier."""

from pathlib import Path

import click

from ...models.errors import InputError
from .exit_status import NOT_AUDITED, REFUTED, stop
from .output import progress_bar, require_writable, write_text


@click.command(name="history")
@click.argument("name", required=False)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/history"),
              show_default=True, metavar="DIR",
              help="Where files and results are kept: the same command goes on from there.")  # fmt: skip
@click.option("--json", "json_file", metavar="FILE",
              help="Write the history as JSON: what the page is made of.")  # fmt: skip
@click.option("--since", metavar="VERSION", help="Releases from this one on.")
@click.option("--until", metavar="VERSION", help="Releases up to this one.")
@click.option("--diff", is_flag=True, help="Show how the verifier's text changed wherever its verdict did.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Audits at a time.")
def command(
    name: str | None, out: Path, json_file: str | None, since: str | None, until: str | None, diff: bool, workers: int
) -> None:
    """Audit the verifier of every release of an engine; without NAME, list the verifiers whose history is known.

    Files are read from the package index; releases whose verifier has the same text are audited once. Exit status 1 if
    the newest release is refuted, 3 if it could not be examined.
    """
    from ...verifiers.adapters.registry import not_installed
    from ...verifiers.adapters.releases import HISTORIES, REMOTE

    if name is None:
        for history in HISTORIES.values():
            click.echo(f"{history.name:<20}  {history.package} from {history.since} on: {history.says}")
        return
    if name not in HISTORIES:
        raise InputError(f"{name}: expected one of {', '.join(HISTORIES)}")
    if missing := not_installed(REMOTE):
        raise InputError(f"needs {', '.join(missing)}; expected what pip install 'draftproof[history]' brings")
    import msgspec
    from packaging.version import InvalidVersion, Version

    from ..audits.engines.history import history_of
    from ..pages.history import lines_of

    require_writable(json_file)
    try:
        low, high = (Version(text) if text else None for text in (since, until))
    except InvalidVersion as error:
        raise InputError(f"--since, --until: {error}; expected a release, as 0.9.1") from None
    with progress_bar() as progress:
        found = history_of(
            HISTORIES[name], out, workers, progress,
            lambda r: (not low or Version(r.version) >= low) and (not high or Version(r.version) <= high),
        )  # fmt: skip
    if json_file:
        write_text(json_file, msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n")
    for line in lines_of(found):
        click.echo(line)
    if diff:
        for releases, text in found.changes.items():
            click.echo(f"\n{releases}\n{text}")
    newest = found.verdict(found.releases[-1])
    if newest and newest.verdict == "refuted":
        stop(f"{name} {found.releases[-1].version}: refuted", REFUTED)
    if found.releases[-1].why or (newest and newest.verdict == "error"):
        stop(f"{name} {found.releases[-1].version}: not examined", NOT_AUDITED)
