"""The command draftproof list: what can be named on the command line."""

from collections import Counter
from collections.abc import Callable

import click

from ...models.decoding_settings import SETTINGS
from ...models.pairs.presets import PRESETS
from ...verifiers.adapters.registry import ADAPTERS
from ...verifiers.claims import CLAIMS
from ...verifiers.registry import REFERENCES
from ...verifiers.trees.registry import TREE_REFERENCES
from ...verifiers.zoo.catalogue import BATCH_MUTANTS, MUTANTS, TREE_MUTANTS
from ..testing.checks import CHECKS

LISTS: dict[str, Callable[[], dict[str, str]]] = {
    "verifiers": lambda: {name: reference.source for name, reference in (REFERENCES | TREE_REFERENCES).items()},
    "claims": lambda: {name: f"{claim.statement} (of a {', '.join(claim.runs)})" for name, claim in CLAIMS.items()},
    "checks": lambda: CHECKS,
    "mutants": lambda: {name: f"{m.title}  {m.link}" for name, m in (MUTANTS | TREE_MUTANTS | BATCH_MUTANTS).items()},
    "adapters": lambda: {name: adapter.source for name, adapter in ADAPTERS.items()},
    "presets": lambda: {name: f"{p.target} with {' or '.join(p.drafts)}: {p.about}" for name, p in PRESETS.items()},
    "problems": lambda: _problems(),
    "settings": lambda: {name: f"{setting.meaning} ({setting.kind})" for name, setting in SETTINGS.items()},
}
"""What is listed, by name."""


@click.command(name="list")
@click.argument("what", type=click.Choice([*LISTS]))
def command(what: str) -> None:
    """List what there is: verifiers, claims, checks, mutants, adapters, presets (pairs of models), settings of
    decoders.

    Of the audit's problems it says how many of the regions in which a bug can hide each covers."""
    rows = LISTS[what]()
    width = max(map(len, rows))
    for name, text in rows.items():
        missing = ADAPTERS[name].missing() if what == "adapters" else []
        needs = f" (needs {', '.join(missing)})" if missing else ""
        click.echo(f"{name:<{width}}  {text}{needs}")


def _problems() -> dict[str, str]:
    """Return the regions that each problem of the battery covers, and all together."""
    from ...models.battery import audit_battery
    from ...models.path_rows import path_battery
    from ...models.regions import VISIBLE, coverage, covered

    battery = [*audit_battery(), *path_battery()]
    known = {problem.name: set(coverage(problem)) for problem in battery}
    times = Counter(cell for found in known.values() for cell in found)
    rows = {
        name: f"covers {len(found)} regions, {sum(times[cell] == 1 for cell in found)} of them alone"
        for name, found in known.items()
    }
    regions = covered((problem, VISIBLE) for problem in battery).items()
    return rows | {f"all, by {region}": f"{n['covered']} of {n['of']} regions" for region, n in regions}
