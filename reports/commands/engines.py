"""The command draftproof engines: every adapter and engine, what it states of itself, and the page about their
audits."""

import os
from pathlib import Path

import click

from ...models.errors import InputError
from ...verifiers.adapters.engines import ENGINES
from ...verifiers.adapters.registry import ADAPTERS
from .exit_status import REFUTED, stop


@click.command(name="engines")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Audit each that is there, and write the page: DIR/engines.md, engines.html, issue texts in "
    "DIR/engines. "
    "Reports that DIR has are used again, those of draftproof engine URL --json DIR/NAME.json too.",
)
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, metavar="N",
              help="Audit each with N - 1 more seeds, in DIR/seeds.jsonl; goes on where it was ended. Exit status 1 "
              "if one that is known to be wrong is not refuted, or another one is.")  # fmt: skip
@click.option("--only", multiple=True, metavar="NAME", help="This one (may be repeated).")
@click.option("--workers", type=click.IntRange(1), help="Audits at a time; as many as there are processors by default.")
def command(out: Path | None, seeds: int, only: tuple[str, ...], workers: int | None) -> None:
    """Every adapter (a function of an engine, audited as a verifier) and every engine (a decoder that emits text); with
    --out, a page of what their audits came to, on a few problems."""
    if out is None and not only and seeds == 1:
        _list()
        return
    from ..published.engines import write
    from ..published.survey import SURVEYED, reports_in, runs_in, seed_counts, survey

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
    if seeds > 1:
        try:
            _fresh_seeds(chosen, seeds, out, workers)
        finally:
            write(out, reports_in(out), runs_in(out), seed_counts(out))


def _fresh_seeds(names: list[str], seeds: int, out: Path, workers: int) -> None:
    """Exit status 1 if a verdict is not as it is known to be."""
    from ..published.survey import SEEDS, seed_rows, unexpected

    wrong = 0
    for row in seed_rows(names, seeds, out / SEEDS, workers):
        wrong += unexpected(row)
        why = row["failure"] or "; ".join(row["refuted"][:2])
        click.echo(f"seed {row['seed']:>3}  {row['name']:<28}  {row['verdict']:<12} {why[:80]}".rstrip())
    said = f"{len(names)} names, {seeds - 1} fresh seeds: {wrong} verdicts are not as they are known to be"
    if wrong:
        stop(said, REFUTED)
    click.echo(said)


def _list() -> None:
    for adapter in ADAPTERS.values():
        needs = f" (needs {', '.join(missing)})" if (missing := adapter.missing()) else ""
        click.echo(f"{adapter.name:<20}  {adapter.source}{needs}")
        states = {"random numbers": adapter.randomness, "bonus token": adapter.bonus, "draft": adapter.draft,
                  "says of itself": adapter.claims, "tried": adapter.tried}  # fmt: skip
        for what, text in states.items():
            if text:
                click.echo(f"{'':<20}    {what}: {text}")
    for engine in ENGINES.values():
        needs = f" (needs {', '.join(missing)})" if (missing := engine.missing()) else ""
        click.echo(f"{engine.name:<20}  from outside, draftproof engine: {engine.source}{needs}")
