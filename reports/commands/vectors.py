"""The command draftproof vectors: test vectors for verifiers in any language, and the judge of their answers."""

from typing import TYPE_CHECKING

import click

from .exit_status import of_verdict
from .output import Output
from .parameters import json_option

if TYPE_CHECKING:
    from rich.console import Console

    from ..audits.vectors.judgement import Judgement

SHOWN = 10
"""Failed vectors that are shown one by one."""

VERDICTS = {
    "refuted": "refuted: at least one vector failed",
    "error": "not examined: answers that were promised are missing",
    "inconclusive": "no vector failed, of those that were answered",
    "holds": "no vector failed, and all were answered exactly",
}
"""Verdict -> its meaning here. That no vector failed says nothing of other inputs."""


@click.group(name="vectors")
def command() -> None:
    """Test vectors for verifiers in any language: export them, answer them with your own program, have the answers
    checked."""


@command.command(name="export")
@click.option("--out", "folder", required=True, metavar="DIR", help="The folder to write, made if it is not there.")
def export_command(folder: str) -> None:
    """Write vectors.json, the schemas of both files, and programs that answer the vectors (Python, JavaScript)."""
    from ..audits.vectors.suite import export, suite

    for path in export(folder):
        click.echo(path)
    made = suite()
    click.echo(
        f"{len(made['vectors'])} vectors of a block, {len(made['laws'])} of a distribution, digest {made['digest']}"
    )


@command.command(name="check")
@click.argument("file", metavar="RESULTS")
@json_option("every vector's outcome")
@click.option(
    "--require-decision", is_flag=True, help="Exit with 4 if a vector was left out, or is known only by counts."
)
def check_command(file: str, json_file: str | None, require_decision: bool) -> None:
    """Check a program's answers (results.schema.json): what passed, failed or is missing, for each class of bug."""
    output = Output(json_file)
    from ..audits.vectors.judgement import judge
    from ..audits.vectors.results import load_results

    judgement = judge(load_results(file))
    output.write(judgement.as_json())
    _show(judgement, output.console)
    raise SystemExit(of_verdict(judgement.verdict, require_decision))


def _show(judgement: "Judgement", console: "Console") -> None:
    from rich.markup import escape
    from rich.table import Column

    from ..audits.vectors.judgement import FAILED, LEFT_OUT, MISSING, NOT_REFUTED, PASSED
    from ..pages.terminal import plain_table, show_table

    given = judgement.results
    never = ", never 0" if given.open == "left" else ""
    console.print(
        f"{escape(given.program)}: {', '.join(given.rules)}; {given.dtype}, uniforms of up to {given.bits} bits{never}"
    )
    console.print(f"judged by: {', '.join(given.gives)}\n")
    statuses = FAILED, MISSING, NOT_REFUTED, PASSED, LEFT_OUT
    table = plain_table("flag", *(Column(status, justify="right") for status in statuses))
    for flag, counts in judgement.by_flag().items():
        table.add_row(flag, *(str(counts[status] or "") for status in statuses))
    show_table(table, console)
    noted = [j for j in judgement.vectors if j.status in (FAILED, MISSING)]
    for judged in noted[:SHOWN]:
        why = judged.why or "promised: " + ", ".join(
            field for field, status in judged.fields.items() if status == MISSING
        )
        console.print(f"\n{judged.status} {judged.vector} ({', '.join(judged.flags)}): {escape(why)}", soft_wrap=True)
    if len(noted) > SHOWN:
        console.print(f"\nand {len(noted) - SHOWN:,} more (--json has all)")
    if code := judgement.code():
        console.print(f"\nto paste below your verifier:\n\n{escape(code)}", soft_wrap=True)
    for judged in judgement.vectors:
        if judged.status == NOT_REFUTED:
            console.print(f"{judged.vector}: {judged.why}", soft_wrap=True)
    counts = judgement.statuses()
    numbers = ", ".join(f"{counts[status]} {status}" for status in statuses if counts[status])
    console.print(f"\nvectors  {numbers}\nverdict  {VERDICTS[judgement.verdict]}", soft_wrap=True)
