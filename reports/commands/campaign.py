"""The command draftproof campaign: millions of samples of a verifier, in parallel, resumable."""

from typing import Any

import click

from ...models.problem import load_problem
from ...stattests.campaign.clusters import check_cluster
from ..audits.subject import subject_from
from .exit_status import INTERRUPTED, NOT_AUDITED, stop
from .output import Output, progress_bar, require_writable
from .parameters import cluster_option, problem_option, report_options, row_options, seed_option, timeout_option


@click.command(name="campaign")
@click.argument("subject")
@problem_option(required=True)
@click.option("--samples", type=int, default=10_000_000, show_default=True, help="Draft blocks to verify.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine; all processors by default.")
@cluster_option
@click.option("--checkpoint", metavar="FILE", help="Save the counts here; the same command resumes from it.")
@seed_option
@click.option("--chunk", type=click.IntRange(min=1), help="Samples that are drawn, and saved, at a time.")
@row_options()
@timeout_option(600.0, 0.1, "Seconds of processor time for one chunk of calls of a third-party function.")
@report_options
def command(subject: str, problem: str, checkpoint: str | None, array: str | None, dtype: str, json_file: str | None,
            html_file: str | None, require_decision: bool, **settings: Any) -> None:  # fmt: skip
    """Sample SUBJECT (a reference verifier, package.module:function or path/to/file.py:function) on one problem, and
    compare the counts with the target's law. The counts depend on neither the workers nor interruptions."""
    if settings["workers"] and settings["cluster"]:
        raise click.UsageError("give --workers or --cluster, not both")
    check_cluster(settings["cluster"])
    spec = subject_from(subject, array, (dtype,))
    if spec.reference and (array or dtype != "float64"):
        raise click.UsageError(f"--array and --dtype are for third-party functions; {subject} is a reference")
    given = load_problem(problem)
    output = Output(json_file, html_file, checkpoint=checkpoint)
    require_writable(checkpoint)
    from ..audits.campaigns.run import CampaignSettings, audit_by_campaign

    with progress_bar() as progress:
        report = audit_by_campaign(spec, given, CampaignSettings(checkpoint=checkpoint, **settings), progress)
    saved = _saved(report.campaign["samples"] if report.campaign else 0, checkpoint)
    if report.interrupted:
        stop(f"interrupted after {saved}", INTERRUPTED)
    if report.failure:
        stop(f"{subject}: {report.failure['message']} (after {saved})", NOT_AUDITED)
    output.finish(report, require_decision)


def _saved(samples: int, checkpoint: str | None) -> str:
    if not samples:
        return "no samples"
    if checkpoint is None:
        return f"{samples:,} samples; none were saved (--checkpoint FILE saves them)"
    return f"{samples:,} samples; they are in {checkpoint}, and the same command resumes from there"
