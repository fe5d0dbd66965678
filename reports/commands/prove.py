"""The command draftproof prove: every proof of the papers' statements, one row a claim and method."""

import json
import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...models.errors import InputError
from ...proofs.statements import METHODS, PROVABLE_CLAIMS
from ...verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE, REFUTED
from .console import INCONCLUSIVE, INTERRUPTED, NOT_AUDITED, OK, Comma, must_be_writable, progress, write
from .console import REFUTED as EXIT_REFUTED

COLOURS = {HOLDS: "green", REFUTED: "red", NO_EVIDENCE: "yellow", ERROR: "red"}


@click.command()
@click.argument("claims", nargs=-1, metavar="[CLAIM ...]")
@click.option("--method", "methods", type=Comma(METHODS), default=",".join(METHODS), show_default=True,
              help="Proofs of these kinds only.")  # fmt: skip
@click.option("--json", "json_file", metavar="FILE", help="Write the rows as JSON ('-': standard output).")
@click.option("--require-decision", is_flag=True, help="Exit with 4 if a row ends without evidence.")
@click.option("--list", "listed", is_flag=True, help="List the claims and what there is to run; prove nothing.")
def prove(claims, methods, json_file, require_decision, listed):
    """Run the proofs of each CLAIM (all of them if none is named): exact enumeration, optimality certificates, sympy, z3
    and, where it is installed, Coq."""
    from ...proofs.proving import all_proofs, run

    for claim in claims:
        if claim not in PROVABLE_CLAIMS:
            raise InputError(f"no claim {claim!r}; known: {', '.join(PROVABLE_CLAIMS)}")
    proofs = all_proofs(claims, methods)
    if listed:
        for proof in proofs:
            click.echo(f"{proof.claim:<22}{proof.method:<13}{proof.what}; {proof.size}")
        return
    if not proofs:
        raise InputError(f"{', '.join(claims)}: no proof by {', '.join(methods)}; see draftproof prove --list")
    must_be_writable(json_file)
    rows, interrupted = [], False
    with progress() as told:
        told(f"{proofs[0].claim} by {proofs[0].method}", 0, len(proofs))
        try:
            for row in run(proofs):
                rows.append(row)
                following = proofs[min(len(rows), len(proofs) - 1)]
                told(f"{following.claim} by {following.method}: {following.what}", len(rows), len(proofs))
        except KeyboardInterrupt:
            interrupted = True
    if json_file:
        write(json_file, json.dumps([row._asdict() for row in rows], indent=1) + "\n")
    stream = sys.stderr if json_file == "-" else sys.stdout
    _show(rows, len(proofs), Console(file=stream, highlight=False, width=None if stream.isatty() else 150))
    if interrupted:
        click.echo(f"draftproof: interrupted after {len(rows)} of {len(proofs)} proofs", err=True)
        sys.exit(INTERRUPTED)
    verdicts = {row.verdict for row in rows}
    if REFUTED in verdicts:
        sys.exit(EXIT_REFUTED)
    if ERROR in verdicts:
        sys.exit(NOT_AUDITED)
    sys.exit(INCONCLUSIVE if require_decision and NO_EVIDENCE in verdicts else OK)


def _show(rows, total: int, console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, wrapped in (("claim", False), ("method", False), ("of", True), ("size", True), ("verdict", False)):
        table.add_column(column, no_wrap=not wrapped)
    table.add_column("seconds", justify="right")
    for row in rows:
        verdict = f"[{COLOURS[row.verdict]}]{row.verdict}[/]"
        table.add_row(row.claim, row.method, escape(row.what), escape(row.size), verdict, f"{row.seconds:.2f}")
    console.print(table)
    for row in rows:
        if row.verdict != HOLDS:
            console.print(
                f"\n{row.claim} by {row.method}, {escape(row.what)}: {row.verdict}: {escape(row.detail or '')}"
            )
    count = {verdict: sum(row.verdict == verdict for row in rows) for verdict in COLOURS}
    said = ", ".join(f"{n} {verdict}" for verdict, n in count.items() if n)
    console.print(f"\n{len(rows)} of {total} proofs run in {sum(row.seconds for row in rows):.0f} s: {said}")
