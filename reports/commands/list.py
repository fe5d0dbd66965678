"""The command draftproof list: what can be named on the command line."""

import click

from ...models.pairs.presets import PRESETS
from ...verifiers.adapters.registry import ADAPTERS
from ...verifiers.evidence import CLAIMS
from ...verifiers.registry import REFERENCES
from ...verifiers.zoo.catalogue import MUTANTS
from ..audits.checks import CHECKS

LISTS = {
    "verifiers": {name: reference.source for name, reference in REFERENCES.items()},
    "claims": CLAIMS,
    "checks": CHECKS,
    "mutants": {name: f"{mutant.title}  {mutant.link}" for name, mutant in MUTANTS.items()},
    "adapters": {name: adapter.source for name, adapter in ADAPTERS.items()},
    "presets": {name: f"{p.target} with {' or '.join(p.drafts)}: {p.about}" for name, p in PRESETS.items()},
}


@click.command(name="list")
@click.argument("what", type=click.Choice(list(LISTS)))
def command(what: str) -> None:
    """What there is: verifiers, claims, checks, mutants, adapters, presets (pairs of models)."""
    width = max(map(len, LISTS[what]))
    for name, text in LISTS[what].items():
        missing = ADAPTERS[name].missing() if what == "adapters" else []
        needs = f" (needs {', '.join(missing)})" if missing else ""
        click.echo(f"{name:<{width}}  {text}{needs}")
