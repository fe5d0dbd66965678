"""The command draftproof certificate: optimality in a file that anyone can check."""

from pathlib import Path

import click

from ...models.errors import InputError
from ...models.problem import as_json, load_problem
from .exit_status import OK, REFUTED
from .output import Output
from .parameters import json_option

VERIFIERS, COUPLINGS = "verifiers", "couplings"
STATEMENTS = {
    VERIFIERS: "no valid verifier accepts more than {} tokens an iteration in expectation",
    COUPLINGS: "no coupling of draft and target agrees on more than {} tokens in expectation",
}


@click.command(name="certificate")
@click.option("--problem", metavar="FILE", help="The problem to certify, or that a certificate must belong to.")
@json_option("the certificate")
@click.option("--of", type=click.Choice((VERIFIERS, COUPLINGS)),
              help="What it is to bound: all valid verifiers (block verification, Theorem 2 and Lemma 4), or all couplings "
              "(greedy block verification, Lemma 10).  [default: verifiers]")  # fmt: skip
@click.option("--check", "checked", metavar="FILE", help="Check this certificate; it needs nothing but the file.")
def command(problem: str | None, json_file: str | None, of: str | None, checked: str | None) -> None:
    """Prove that nothing accepts more than block verification, or greedy block verification, on one problem, in a file
    that anyone can check."""
    given = load_problem(problem) if problem else None
    if checked:
        if json_file or of:
            raise click.UsageError("either --check FILE, or --problem FILE --json FILE [--of ...]")
        raise SystemExit(_check(checked, as_json(given.tabulated()) if given else None))
    if given is None or json_file is None:
        raise click.UsageError("needs --problem FILE and --json FILE, or --check FILE")
    output = Output(json_file)
    if of != COUPLINGS:
        from ...proofs.certificates.make import certificate as make
    else:
        from ...proofs.certificates.make_coupling import certificate as make
    output.write(make(given))


def _check(file: str, problem: dict | None) -> int:
    from ...proofs.certificates import check, check_coupling

    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({getattr(error, 'strerror', 'not a text file')})") from None
    bounds = COUPLINGS if check.form_of(text) == check_coupling.COUPLING_FORMAT else VERIFIERS
    try:
        value = (check_coupling if bounds == COUPLINGS else check).check(text, problem)
    except check.Rejected as reason:
        click.echo(f"{file}: rejected: {reason}")
        return REFUTED
    click.echo(f"{file}: holds: {STATEMENTS[bounds].format(check.shown(value))}")
    return OK
