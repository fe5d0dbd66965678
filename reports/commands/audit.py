"""The command draftproof audit: a verifier, or the zoo of mutants and controls."""

from typing import Any

import click

from ...models.errors import InputError
from ...models.libraries import require
from ...models.problem import any_problem_from, load_problem
from ...verifiers.adapters.registry import ADAPTERS
from ...verifiers.claims import FUNCTION, claims_of
from ...verifiers.trees.draft_tree import EVERY_WAY
from ..audits.subject import SubjectSpec, program_from, subject_from
from .exit_status import OK, REFUTED
from .output import Output, progress_bar
from .parameters import (
    Comma,
    Finite,
    exec_option,
    memory_option,
    problems_option,
    report_options,
    row_options,
    seed_option,
    timeout_option,
)


@click.command(name="audit")
@click.argument("subject", required=False)
@exec_option
@report_options
@click.option("--sarif", "sarif_file", metavar="FILE", help="Write refutations that are certain as SARIF 2.1.0.")
@problems_option
@click.option(
    "--claims",
    type=Comma(claims_of(FUNCTION)),
    default="lossless",
    show_default=True,
    help="Claims to judge; each failure makes the verdict 'refuted'.",
)
@click.option("--level", "levels", type=Comma(("exact", "statistical")), default="exact,statistical", show_default=True,
              help="Exact laws where the random numbers can be followed, statistical tests where not.")  # fmt: skip
@click.option("--drafting", type=Comma(EVERY_WAY), help="How trees are drawn for a function that takes parents.")
@row_options(several=True)
@click.option("--uniform-bits", type=click.IntRange(8, 53), metavar="N",
              help="Judge it as one whose uniforms have N bits: what that lattice moves is allowed.")  # fmt: skip
@seed_option
@click.option("--samples", type=click.IntRange(min=100), default=20_000, show_default=True,
              help="Samples a problem where the law cannot be computed.")  # fmt: skip
@click.option("--processor-time", type=Finite(min=1), metavar="S", show_default="no limit; with --quick 15, or 30 of "
              "tensors, draft trees and programs", help="Seconds of processor time for the whole audit: what is not "
              "reached by then is not decided.")  # fmt: skip
@timeout_option(60.0, 0.1, "Seconds of processor time for the import and for each problem: half for its first call, "
                "a sixth for a later one.")  # fmt: skip
@memory_option()
@click.option("--quick", is_flag=True, help="Small problems alone: no wide vocabularies, no long blocks.")
@click.option("--zoo", is_flag=True, help="Audit the zoo: mutants must be refuted, controls must not.")
def command(
    subject: str | None,
    program: str | None,
    json_file: str | None,
    html_file: str | None,
    sarif_file: str | None,
    require_decision: bool,
    drafting: tuple[str, ...] | None,
    problems: tuple[str, ...],
    array: str | None,
    dtypes: tuple[str, ...] | None,
    zoo: bool,
    **settings: Any,
) -> None:
    """Audit a verifier: SUBJECT is package.module:function, path/to/file.py:function, a reference verifier
    (token, block, ...) or an installed adapter (transformers). Or it is a program, in any language: --exec."""
    if zoo:
        if subject or program or html_file or sarif_file or problems:
            raise click.UsageError("--zoo takes no subject, no problem, no page and no SARIF")
        raise SystemExit(_zoo(Output(json_file), settings["seed"]))
    if not subject and not program:
        raise click.UsageError("a SUBJECT is needed (or --exec, or --zoo)")
    spec = _program(program, subject, array, dtypes) if program else subject_from(str(subject), array, dtypes or ())
    loaded = [load_problem(problem, any_problem_from) for problem in problems]
    output = Output(json_file, html_file, sarif_file)
    adapter = ADAPTERS.get(spec.name)
    if adapter:
        require(*adapter.packages, extra=adapter.extra)
        if missing := adapter.missing_engines():
            raise InputError(
                f"{' and '.join(missing)} not found; expected what was tried ({adapter.tried}): make engines unpacks it"
            )
    elif spec.array == "torch":
        require("torch", extra="torch")
    from ..audits.functions.audit import run_audit
    from ..audits.settings import AuditSettings

    def announce(text: str) -> None:
        click.echo(text, err=True)

    shown = {"problems": loaded, "drafting": drafting or (), "announce": announce, **settings}
    with progress_bar() as progress:
        report = run_audit(spec, AuditSettings(**shown, progress=progress))
    output.finish(report, require_decision)


def _program(program: str, *others: object) -> SubjectSpec:
    if any(others):
        raise click.UsageError(
            "--exec takes no SUBJECT, no --array and no --dtype: the program's first line says what it is"
        )
    return program_from(program)


def _zoo(output: Output, seed: int) -> int:
    from rich.markup import escape

    from ..audits.functions.zoo import audit_zoo
    from ..pages.terminal import plain_table, show_table

    with progress_bar() as progress:
        rows = audit_zoo(progress, seed)
    output.write(rows)
    table = plain_table("", "mutant or control", "verdict", "first refuted on", "TV", "how")
    for row in rows:
        colour = "green" if row["as_expected"] else "red"
        deviation = f"{row['total_variation']:.2g}" if row["total_variation"] is not None else ""
        verdict = row["verdict"] + (f" ({','.join(row['claims'])})" if row["claims"] != ["lossless"] else "")
        table.add_row(
            row["name"], escape(row["title"]), f"[{colour}]{verdict}[/]", row["problem"] or "", deviation, row["method"]
        )
    console = output.console
    show_table(table, console)
    mutants, controls = ([row for row in rows if (row["expected"] == "refuted") is mutant] for mutant in (True, False))
    refuted, cleared = (sum(row["as_expected"] for row in kind) for kind in (mutants, controls))
    console.print(f"\n{refuted} of {len(mutants)} mutants refuted, {cleared} of {len(controls)} controls cleared")
    for says in dict.fromkeys(row["scope"] for row in controls if row["scope"]):
        console.print(f"controls: {escape(says)}; mutants up to the first refutation", soft_wrap=True)
    wrong = [row["name"] for row in rows if not row["as_expected"]]
    if wrong:
        console.print(f"[red]not as expected: {', '.join(wrong)}[/]")
    return REFUTED if wrong else OK
