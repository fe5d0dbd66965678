"""Write the published pages: ``python -m draftproof.corpus.site engines --out DIR`` and ``... vectors --out FILE``."""

import json
from pathlib import Path

import click

from draftproof.models.errors import InputError
from draftproof.models.json_files import json_text
from draftproof.reports.commands.exit_status import REFUTED, WRONG_USE, stop
from draftproof.reports.commands.output import write_text

from .evidence_command import evidence
from .evidence_folder import TABLES
from .zoo import zoo


@click.group()
def site() -> None:
    """Write the pages that this project publishes, and keep the runs that they show."""


site.add_command(evidence)
site.add_command(zoo)


@site.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Audit each that is there, and write the page: DIR/survey.md, engines.html, issue texts in DIR/engines. "
    "Reports that DIR has are used again, those of draftproof server URL --json DIR/NAME.json too.",
)
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, metavar="N",
              help="Audit each with N - 1 more seeds, in DIR/seeds.jsonl; goes on where it was ended. Exit status 1 "
              "if one that is known to be wrong is not refuted, or another one is.")  # fmt: skip
@click.option("--only", multiple=True, metavar="NAME", help="Audit this one (may be repeated).")
@click.option("--workers", type=click.IntRange(1), help="Audits at a time; as many as there are processors by default.")
def engines(out: Path | None, seeds: int, only: tuple[str, ...], workers: int | None) -> None:
    """Audit every adapter and engine that is there, and write the page of engines."""
    from draftproof.corpus.site.survey_command import write_page

    if unexpected := write_page(out, seeds, only, workers):
        stop(unexpected, REFUTED)


@site.command()
@click.option(
    "--out", "file", default="-", show_default=True, metavar="FILE", help="Where to write the page (Markdown)."
)
def vectors(file: str) -> None:
    """Write the page that says what the test vectors alone catch of the zoo's mutants, by flag."""
    from draftproof.corpus.site.vectors import page
    from draftproof.corpus.site.vectors_of_zoo import judged

    write_text(file, page(judged()))


@site.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
def judge(folders: tuple[Path, ...]) -> None:
    """Judge the orderings of kept tables again from their cells, and write tables.json and tables.md with them."""
    from draftproof_paper.pages.page import markdown
    from draftproof_paper.tables.report import judged_again

    for folder in folders:
        report = json.loads((folder / TABLES).read_text(encoding="utf-8"))
        # Other parts stay: they would differ by the rounding of this machine's arithmetic alone.
        report["orderings"] = judged_again(folder, report["cells"]["of"])["orderings"]
        write_text(folder / TABLES, json_text(report))
        write_text(folder / "tables.md", markdown(report))


def main() -> None:
    """Run a command; bad input is one line and exit status 2."""
    try:
        site(standalone_mode=False)
    except (InputError, click.ClickException) as error:
        stop(error.format_message() if isinstance(error, click.ClickException) else str(error), WRONG_USE)


if __name__ == "__main__":
    main()
