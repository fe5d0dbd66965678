"""The command draftproof engine: an engine from outside on checkpoints of known law."""

import json
import sys

import click
from rich.console import Console

from ...models.errors import InputError
from ...models.problem import load_problem
from .console import INCONCLUSIVE, STATUS, Finite, must_be_writable, progress, write


@click.command()
@click.argument("engine")
@click.option("--problem", "problems", multiple=True, metavar="FILE", help="Forge the pair from this problem.")
@click.option("--plain", is_flag=True, help="Sample without the draft, as a control.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Samples of each problem.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="What the calls' seeds come from."
)
@click.option("--timeout", type=Finite(min=1), default=600.0, show_default=True, metavar="S", help="Seconds.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the engine, in JSON.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON ('-': standard output).")
@click.option("--html", "html_file", metavar="FILE", help="Write the report as one self-contained page.")
@click.option("--require-decision", is_flag=True, help="Exit with 4 if the verdict is inconclusive.")
def engine(engine, problems, settings, json_file, html_file, require_decision, **options):
    """Audit an ENGINE end to end, as published: transformers, openvino-genai, or package.module:function,
    path/to/file.py:function that samples from one.

    A target and a draft are forged, and the law of the first tokens is held against the target's. It is statistical
    evidence: a pass comes with its detection limit and is inconclusive."""
    from ..audits.engines.audit import audit_engine, engine_from
    from ..pages.terminal import show

    spec = engine_from(engine)
    loaded = [load_problem(p) for p in problems]
    named = dict(_setting(text) for text in settings)
    for file in (json_file, html_file):
        must_be_writable(file)
    with progress() as told:
        report = audit_engine(spec, loaded, settings=named, progress=told, **options)
    if json_file:
        write(json_file, report.text())
    if html_file:
        from ..pages.page import page

        write(html_file, page(report.as_json()))
    show(report, Console(stderr=json_file == "-" or html_file == "-", highlight=False))
    sys.exit(INCONCLUSIVE if require_decision and report.verdict == "inconclusive" else STATUS[report.verdict])


def _setting(text: str):
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name, json.loads(value)
    except ValueError:
        raise InputError(f"--set {text}: expected NAME=VALUE with a value in JSON") from None
