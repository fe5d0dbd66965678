"""The command draftproof e2e: a decoding loop on a pair of models, end to end."""

import sys

import click
from rich.console import Console
from rich.markup import escape

from ...models.pairs.presets import PRESETS
from .console import (
    INCONCLUSIVE,
    INTERRUPTED,
    STATUS,
    Finite,
    must_be_writable,
    must_differ,
    progress,
    write,
)


@click.command()
@click.option("--target", metavar="DIR", help="The target: a folder with a checkpoint, or a name of the Hub.")
@click.option("--draft", metavar="DIR", help="The draft model.")
@click.option("--preset", metavar="NAME", help=f"A named pair in their place: {', '.join(PRESETS)}.")
@click.option(
    "--drafter", type=click.IntRange(min=0), default=0, show_default=True, help="Which drafter of the preset."
)
@click.option(
    "--verifier",
    metavar="NAME",
    help="token, block, greedy-block, block-stream, or lenient-token:L, which is lossy.  [default: block]",
)
@click.option("--gamma", default="4", show_default=True, metavar="N", help="Draft tokens of a block, or adaptive.")
@click.option("--device", default="cpu", show_default=True, metavar="D", help="cpu, cuda, cuda:N.")
@click.option("--dtype", default="float32", show_default=True, metavar="T", help="float32, bfloat16, float16, float64.")
@click.option("--temperature", type=float, metavar="T", help="Of target and draft; 0 is greedy decoding.  [default: 1]")
@click.option("--top-k", type=int, metavar="K", help="Only the K most probable tokens; 0 for all.  [default: 0]")
@click.option("--top-p", type=float, metavar="P", help="Only the tokens of a nucleus.  [default: 1]")
@click.option("--eos", type=int, metavar="ID", help="The token that ends a text.  [default: the model's own]")
@click.option("--prompts", metavar="FILE", help="JSON Lines, a data set's name, or a trained pair's folder.")
@click.option("--new-tokens", type=click.IntRange(min=1), default=64, show_default=True, help="Tokens of a text.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N",
              help="Texts.  [default: 20000 short ones on a forged pair, else 64]")  # fmt: skip
@click.option("--batch", type=click.IntRange(min=1), metavar="B", help="Rows decoded together.  [default: 8]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all randomness.")
@click.option("--defect", metavar="L01", help="Plant a known defect of such loops (L01 to L14), to see it refuted.")
@click.option("--timeout", type=Finite(min=1), default=600.0, show_default=True, metavar="S", help="Seconds.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON ('-': standard output).")
@click.option("--html", "html_file", metavar="FILE", help="Write the report as one self-contained page.")
@click.option("--require-decision", is_flag=True, help="Exit with 4 if the verdict is inconclusive.")
def e2e(json_file, html_file, require_decision, **options):
    """Examine a decoding loop on a real pair of models, end to end.

    On a forged pair: the exact law of the first tokens where it can be had, else counts against it. On every pair: what
    the models read, their rows against passes over whole texts, betting on every token, argmax at temperature 0; block
    efficiency, and wall clock against plain decoding. Drift by rounding is measured, and reported apart."""
    from ...models.libraries import require
    from ..audits.loops.options import Options
    from ..pages.terminal import show

    asked = Options(**options)
    must_differ(json=json_file, html=html_file)
    for file in (json_file, html_file):
        must_be_writable(file)
    require("torch", "transformers")
    from ..audits.loops.run import run_e2e

    with progress() as told:
        report = run_e2e(asked, told)
    if json_file:
        write(json_file, report.text())
    if html_file:
        from ..pages.page import page

        write(html_file, page(report.as_json()))
    if report.failure and report.failure["kind"] == "interrupted":
        click.echo(f"draftproof: interrupted {_kept(len(report.evidence), json_file)}", err=True)
        sys.exit(INTERRUPTED)
    console = Console(stderr=json_file == "-" or html_file == "-", highlight=False)
    for name, text in report.lines():
        console.print(f"{name:<19} {escape(text)}", soft_wrap=True)
    show(report, console)
    sys.exit(INCONCLUSIVE if require_decision and report.verdict == "inconclusive" else STATUS[report.verdict])


def _kept(findings: int, file: str | None) -> str:
    if not findings:
        return "before the first finding"
    return f"after {findings} findings" + (f"; they are in {file}" if file and file != "-" else "")
