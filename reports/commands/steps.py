"""The command draftproof steps: recorded verification steps of an engine as it runs."""

import os
from collections.abc import Mapping
from typing import Any

import click

from .output import Output, progress_bar
from .parameters import jobs_option, report_options, seed_option

RULES = ("token", "block", "greedy-block", "equality", "greedy", "unknown")
"""The names of ``steps.judge.RULE_NAMES``."""


@click.command(name="steps")
@click.argument("folder")
@click.option("--rule", type=click.Choice(RULES), help="The rule that the engine claims.  [default: the recording's]")
@click.option("--gain", is_flag=True, help="Show only what each rule would accept on these steps.")
@jobs_option("Shards judged at a time.")
@seed_option
@report_options
def command(folder: str, rule: str | None, gain: bool, jobs: int | None, seed: int, json_file: str | None,
            html_file: str | None, require_decision: bool) -> None:  # fmt: skip
    """Judge the verification steps recorded in FOLDER (draftproof.recording writes them in an engine's own process).

    Given the drafted tokens and the rows of both models, what a rule emits has a known law: a single step can refute
    it. What is not refuted comes with the step by which each kind of fault would have shown."""
    from ..audits.steps.run import audit_steps

    output = Output(json_file, html_file)
    with progress_bar() as progress:
        report = audit_steps(folder, rule, seed, jobs or os.cpu_count() or 1, progress)
    if gain:
        _show_gain(report.steps or {}, output)
        raise SystemExit(0)
    output.finish(report, require_decision)


def _show_gain(steps: Mapping[str, Any], output: Output) -> None:
    """Print what each rule would accept on the recorded steps."""
    from ..pages.steps import gain_rows
    from ..pages.terminal import plain_table, show_table

    rows = gain_rows(steps)
    if not rows:
        output.console.print("no step of a chain whose draft is known")
        return
    over = steps["acceptance"]["over"]
    table = plain_table("rule", "accepted a step", f"more than {over}")
    for row in rows:
        table.add_row(*row)
    show_table(table, output.console)
    counted = f"{steps['acceptance']['steps']:,} steps of {steps['acceptance']['requests']:,} requests"
    output.echo(f"{counted}; intervals of 95 %. greedy-block in one iteration: it changes the target of later ones.")
