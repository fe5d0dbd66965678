"""The command draftproof engines: every adapter and engine, what it states of itself, and the page about their
audits."""

from pathlib import Path

import click

from ...verifiers.adapters.registry import ADAPTERS, ENGINES
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
    from ..published.surveying import write_page

    if unexpected := write_page(out, seeds, only, workers):
        stop(unexpected, REFUTED)


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
