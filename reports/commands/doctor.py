"""The command draftproof doctor: what is installed, and what each command would need."""

import platform
import shutil
from importlib.metadata import distribution

import click
from packaging.requirements import Requirement

from ... import __version__
from ...models.digests import MECHANIZED, coq_sources, versions

BASE = ""
FOR = {
    BASE: "audit of functions over NumPy arrays and of programs, law, certificate, campaign, vectors, report, pages",
    "torch": "audit --array torch, --dtype bfloat16 or float16, the batched verifiers",
    "transformers": "audit transformers, engine, engines, forge, e2e, train-pair, tables",
    "smollm2": "e2e and tables --preset smollm2: an open model",
    "engines": "engine openvino-genai, engine onnxruntime-genai",
    "kernels": "the Triton kernels",
    "servers": "server",
    "data": "prompts from Hugging Face datasets, tokenizers of sentencepiece (e2e, tables)",
    "campaign": "campaign, also on a cluster; the batched verifiers, compiled",
    "nightly": "nightly: its history in a file or on a server",
    "compliance": "compliance: its PDF",
    "steps": "steps, and recording in an engine's process",
    "prove": "prove by sympy and z3",
    "test": "the pytest plugin",
}
"""What each extra of the distribution is for; docs/install.md says how large each is."""

PROGRAMS = {"coqc": "prove by coq", "node": "vectors in JavaScript", "c++": "vectors and programs in C++"}
"""Programs that are not installed with a package, and what uses them."""


def required(extra: str, package: str = "draftproof") -> list[str]:
    """Return the packages that an installed one states for an extra here; for BASE those without an extra."""
    stated = [Requirement(line) for line in distribution(package).requires or ()]
    found = []
    for one in stated:
        if bool(extra) == ("extra" in str(one.marker)) and (
            one.marker is None or one.marker.evaluate({"extra": extra})
        ):
            found += [name for other in one.extras for name in required(other)] if one.name == package else [one.name]
    return list(dict.fromkeys(found))


@click.command(name="doctor")
def command() -> None:
    """Show what is installed, and what each command would need. Nothing is installed, and nothing heavy imported."""
    click.echo(f"draftproof {__version__}, Python {platform.python_version()}, {platform.platform()}")
    for extra in FOR:
        needed = required(extra)
        found = versions(*needed)
        missing = [package for package in needed if package not in found]
        name = f"draftproof[{extra}]" if extra else "draftproof"
        state = f"lacks {', '.join(missing)}: pip install '{name}'" if missing else "installed"
        click.echo(f"\n{name}: {state}\n  for   {FOR[extra]}")
        if found:
            click.echo(f"  has   {', '.join(f'{package} {number}' for package, number in found.items())}")
    click.echo("\nprograms")
    for program, use in PROGRAMS.items():
        click.echo(f"  {program}: {shutil.which(program) or 'not found'}\n  for   {use}")
    found = MECHANIZED if coq_sources() else "not in the wheel, in a clone and in the source distribution"
    click.echo(f"  Coq sources: {found}\n  for   {PROGRAMS['coqc']}")
