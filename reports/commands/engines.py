"""The command draftproof engines: every adapter and decoder, what it states of itself, and the page about their audits."""

from pathlib import Path

import click

from ...models.errors import InputError
from ...verifiers.adapters.engines import ENGINES
from ...verifiers.adapters.registry import ADAPTERS


@click.command(name="engines")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Audit each adapter that is there, and write DIR/engines.md; reports that DIR has are used again.")  # fmt: skip
@click.option("--only", multiple=True, metavar="NAME", help="This adapter (may be repeated).")
def command(out: Path | None, only: tuple[str, ...]) -> None:
    """Every installed adapter and decoder; with --out, a page of what their audits came to, on a few problems."""
    if unknown := [name for name in only if name not in ADAPTERS]:
        raise InputError(f"{', '.join(unknown)}: expected adapters, {', '.join(ADAPTERS)}")
    if out is None:
        _list()
        return
    from ..pages.engines import audited, page

    out.mkdir(parents=True, exist_ok=True)
    chosen = [a for a in ADAPTERS.values() if (not only or a.name in only) and not a.missing()]
    reports = {}
    for adapter in chosen:
        reports[adapter.name] = audited(adapter, out)
        click.echo(f"{adapter.name:<20}  {reports[adapter.name]['verdict']}")
    (out / "engines.md").write_text(page(reports, out.name), encoding="utf-8")
    click.echo(str(out / "engines.md"))


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
