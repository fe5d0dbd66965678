"""The command ``draftproof campaign``: millions of samples of a verifier, in parallel, resumable."""

import json
import sys

import click
from rich.console import Console
from rich.markup import escape

from ...models.law import prefix_key
from ...models.problem import load_problem
from ...verifiers.evidence import NO_EVIDENCE, REFUTED
from .console import INTERRUPTED, NOT_AUDITED, OK, Finite, must_be_writable, must_differ, progress, write
from .console import REFUTED as EXIT_REFUTED

SCHEMA_VERSION = "1.0"


@click.command()
@click.argument("subject")
@click.option("--problem", required=True, metavar="FILE", help="The problem (a file, or JSON itself).")
@click.option("--samples", type=int, default=10_000_000, show_default=True, help="Draft blocks to verify.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine; all processors by default.")
@click.option("--cluster", metavar="URL", help="dask://HOST:PORT, ray or ray://HOST:PORT instead of this machine.")
@click.option("--checkpoint", metavar="FILE", help="Keep the counts here; the same command goes on from it.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the whole campaign.")
@click.option("--chunk", type=click.IntRange(min=1), help="Samples that are drawn, and kept, at a time.")
@click.option("--batch", type=click.IntRange(min=1), metavar="B",
              help="SUBJECT takes B blocks a call: arrays [B, gamma + 1, V], [B, gamma, V], [B, gamma].")  # fmt: skip
@click.option("--array", type=click.Choice(("numpy", "rows", "list", "torch")), help="What the rows arrive as.")
@click.option("--dtype", type=click.Choice(("float64", "float32", "float16", "bfloat16")), default="float64",
              show_default=True, help="Precision of the rows.")  # fmt: skip
@click.option("--timeout", type=Finite(min=0.1), default=600.0, show_default=True, metavar="S",
              help="Seconds for one chunk of calls of somebody's function.")  # fmt: skip
@click.option("--json", "json_file", metavar="FILE", help="Write the result as JSON ('-': standard output).")
def campaign(subject, problem, samples, workers, cluster, checkpoint, seed, chunk, batch, array, dtype, timeout,
             json_file):  # fmt: skip
    """Sample SUBJECT (a reference verifier, package.module:function or path/to/file.py:function) on one problem, and
    hold the counts against the target's law. The counts depend on neither the workers nor interruptions."""
    from ...models.errors import RunFailed
    from ...stattests.campaign.clusters import scheme_of
    from ...stattests.campaign.run import plan, run_campaign
    from ..audits.functions.subject import subject_from

    if workers and cluster:
        raise click.UsageError("either --workers, or --cluster, whose size decides")
    scheme_of(cluster)
    spec = subject_from(subject, array, (dtype,))
    if spec.reference and (batch or array or dtype != "float64"):
        raise click.UsageError(
            f"--batch, --array and --dtype are for somebody's function; {subject} is sampled exactly"
        )
    if batch and array in ("rows", "list"):
        raise click.UsageError(f"--batch gives arrays; --array {array} does not go with it")
    given = load_problem(problem)
    must_differ(json=json_file, checkpoint=checkpoint)
    for file in (json_file, checkpoint):
        must_be_writable(file)
    from ..audits.campaigns.judgement import Judge

    judge = Judge(given, modifies_target=spec.modifies_target, dtype=dtype, seed=seed)
    reached = [0]
    try:
        source = _source(spec, given, batch, timeout)
        planned = plan(source, samples, seed, chunk)
        with progress() as bar:

            def report_progress(stage, done, total):
                reached[0] = done
                bar(stage, done, total)

            counted = run_campaign(source, planned, workers=workers, cluster=cluster, checkpoint=checkpoint,
                                   bound=judge.bound, progress=report_progress)  # fmt: skip
    except KeyboardInterrupt:
        click.echo(f"draftproof: interrupted after {_kept(reached[0], checkpoint)}", err=True)
        sys.exit(INTERRUPTED)
    except RunFailed as failure:
        click.echo(f"draftproof: {subject}: {failure} (after {_kept(reached[0], checkpoint)})", err=True)
        sys.exit(NOT_AUDITED)
    if counted.tally.failures == counted.tally.n:
        (kind, seen), *_ = counted.tally.strange.items()
        click.echo(f"draftproof: {subject}: none of {samples:,} blocks got tokens: {kind}: {seen.example}", err=True)
        sys.exit(NOT_AUDITED)
    evidence = judge.evidence(counted.tally)
    report = _report(spec, source, planned, counted, evidence, cluster)
    if json_file:
        write(json_file, json.dumps(report, indent=1) + "\n")
    _show(report, Console(stderr=json_file == "-", highlight=False))
    sys.exit(EXIT_REFUTED if evidence.verdict == REFUTED else OK)


def _source(spec, problem, batch, timeout):
    if spec.reference:
        from ...proofs.field import in_field
        from ...stattests.campaign.compiled import CompiledSource

        return CompiledSource(spec.reference, in_field(problem))
    from ..audits.campaigns.subject import ThirdPartySource

    return ThirdPartySource(spec, problem, batch=batch, timeout=timeout)


def _kept(samples: int, checkpoint: str | None) -> str:
    if not samples:
        return "no samples"
    if checkpoint is None:
        return f"{samples:,} samples; none were kept (--checkpoint FILE keeps them)"
    return f"{samples:,} samples; they are in {checkpoint}, and the same command goes on from there"


def _report(spec, source, planned, counted, evidence, cluster) -> dict:
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


def _show(report: dict, console: Console) -> None:
    """The result as a person at a terminal reads it."""
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
        found = detail["accepted"]
        low, high = found["interval"]
        lines.append(
            (
                "E[tau]",
                f"{found['mean']:.6g} in [{low:.6g}, {high:.6g}]; optimum {found['optimum']:.6g}, cap {found['cap']:.6g}",
            )
        )
    lines += [
        ("strange", f"{kind}: {times:,} times, for example {example}")
        for kind, (times, example) in detail["strange"].items()
    ]
    if evidence["witness"]:
        seen = evidence["witness"]
        lines.append(
            ("witness", f"{seen['sequence']}: expected {seen['expected']}, observed {seen['observed']}; {seen['why']}")
        )
    console.print(f"\n[bold]{escape(report['subject']['name'])}[/]  {escape(report['subject']['source'])}")
    for name, text in lines:
        console.print(escape(f"{name:<11} {text}"), soft_wrap=True)
    word = {REFUTED: "[red]refuted[/]", NO_EVIDENCE: "[yellow]no-evidence[/]"}[evidence["verdict"]]
    console.print(f"{'lossless':<11} [bold]{word}[/]\n")
