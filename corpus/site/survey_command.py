"""Run the audits of the page of engines that a folder does not have yet, with fresh seeds, and write the page.

``python -m draftproof.corpus.site.survey_command [--lossy] [DIR ..]`` takes reports and seeds of folders into what is
kept here, writes their issues and the page; ``--lossy`` measures its table of lossy rules anew.
"""

import json
import os
import sys
from pathlib import Path

import click
from msgspec import structs, to_builtins

from draftproof.corpus.site.engine_issues import FOLDER
from draftproof.corpus.site.engines_page import SURVEY, Survey, kept_survey, markdown, survey_of, write
from draftproof.corpus.site.lossy_engines import lossy_rows
from draftproof.corpus.site.survey import (
    SEEDS,
    SURVEYED,
    SeedCount,
    reports_in,
    runs_in,
    seed_counts,
    seed_rows,
    survey,
    unexpected,
)
from draftproof.models.errors import InputError
from draftproof.models.files import write_atomically


def write_page(out: Path | None, seeds: int, only: tuple[str, ...], workers: int | None) -> str | None:
    """Audit what is there and write the page: what is not as it is known to be, if anything is.

    out, seeds, only, workers: as of the command.

    Raises: InputError for names, folders and packages that are not there; UsageError without a folder.
    """
    if unknown := [name for name in only if name not in SURVEYED]:
        raise InputError(f"{', '.join(unknown)}: expected some of {', '.join(SURVEYED)}")
    if out is None:
        raise click.UsageError("--only and --seeds say what is audited for --out DIR")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be made ({error.strerror}); expected a folder that can be written") from None
    for name in only:
        if (missing := SURVEYED[name].missing()) and not (out / f"{name}.json").is_file():
            raise InputError(
                f"{name}: needs {', '.join(missing)}; expected what make engines unpacks, or an extra of draftproof"
            )
    for read in (runs_in, seed_counts, reports_in):
        read(out)  # before anything is run
    chosen = [name for name, what in SURVEYED.items() if (not only or name in only) and not what.missing()]
    workers = workers or os.cpu_count() or 1
    for name, verdict in survey(chosen, out, workers):
        click.echo(f"{name:<28}  {verdict}")
    for file in write(out, reports_in(out), runs_in(out), seed_counts(out)):
        click.echo(str(file))
    if seeds == 1:
        return None
    try:
        return _fresh_seeds(chosen, seeds, out, workers)
    finally:
        write(out, reports_in(out), runs_in(out), seed_counts(out))


def _fresh_seeds(names: list[str], seeds: int, out: Path, workers: int) -> str | None:
    wrong = 0
    for row in seed_rows(names, seeds, out / SEEDS, workers):
        wrong += unexpected(row)
        why = row["failure"] or "; ".join(row["refuted"][:2])
        click.echo(f"seed {row['seed']:>3}  {row['name']:<28}  {row['verdict']:<12} {why[:80]}".rstrip())
    said = f"{len(names)} names, {seeds - 1} fresh seeds: {wrong} verdicts are not as they are known to be"
    if wrong:
        return said
    click.echo(said)
    return None


def merged(kept: Survey, new: Survey) -> Survey:
    """The kept survey with the new one's rows and findings in the place of those of the same names, and its seeds."""
    names = {row.name for row in new.rows}
    rows = [*(row for row in kept.rows if row.name not in names), *new.rows]
    findings = [*(f for f in kept.findings if f.name not in names), *new.findings]
    shown = {row.name: row.took for row in rows}
    took = [int(text.removesuffix(" s")) for text in shown.values() if text]
    absent = {name: why for name, why in new.absent.items() if name not in shown}
    together = f"Processor time of {len(took)} audits together: {sum(took)} s."
    older = [count for count in kept.seeds if not any(_covers(one, count) for one in new.seeds)]
    return Survey(rows=rows, findings=findings, absent=absent, together=together, seeds=[*older, *new.seeds],
                  lossy=kept.lossy)  # fmt: skip


def _covers(new: SeedCount, old: SeedCount) -> bool:
    return new.name == old.name and old.numbers <= new.numbers


def take_in(folder: Path) -> None:
    """Take the reports and the fresh seeds of a folder into the kept survey, and write the issues."""
    survey, issues = survey_of(reports_in(folder), runs_in(folder), seed_counts(folder))
    keep(merged(kept_survey(), survey))
    for key, text in issues.items():
        write_atomically(FOLDER / f"{key}.md", text)


def keep(survey: Survey) -> None:
    """Write the survey that is kept here, and its page."""
    write_atomically(FOLDER / SURVEY, json.dumps(to_builtins(survey), indent=1, ensure_ascii=False) + "\n")
    write_atomically(FOLDER.parent / "survey.md", markdown(survey))


if __name__ == "__main__":
    for given in sys.argv[1:]:
        keep(structs.replace(kept_survey(), lossy=lossy_rows())) if given == "--lossy" else take_in(Path(given))
