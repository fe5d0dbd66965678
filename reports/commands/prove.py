"""The command draftproof prove: every proof of the papers' statements, one row a claim and method."""

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from ...models.errors import InputError
from ...models.libraries import require
from ...proofs.proving import ProofRow, all_proofs, proof_checkpoint, resumed
from ...proofs.side_by_side import Turns, side_by_side
from ...proofs.statements import METHODS, PROVABLE_CLAIMS
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, EvidenceVerdict, merge_verdicts
from ..audits.scope import counted
from .exit_status import INTERRUPTED, of_verdict, stop
from .output import Output, progress_bar
from .parameters import Comma, jobs_option, json_option, meant


@click.command(name="prove")
@click.argument("claims", nargs=-1, metavar="[CLAIM ...]")
@click.option("--method", "methods", type=Comma(METHODS), default=",".join(METHODS), show_default=True,
              help="Proofs of these kinds only.")  # fmt: skip
@json_option("the rows")
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Save each row here as it comes, and in FILE.coq each file that Coq has compiled; the same command resumes "
    "from them.",
)
@jobs_option("Proofs, and files that Coq compiles, at a time.")
@click.option("--require-decision", is_flag=True, help="Exit with 4 if a row ends without evidence.")
@click.option("--list", "listed", is_flag=True, help="List the claims and the proofs of each; prove nothing.")
def command(claims: tuple[str, ...], methods: tuple[str, ...], json_file: str | None, checkpoint: str | None,
            jobs: int | None, require_decision: bool, listed: bool) -> None:  # fmt: skip
    """Run the proofs of each CLAIM (all of them if none is named): exact enumeration, optimality certificates, sympy,
    z3 and, where it is installed, Coq."""
    for claim in claims:
        if claim not in PROVABLE_CLAIMS:
            raise InputError(f"no claim {claim!r}; {meant(claim, [*PROVABLE_CLAIMS])}", "DP401")
    output = Output(json_file)
    require(*(package for package in ("sympy", "z3") if package in methods), extra="prove")
    rows: list[ProofRow] = []

    def compiling(file: str, done: int, total: int) -> None:
        progress(f"coq: {file}, {done} of {total} files there", len(rows), len(proofs))

    kept = Path(f"{checkpoint}.coq") if checkpoint and not listed else None
    jobs = jobs or os.cpu_count() or 1
    turns = Turns(jobs)
    proofs = all_proofs(claims, methods, kept=kept, progress=compiling, turns=turns)
    if listed:
        for proof in proofs:
            click.echo(f"{proof.claim:<22}{proof.method:<13}{proof.what}; {proof.size}")
        return
    if not proofs:
        raise InputError(f"{', '.join(claims)}: no proof by {', '.join(methods)}; see draftproof prove --list")
    saved = proof_checkpoint(checkpoint) if checkpoint else None
    if saved and saved.others:
        click.echo(f"{checkpoint}: rows of other code or versions do not count", err=True)
    interrupted, began = False, time.perf_counter()
    run = partial(side_by_side, jobs=jobs, turns=turns)
    with progress_bar() as progress:
        progress(f"{proofs[0].claim} by {proofs[0].method}", 0, len(proofs))
        try:
            for row in resumed(proofs, saved, run) if saved else run(proofs):
                rows.append(row)
                progress(f"{row.claim} by {row.method}: {row.what}", len(rows), len(proofs))
        except KeyboardInterrupt:
            interrupted = True
    order = {proof[:4]: k for k, proof in enumerate(proofs)}
    rows.sort(key=lambda row: order[row[:4]])
    output.write([row._asdict() for row in rows])
    _show(rows, len(proofs), output)
    clock = time.perf_counter() - began
    output.console.print(f"{clock:.0f} s by the clock, {_processor_time():.0f} s of processor time")
    if interrupted:
        where = f"; the same command resumes from {checkpoint}" if checkpoint else ""
        stop(f"interrupted after {len(rows)} of {counted(len(proofs), 'proof')}{where}", INTERRUPTED)
    verdict = merge_verdicts(row.verdict for row in rows)
    raise SystemExit(of_verdict("inconclusive" if verdict == NO_EVIDENCE else verdict, require_decision))


def _show(rows: Sequence[ProofRow], total: int, output: Output) -> None:
    from rich.markup import escape
    from rich.table import Column

    from ..pages.terminal import coloured, plain_table, show_table

    console = output.console
    if not console.is_terminal:
        console.width = 150
    claim, method, holds = (Column(name, no_wrap=True) for name in ("claim", "method", "verdict"))
    table = plain_table(claim, method, "of", "size", holds, Column("seconds", justify="right"))
    for row in rows:
        verdict = coloured(EvidenceVerdict(row.verdict))
        table.add_row(row.claim, row.method, escape(row.what), escape(row.size), verdict, f"{row.seconds:.2f}")
    show_table(table, console)
    alike: dict[tuple[str, ...], list[ProofRow]] = {}
    for row in rows:
        if row.verdict != HOLDS:
            alike.setdefault((row.method, row.verdict, row.detail or row.claim), []).append(row)
    for (method, verdict, _), (first, *others) in alike.items():
        which = "" if others else f", {first.what}"
        claims = ", ".join(dict.fromkeys(row.claim for row in (first, *others)))
        console.print(escape(f"\n{claims} by {method}{which}: {verdict}: {first.detail or ''}"))
    verdicts = [row.verdict for row in rows]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in EvidenceVerdict if verdict in verdicts)
    console.print(f"\n{len(rows)} of {counted(total, 'proof')} run: {counts}")


def _processor_time() -> float:
    """Return the seconds of processor time of this process and of all that it has started and that have ended."""
    return sum(os.times()[:4])
