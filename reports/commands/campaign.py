"""The command draftproof campaign: millions of samples of a verifier, in parallel, resumable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...models.errors import RunFailed
from ...models.law import prefix_key
from ...models.problem import Problem, load_problem
from ...verifiers.evidence import NO_EVIDENCE, REFUTED
from ..audits.functions.subject import SubjectSpec, subject_from
from .exit_status import INTERRUPTED, NOT_AUDITED, of_verdict, stop
from .output import Output, require_writable
from .parameters import DTYPES, array_option, json_option, problem_option, seed_option, timeout_option
from .progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from ...stattests.campaign.run import CampaignCounts, CampaignPlan, SampleSource
    from ...verifiers.evidence import Evidence

SCHEMA_VERSION = "1.0"


@click.command(name="campaign")
@click.argument("subject")
@problem_option(required=True)
@click.option("--samples", type=int, default=10_000_000, show_default=True, help="Draft blocks to verify.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine; all processors by default.")
@click.option("--cluster", metavar="URL", help="dask://HOST:PORT, ray or ray://HOST:PORT instead of this machine.")
@click.option("--checkpoint", metavar="FILE", help="Save the counts here; the same command goes on from it.")
@seed_option
@click.option("--chunk", type=click.IntRange(min=1), help="Samples that are drawn, and saved, at a time.")
@click.option("--batch", type=click.IntRange(min=1), metavar="B",
              help="SUBJECT takes B blocks a call: arrays [B, gamma + 1, V], [B, gamma, V], [B, gamma].")  # fmt: skip
@array_option
@click.option("--dtype", type=click.Choice(DTYPES), default="float64", show_default=True, help="Precision of the rows.")
@timeout_option(600.0, 0.1, "Seconds of processor time for one chunk of calls of a third-party function.")
@json_option("the result")
def command(subject: str, problem: str, samples: int, workers: int | None, cluster: str | None, checkpoint: str | None,
            seed: int, chunk: int | None, batch: int | None, array: str | None, dtype: str, timeout: float,
            json_file: str | None) -> None:  # fmt: skip
    """Sample SUBJECT (a reference verifier, package.module:function or path/to/file.py:function) on one problem, and
    compare the counts with the target's law. The counts depend on neither the workers nor interruptions."""
    from ...stattests.campaign.clusters import scheme_of

    if workers and cluster:
        raise click.UsageError("either --workers, or --cluster, whose size decides")
    scheme_of(cluster)
    spec = subject_from(subject, array, (dtype,))
    if spec.reference and (batch or array or dtype != "float64"):
        raise click.UsageError(
            f"--batch, --array and --dtype are for third-party functions; {subject} is sampled exactly"
        )
    if batch and array in ("rows", "list"):
        raise click.UsageError(f"--batch gives arrays; --array {array} does not go with it")
    given = load_problem(problem)
    output = Output(json_file, checkpoint=checkpoint)
    require_writable(checkpoint)
    from ...stattests.campaign.run import plan, run_campaign
    from ..audits.campaigns.judgement import Judge

    judge = Judge(given, modifies_target=spec.modifies_target, dtype=dtype, seed=seed)
    reached = [0]
    try:
        source = _source(spec, given, batch, timeout)
        planned = plan(source, samples, seed, chunk)
        with progress_bar() as bar:

            def progress(stage: str, done: int, total: int) -> None:
                reached[0] = done
                bar(stage, done, total)

            counted = run_campaign(source, planned, workers=workers, cluster=cluster, checkpoint=checkpoint,
                                   bound=judge.bound, progress=progress)  # fmt: skip
    except KeyboardInterrupt:
        stop(f"interrupted after {_saved(reached[0], checkpoint)}", INTERRUPTED)
    except RunFailed as failure:
        stop(f"{subject}: {failure} (after {_saved(reached[0], checkpoint)})", NOT_AUDITED)
    if counted.tally.failures == counted.tally.n:
        (kind, seen), *_ = counted.tally.strange.items()
        stop(f"{subject}: none of {samples:,} blocks got tokens: {kind}: {seen.example}", NOT_AUDITED)
    evidence = judge.evidence(counted.tally)
    report = _report(spec, source, planned, counted, evidence, cluster)
    output.write(report)
    _show(report, output.console)
    raise SystemExit(of_verdict(evidence.verdict))


def _source(spec: SubjectSpec, problem: Problem, batch: int | None, timeout: float) -> SampleSource:
    if spec.reference:
        from ...proofs.field import in_field
        from ...stattests.campaign.compiled import CompiledSource

        return CompiledSource(spec.reference, in_field(problem))
    from ..audits.campaigns.subject import ThirdPartySource

    return ThirdPartySource(spec, problem, batch=batch, timeout=timeout)


def _saved(samples: int, checkpoint: str | None) -> str:
    if not samples:
        return "no samples"
    if checkpoint is None:
        return f"{samples:,} samples; none were saved (--checkpoint FILE saves them)"
    return f"{samples:,} samples; they are in {checkpoint}, and the same command goes on from there"


def _report(spec: SubjectSpec, source: SampleSource, planned: CampaignPlan, counted: CampaignCounts,
            evidence: Evidence, cluster: str | None) -> dict[str, Any]:  # fmt: skip
    new = counted.tally.n - counted.resumed
    return {
        "schema_version": SCHEMA_VERSION,
        "subject": {"name": spec.name, "source": spec.source, **source.identity},
        "samples": counted.tally.n,
        "resumed": counted.resumed,
        "seconds": counted.seconds,
        "samples_per_second": new / counted.seconds if new else None,
        "cluster": cluster,
        "seed": planned.seed,
        "chunk": planned.chunk,
        "verdict": "refuted" if evidence.verdict == REFUTED else "inconclusive",
        "evidence": [{key: getattr(evidence, key) for key in (
            "claim", "method", "verdict", "problem", "total_variation", "bound", "witness", "detail")}],
        "counts": {prefix_key(tokens): times for tokens, times in counted.tally.items()},
        "counts_digest": counted.tally.digest(),
    }  # fmt: skip


def _show(report: Mapping[str, Any], console: Console) -> None:
    from rich.markup import escape

    (evidence,) = report["evidence"]
    detail, rate = evidence["detail"], report["samples_per_second"]
    speed = f", {rate:,.0f} a second" if rate else ""
    before = f" ({report['resumed']:,} from the checkpoint)" if report["resumed"] else ""
    lines = [
        ("samples", f"{report['samples']:,}{before}{speed}"),
        ("counts", f"sha256 {report['counts_digest'][:16]}, seed {report['seed']}, chunks of {report['chunk']:,}"),
        ("goodness", f"p = {detail['p_value']:.3g} ({detail['p_value_by']}), {detail['cells']} cells"),
        ("TV", f"{evidence['total_variation']:.3g} in the sample; at most {evidence['bound']:.3g} at 1 - {detail['false_alarm_rate']:g}"),
        ("detection", f"a TV of {detail['detection_limit']:.3g} is missed with probability {detail['miss_rate']:g}"),
    ]  # fmt: skip
    if detail["accepted"]:
        tau = detail["accepted"]
        low, high = tau["interval"]
        text = f"{tau['mean']:.6g} in [{low:.6g}, {high:.6g}]; optimum {tau['optimum']:.6g}, cap {tau['cap']:.6g}"
        lines.append(("E[tau]", text))
    lines += [
        ("strange", f"{kind}: {times:,} times, for example {example}")
        for kind, (times, example) in detail["strange"].items()
    ]
    if evidence["witness"]:
        seen = evidence["witness"]
        text = f"{seen['sequence']}: expected {seen['expected']}, observed {seen['observed']}; {seen['why']}"
        lines.append(("witness", text))
    console.print(f"\n[bold]{escape(report['subject']['name'])}[/]  {escape(report['subject']['source'])}")
    for name, text in lines:
        console.print(escape(f"{name:<11} {text}"), soft_wrap=True)
    word = {REFUTED: "[red]refuted[/]", NO_EVIDENCE: "[yellow]no-evidence[/]"}[evidence["verdict"]]
    console.print(f"{'lossless':<11} [bold]{word}[/]\n")
