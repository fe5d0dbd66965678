"""The command draftproof history: the verdict of every release of an engine's verifier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from draftproof.models.errors import InputError
from draftproof.reports.commands.exit_status import NOT_AUDITED, REFUTED, stop
from draftproof.reports.commands.output import progress_bar, require_writable, write_text
from draftproof.stattests.campaign.clusters import check_cluster

if TYPE_CHECKING:
    from draftproof_engines.releases import VerifierHistory
    from draftproof_engines.releases_audit import ReleaseRow, TextVerdict


@click.command(name="history")
@click.argument("name", required=False)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/history"),
              show_default=True, metavar="DIR",
              help="Where files and results are kept: the same command resumes from there.")  # fmt: skip
@click.option("--json", "json_file", metavar="FILE",
              help="Write the history as JSON: what the page is made of.")  # fmt: skip
@click.option("--since", metavar="VERSION", help="Releases from this one on.")
@click.option("--until", metavar="VERSION", help="Releases up to this one.")
@click.option("--diff", is_flag=True, help="Show how the verifier's text changed wherever its verdict did.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Audits at a time.")
@click.option("--cluster", metavar="URL", help="dask://HOST:PORT instead of this machine.")
def command(
    name: str | None, out: Path, json_file: str | None, since: str | None, until: str | None, diff: bool, workers: int,
    cluster: str | None,
) -> None:  # fmt: skip
    """Audit the verifier of every release of an engine; without NAME, list the verifiers whose history is known.

    Files are read from the package index; releases whose verifier has the same text are audited once. Exit status 1 if
    the newest release is refuted, 3 if it could not be examined.
    """
    from draftproof_engines.releases import HISTORIES

    if name is None:
        for history in HISTORIES.values():
            click.echo(f"{history.name:<20}  {history.package} from {history.since} on: {history.says}")
        return
    chosen = history_named(name)
    check_cluster(cluster)
    import msgspec
    from packaging.version import Version

    from draftproof_engines.releases_audit import history_of
    from draftproof_engines.releases_page import lines_of

    require_writable(json_file)
    low, high = (release_version(text) if text else None for text in (since, until))
    with progress_bar() as progress:
        found = history_of(
            chosen, out, workers, progress,
            lambda r: (not low or Version(r.version) >= low) and (not high or Version(r.version) <= high), cluster,
        )  # fmt: skip
    if json_file:
        write_text(json_file, msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n")
    for line in lines_of(found):
        click.echo(line)
    if diff:
        for releases, text in found.changes.items():
            click.echo(f"\n{releases}\n{text}")
    end_with(name, found.releases[-1], found.verdict(found.releases[-1]))


def history_named(name: str) -> VerifierHistory:
    """Raises: InputError if there is none of this name, or what reads it is not installed."""
    from draftproof.verifiers.adapters.registry import not_installed
    from draftproof_engines.releases import HISTORIES, REMOTE

    if name not in HISTORIES:
        raise InputError(f"{name}: expected one of {', '.join(HISTORIES)}")
    if missing := not_installed(REMOTE):
        raise InputError(f"needs {', '.join(missing)}; expected what pip install draftproof-engines brings")
    return HISTORIES[name]


def release_version(text: str) -> Any:
    """Raises: InputError for what is no release."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion as error:
        raise InputError(f"{error}; expected a release, as 0.9.1") from None


def end_with(name: str, newest: ReleaseRow, verdict: TextVerdict | None) -> None:
    """The exit status that the newest release's verdict makes."""
    if verdict and verdict.verdict == "refuted":
        stop(f"{name} {newest.version}: refuted", REFUTED)
    if newest.why or (verdict and verdict.verdict == "error"):
        stop(f"{name} {newest.version}: not examined", NOT_AUDITED)
