"""The command draftproof engines: every adapter and engine, and what it states of itself."""

import click

from ...verifiers.adapters.registry import ADAPTERS, ENGINES


@click.command(name="engines")
def command() -> None:
    """List every adapter (a function of an engine, audited as a verifier) and every engine (a decoder that emits
    text)."""
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
