"""The command draftproof steps: recorded verification steps of an engine as it runs."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .output import Output, progress_bar, write_text
from .parameters import jobs_option, report_options, seed_option

if TYPE_CHECKING:
    from ...verifiers.evidence import Evidence

RULES = ("token", "block", "greedy-block", "equality", "greedy", "unknown")
"""The names of ``steps.judge.RULE_NAMES``."""


@click.command(name="steps")
@click.argument("folder")
@click.option("--rule", type=click.Choice(RULES), help="The rule that the engine claims.  [default: the recording's]")
@click.option("--gain", is_flag=True, help="Show only what each rule would accept on these steps.")
@click.option(
    "--witness",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the step that refutes as a problem for draftproof audit --problem.",
)
@jobs_option("Shards judged at a time.")
@seed_option
@report_options
def command(folder: str, rule: str | None, gain: bool, witness: str | None, jobs: int | None, seed: int,
            json_file: str | None, html_file: str | None, require_decision: bool) -> None:  # fmt: skip
    """Judge the verification steps recorded in FOLDER (draftproof.recording writes them in an engine's own process), or
    dumped in a FILE.jsonl.

    Given the drafted tokens and the rows of both models, what a rule emits has a known law: a single step can refute
    it. What is not refuted comes with the step by which each kind of fault would have shown."""
    from ..audits.steps.run import audit_steps

    output = Output(json_file, html_file, witness=witness)
    with progress_bar() as progress:
        report = audit_steps(folder, rule, seed, jobs or os.cpu_count() or 1, progress)
    if gain:
        _show_gain(report.steps or {}, output)
        raise SystemExit(0)
    if witness:
        _write_witness(report.evidence, witness, output)
    output.finish(report, require_decision)


def _write_witness(evidence: "Sequence[Evidence]", file: str, output: Output) -> None:
    """Write the problem of the first step that refutes, or say that there is none."""
    problems = (e.witness.problem for e in evidence if e.refuted and e.witness)
    problem = next(filter(None, problems), None)
    if problem is None:
        output.echo(f"{file}: not written, no step of a chain refutes")
        return
    write_text(file, json.dumps(problem, indent=1) + "\n")


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
