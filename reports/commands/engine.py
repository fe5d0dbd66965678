"""The command draftproof engine: an inference engine from outside, on checkpoints of known law."""

import json
from typing import Any

import click

from ...models.errors import InputError
from ...models.problem import load_problem
from .output import Output
from .parameters import memory_option, problems_option, report_options, seed_option, timeout_option
from .progress import progress_bar


@click.command(name="engine")
@click.argument("engine")
@problems_option
@click.option("--plain", is_flag=True, help="Sample without the draft, as a control.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Samples of each problem.")
@seed_option
@timeout_option(600.0, 1, "Seconds of wall-clock time for all problems.")
@memory_option(32.0)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the engine, in JSON.")
@report_options
def command(engine: str, problems: tuple[str, ...], settings: tuple[str, ...], json_file: str | None,
            html_file: str | None, require_decision: bool, **options: Any) -> None:  # fmt: skip
    """Audit an ENGINE end to end, as published: transformers, openvino-genai, or package.module:function,
    path/to/file.py:function that samples from one.

    A target and a draft are forged, and the law of the first tokens is compared with the target's. It is statistical
    evidence: a pass comes with its detection limit and is inconclusive."""
    loaded = [load_problem(problem) for problem in problems]
    named = dict(map(_setting, settings))
    output = Output(json_file, html_file)
    from ..audits.engines.audit import audit_engine, engine_from

    spec = engine_from(engine)
    with progress_bar() as progress:
        report = audit_engine(spec, loaded, settings=named, progress=progress, **options)
    output.finish(report, require_decision)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name, json.loads(value)
    except ValueError:
        raise InputError(f"--set {text}: expected NAME=VALUE with a value in JSON") from None
