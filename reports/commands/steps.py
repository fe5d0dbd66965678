"""The command draftproof steps: recorded verification steps of an engine as it runs."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ...models.errors import RunFailed
from .exit_status import INTERRUPTED, NOT_AUDITED, stop
from .output import Output, progress_bar, require_writable, write_text
from .parameters import cluster_option, jobs_option, report_options, sarif_option, seed_option

if TYPE_CHECKING:
    from ...verifiers.evidence import Evidence

RULES = ("token", "block", "greedy-block", "equality", "greedy", "spec-infer", "without-replacement", "naive",
         "top-tokens", "traversal", "unknown")  # fmt: skip
"""The names of ``steps.judge.RULE_NAMES``."""

TYPES = ("float64", "float32", "float16", "bfloat16")
"""The names of ``steps.trainer.TRAINER_OFF``."""


@click.command(name="steps")
@click.argument("folder")
@click.option("--rule", type=click.Choice(RULES), help="The rule that the engine claims.  [default: the recording's]")
@click.option("--gain", is_flag=True, help="Show only what each rule would accept on these steps.")
@click.option(
    "--witness",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the step that refutes as a problem for draftproof audit --problem.",
)
@click.option(
    "--trainer",
    metavar="FILE",
    help="The trainer's logprobs, as JSON lines: pass only if rollouts follow its policy.",
)
@click.option(
    "--trainer-dtype",
    type=click.Choice(TYPES),
    metavar="TYPE",
    help="Coarsest type in which engine or trainer compute the model.  [default: the recording's]",
)
@jobs_option("Shards judged at a time.")
@cluster_option
@click.option("--checkpoint", metavar="FILE", help="Save what is judged here; the same command resumes from it.")
@seed_option
@sarif_option
@report_options
def command(folder: str, rule: str | None, gain: bool, witness: str | None, trainer: str | None,
            trainer_dtype: str | None, jobs: int | None, cluster: str | None,
            checkpoint: str | None, seed: int, json_file: str | None, html_file: str | None, sarif_file: str | None,
            require_decision: bool) -> None:  # fmt: skip
    """Judge the verification steps recorded in FOLDER (draftproof.recording writes them in an engine's own process), or
    dumped in a FILE.jsonl.

    Given the drafted tokens and the rows of both models, what a rule emits has a known law: a single step can refute
    it. What is not refuted comes with the step by which each kind of fault would have shown."""
    from ..audits.steps.gate import gate
    from ..audits.steps.run import audit_steps
    from ..audits.steps.trainer import read_rollouts

    if jobs and cluster:
        raise click.UsageError("give --jobs or --cluster, not both")
    output = Output(json_file, html_file, sarif_file, witness=witness, checkpoint=checkpoint)
    require_writable(checkpoint)
    kept = f"what was judged is in {checkpoint}, and the same command resumes from there" if checkpoint else (
        "nothing was kept (--checkpoint FILE keeps what is judged)")  # fmt: skip
    try:
        with progress_bar() as progress:
            options = {"jobs": jobs, "progress": progress, "cluster": cluster, "checkpoint": checkpoint}
            answer = None
            if trainer:
                answer = gate(folder, read_rollouts(trainer), dtype=trainer_dtype, rule=rule, seed=seed, **options)
            report = answer.report if answer else audit_steps(folder, rule, seed, **options)
    except KeyboardInterrupt:
        stop(f"interrupted; {kept}", INTERRUPTED)
    except RunFailed as failure:
        stop(f"{folder}: {failure}; {kept}", NOT_AUDITED)
    if gain:
        _show_gain(report.steps or {}, output)
        raise SystemExit(0)
    if witness:
        _write_witness(report.evidence, report.steps or {}, witness, output)
    for reason in answer.missing if answer else ():
        output.echo(f"not examined, so not passed: {reason}")
    output.finish(report, require_decision or bool(answer and answer.missing))


def _write_witness(evidence: "Sequence[Evidence]", steps: Mapping[str, Any], file: str, output: Output) -> None:
    """Write the problem of the first step that refutes, or say that there is none."""
    from ..audits.steps.witness import witness_file

    found = next((e.witness for e in evidence if e.refuted and e.witness and e.witness.problem), None)
    if found is None:
        output.echo(f"{file}: not written, no step of a chain refutes")
        return
    engine = " ".join(filter(None, (steps["header"]["engine"], steps["header"]["engine_version"])))
    write_text(file, json.dumps(witness_file(found, steps["behaves_like"], engine), indent=1) + "\n")


def _show_gain(steps: Mapping[str, Any], output: Output) -> None:
    """Print what each rule would accept on the recorded steps."""
    from ..pages.steps import gain_rows
    from ..pages.terminal import plain_table, show_table

    rows = gain_rows(steps)
    if not rows:
        output.console.print("no step whose draft is known")
        return
    shown = [part for name in ("acceptance", "tree_acceptance") if (part := steps.get(name))]
    over = " or ".join(dict.fromkeys(part["over"] for part in shown))
    table = plain_table("rule", "accepted a step", f"more than {over}")
    for row in rows:
        table.add_row(*row)
    show_table(table, output.console)
    steps_, requests = sum(part["steps"] for part in shown), max(part["requests"] for part in shown)
    counted = f"{steps_:,} steps of {requests:,} requests"
    output.echo(f"{counted}; intervals of 95 %. greedy-block in one iteration: it changes the target of later ones.")
