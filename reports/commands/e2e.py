"""The command draftproof e2e: a decoding loop on a pair of models, end to end."""

from typing import Any

import click

from ...models.libraries import require
from ...models.pairs.presets import PRESETS
from ..audits.loops.options import LoopOptions
from .output import Output, progress_bar, say_what_was_made
from .parameters import device_option, report_options, seed_option, timeout_option


@click.command(name="e2e")
@click.option("--target", metavar="DIR", help="The target: a folder with a checkpoint, or a name of the Hub.")
@click.option("--draft", metavar="DIR", help="The draft model.")
@click.option("--preset", metavar="NAME", help=f"A named pair in their place: {', '.join(PRESETS)}.")
@click.option("--drafter", type=click.IntRange(0), default=0, show_default=True, help="Which drafter of the preset.")
@click.option(
    "--verifier",
    metavar="NAME",
    default="block",
    show_default=True,
    help="token, block, greedy-block, block-stream, or lenient-token:L, which is lossy; or a rule for trees.",
)
@click.option(
    "--paths",
    type=click.IntRange(1),
    default=1,
    metavar="K",
    help="Independent draft paths of each output, for a rule for trees (spec-infer, k-seq, traversal, ...).",
)
@click.option("--gamma", default="4", show_default=True, metavar="N", help="Draft tokens of a block, or adaptive.")
@device_option
@click.option("--dtype", default="float32", show_default=True, metavar="T", help="float32, bfloat16, float16, float64.")
@click.option(
    "--temperature",
    type=float,
    default=1.0,
    show_default=True,
    metavar="T",
    help="Temperature of target and draft; 0 is greedy decoding.",
)
@click.option("--top-k", type=int, default=0, metavar="K", help="Sample from the K most probable tokens; 0 for all.")
@click.option("--top-p", type=float, default=1.0, metavar="P", help="Sample from a nucleus of this mass.")
@click.option("--eos", type=int, metavar="ID", help="The token that ends an output.  [default: the model's own]")
@click.option("--prompts", metavar="FILE", help="JSON Lines, a data set's name, or a trained pair's folder.")
@click.option("--new-tokens", type=click.IntRange(min=1), default=64, show_default=True, help="Tokens of an output.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N",
              help="Outputs.  [default: 20000 short ones on a forged pair, else 64]")  # fmt: skip
@click.option("--batch", type=click.IntRange(min=1), metavar="B", help="Rows decoded together.  [default: 8]")
@seed_option
@click.option("--loop", metavar="CLASS", help="Your own subclass of DecodingLoop to decode with: FILE.py:CLASS.")
@timeout_option(None, 1, "Seconds.  [default: 600, of smollm2 240]")
@report_options
def command(
    json_file: str | None, html_file: str | None, require_decision: bool, timeout: float | None, **options: Any
) -> None:
    """Audit a decoding loop on a real pair of models, end to end.

    On a forged pair: the exact law of the first tokens where it can be computed, else counts against it. On every pair:
    what the models read, their rows against passes over whole texts, betting on every token, argmax at temperature 0;
    block efficiency, and wall clock against plain decoding. Drift by rounding is measured, and reported apart."""
    known = PRESETS.get(options["preset"] or "")
    checked = LoopOptions(**options, timeout=timeout or (known.seconds if known else LoopOptions.timeout))
    output = Output(json_file, html_file)
    require("torch", "transformers")
    say_what_was_made(checked.preset)
    from ..audits.loops.run import run_e2e

    with progress_bar() as progress:
        report = run_e2e(checked, progress)
    output.finish(report, require_decision)
