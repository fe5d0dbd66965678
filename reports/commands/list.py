"""The command draftproof list: what can be named on the command line."""

import click


def _verifiers() -> dict[str, str]:
    from ...verifiers.registry import REFERENCES

    return {reference.name: reference.source for reference in REFERENCES.values()}


def _claims() -> dict[str, str]:
    from ...verifiers.evidence import CLAIMS

    return CLAIMS


def _checks() -> dict[str, str]:
    from ..audits.checks import CHECKS

    return CHECKS


def _mutants() -> dict[str, str]:
    from ...verifiers.zoo.catalogue import MUTANTS

    return {entry.name: f"{entry.title}  {entry.link}" for entry in MUTANTS.values()}


def _adapters() -> dict[str, str]:
    from ...verifiers.adapters.registry import ADAPTERS

    def needs(missing: list[str]) -> str:
        return f" (needs {', '.join(missing)})" if missing else ""

    return {adapter.name: adapter.source + needs(adapter.missing()) for adapter in ADAPTERS.values()}


def _presets() -> dict[str, str]:
    from ...models.pairs.presets import PRESETS

    return {name: f"{pair.target} with {' or '.join(pair.drafts)}: {pair.about}" for name, pair in PRESETS.items()}


LISTS = {
    "verifiers": _verifiers,
    "claims": _claims,
    "checks": _checks,
    "mutants": _mutants,
    "adapters": _adapters,
    "presets": _presets,
}


@click.command(name="list")
@click.argument("what", type=click.Choice(list(LISTS)))
def command(what: str) -> None:
    """What there is: verifiers, claims, checks, mutants, adapters, presets (pairs of models)."""
    rows = LISTS[what]()
    width = max(map(len, rows))
    for name, text in rows.items():
        click.echo(f"{name:<{width}}  {text}")
