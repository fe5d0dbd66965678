"""The command draftproof bisect: the release, or the commit, that changed the verdict of an engine's verifier."""

from pathlib import Path

import click

from draftproof.models.errors import InputError, RunFailed
from draftproof.reports.commands.exit_status import NOT_AUDITED, stop
from draftproof.reports.commands.output import progress_bar, require_writable, write_text
from draftproof_engines.commands.history import end_with, history_named, release_version


@click.command(name="bisect")
@click.argument("name")
@click.argument("old")
@click.argument("new")
@click.option("--repository", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="OLD and NEW are commits of the git repository there, and not releases.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/history"),
              show_default=True, metavar="DIR",
              help="Where files and results are kept, also by draftproof history.")  # fmt: skip
@click.option("--json", "json_file", metavar="FILE", help="Write what was found as JSON.")
def command(name: str, old: str, new: str, repository: Path | None, out: Path, json_file: str | None) -> None:
    """Name the release after OLD, up to NEW, that changed the verdict of an engine's verifier, with the change of its
    text.

    The texts between are halved, so that few are audited. Exit status 1 if NEW is refuted, 3 if an end cannot be
    examined.
    """
    chosen = history_named(name)
    require_writable(json_file)
    import msgspec

    from draftproof_engines.bisect import bisected
    from draftproof_engines.releases import Release, commits, releases
    from draftproof_engines.releases_audit import read
    from draftproof_engines.releases_page import lines_of_bisection

    def listed() -> list[Release]:
        if repository:
            return commits(chosen, repository, old, new)
        every = {release_version(release.version): release for release in releases(chosen)}
        ends = [release_version(text) for text in (old, new)]
        if unknown := [str(end) for end in ends if end not in every]:
            raise InputError(f"{chosen.package} has no release {unknown[0]} from {chosen.since} on that counts here")
        if ends[0] > ends[1]:
            raise InputError(f"{new} is older than {old}; expected OLD NEW")
        return [release for version, release in every.items() if ends[0] <= version <= ends[1]]

    with progress_bar() as progress:
        read_ones = read(chosen, listed, out, progress)
        try:
            found = bisected(read_ones, out, 2, progress)
        except RunFailed as failed:
            stop(f"{name} {failed}", NOT_AUDITED)
    if json_file:
        write_text(json_file, msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n")
    for line in lines_of_bisection(found):
        click.echo(line)
    end_with(name, found.releases[-1], found.texts.get(found.releases[-1].text))
