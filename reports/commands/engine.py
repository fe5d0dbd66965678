"""The command draftproof engine: an inference engine from outside, on checkpoints of known law."""

from typing import Any

import click

from ...models.problem import load_problem
from .output import Output, progress_bar, require_writable
from .parameters import Comma, memory_option, problems_option, report_options, seed_option, set_option, timeout_option


@click.command(name="engine")
@click.argument("engine")
@problems_option
@click.option("--level", "levels", type=Comma(("exact", "statistical")),
              help="Exact, or samples.  [default: exact if possible, samples with --samples]")  # fmt: skip
@click.option("--tokens", type=click.IntRange(1, 8), metavar="N",
              help="Tokens of an output whose distribution is exact.  [default: 3]")  # fmt: skip
@click.option("--grid", is_flag=True, help="Examine every setting that the engine has, with each way of drafting.")
@click.option("--row", "rows", multiple=True, metavar="NAME", help="Examine only this row of the grid.")
@click.option("--plain", is_flag=True, help="Sample without the draft, as a control.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Samples of each problem.")
@set_option("A setting of decoding, its value in JSON (draftproof list settings).")
@click.option("--checkpoint", metavar="FILE", help="Keep each distribution here; the same command resumes from it.")
@seed_option
@timeout_option(600.0, 1, "Seconds of wall-clock time for all problems.")
@memory_option(default=32.0)
@report_options
def command(engine: str, problems: tuple[str, ...], json_file: str | None, html_file: str | None,
            require_decision: bool, **options: Any) -> None:  # fmt: skip
    """Audit an ENGINE end to end, as published: transformers, openvino-genai, onnxruntime-genai, or
    package.module:function, path/to/file.py:function that samples from one.

    A target and a draft are forged. The law of the first tokens is compared with the target's under the settings, and
    with that of the engine's own decoding without the draft: exactly where its random numbers can be followed, else by
    samples, whose pass comes with a detection limit and is inconclusive. A server behind a URL is audited by draftproof
    server; draftproof engine URL is its older name."""
    output = Output(json_file, html_file, checkpoint=options["checkpoint"])
    require_writable(options["checkpoint"])
    from ..audits.engines.audit import audit_engine, engine_from

    loaded = [load_problem(problem) for problem in problems]
    spec = engine_from(engine)
    with progress_bar() as progress:
        report = audit_engine(spec, loaded, progress=progress, **options)
    output.finish(report, require_decision)
