"""The command draftproof certificate: optimality in a file that anyone can check."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click

from ...models.errors import InputError
from ...models.problem import Problem, as_json, load_problem, tree_problem_from, without_law
from .exit_status import OK, REFUTED
from .output import Output
from .parameters import json_option

VERIFIERS, COUPLINGS, STRATEGIES = "verifiers", "couplings", "strategies"
DRAFTS, TREES = "drafts", "trees"
STATEMENTS = {
    VERIFIERS: "no valid verifier accepts more than {} an iteration in expectation",
    COUPLINGS: "no coupling of draft and target agrees on more than {} in expectation",
    STRATEGIES: "no strategy of valid verifiers decodes more than {} in {} iteration{} on average, and one reaches it",
    TREES: "no valid rule accepts more than {1} of a draft tree in expectation, and one accepts {0}",
    DRAFTS: "no valid rule accepts a draft of the first step with a probability above {}, and one reaches it",
}

MAKERS = {VERIFIERS: "make", COUPLINGS: "make_coupling", DRAFTS: "make_transport", TREES: "make_tree_bound"}
"""What a certificate bounds -> the module that makes it."""


@click.command(name="certificate")
@click.option("--problem", metavar="FILE", help="The problem to certify, or that a certificate must belong to.")
@json_option("the certificate")
@click.option(
    "--of",
    type=click.Choice((VERIFIERS, COUPLINGS, DRAFTS, TREES)),
    help="What it is to bound: all valid verifiers (block verification, Theorem 2 and Lemma 4), all "
    "couplings (greedy block verification, Lemma 10), all valid rules for the drafts of the first step "
    "(optimal transport), or "
    "all valid rules for whole trees.  [default: verifiers; of a problem that draws trees, drafts]",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    help="Bound what all strategies of valid verifiers, chosen anew for every iteration, decode in so many.",
)
@click.option("--check", "checked", metavar="FILE", help="Check this certificate; it needs nothing but the file.")
def command(problem: str | None, json_file: str | None, of: str | None, iterations: int | None,
            checked: str | None) -> None:  # fmt: skip
    """Prove a bound on one problem, in a file that anyone can check.

    Nothing accepts more than block verification, or greedy block verification; no strategy decodes more tokens in
    several iterations; no rule for trees accepts more of the first drafts or of the whole tree."""
    given = without_law(load_problem(problem, tree_problem_from)) if problem else None
    if checked:
        if json_file or of or iterations:
            raise click.UsageError("either --check FILE, or --problem FILE --json FILE [--of ... or --iterations N]")
        raise SystemExit(_check(checked, given))
    if given is None or json_file is None:
        raise click.UsageError("needs --problem FILE and --json FILE, or --check FILE")
    of = of or (VERIFIERS if given.tree.block else DRAFTS)
    if not given.tree.block and of not in (DRAFTS, TREES):
        raise InputError(f"{given.name}: it draws {given.tree.drawn}; expected --of {DRAFTS} or {TREES}")
    if of != VERIFIERS and iterations:
        raise click.UsageError(f"--iterations is about strategies of verifiers, not about {of}")
    output = Output(json_file)
    maker = import_module(f"...proofs.certificates.{'make_iterations' if iterations else MAKERS[of]}", __package__)
    output.write(maker.certificate(given, *([iterations] if iterations else [])))


def _check(file: str, given: Problem | None) -> int:
    from ...proofs.certificates import check, check_coupling, check_iterations, check_transport, check_tree_bound

    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({getattr(error, 'strerror', 'not a text file')})") from None
    form = check.form_of(text)
    of_blocks = form not in (check_transport.TRANSPORT_FORMAT, check_tree_bound.TREE_BOUND_FORMAT)
    try:
        if given and of_blocks and not given.tree.block:
            raise check.Rejected(f"it is about draft blocks, and {given.name} draws {given.tree.drawn}")
        if given and check.size_of(text) not in (None, (str(given.vocabulary), str(given.gamma))):
            raise check.Rejected("it belongs to another problem")  # of another size: its tables are not written out
        if form == check_iterations.ITERATIONS_FORMAT:
            from ...proofs.certificates.make_iterations import tables

            number = check_iterations.iterations_of(text)
            proved = check_iterations.check(text, tables(given, number) if given else None)
            says = STATEMENTS[STRATEGIES].format(check.tokens(proved), number, "s" * (number > 1))
        else:
            bounds, checker = {
                check_coupling.COUPLING_FORMAT: (COUPLINGS, check_coupling),
                check_transport.TRANSPORT_FORMAT: (DRAFTS, check_transport),
                check_tree_bound.TREE_BOUND_FORMAT: (TREES, check_tree_bound),
            }.get(form or "", (VERIFIERS, check))
            belongs = replace(given.tabulated(), drafting=None if of_blocks else given.tree) if given else None
            proved = checker.check(text, as_json(belongs) if belongs else None)
            in_words = check.shown if bounds == DRAFTS else check.tokens
            both = proved if isinstance(proved, tuple) else (proved,)
            says = STATEMENTS[bounds].format(*map(in_words, both))
    except check.Rejected as reason:
        click.echo(f"{file}: rejected: {reason}")
        return REFUTED
    click.echo(f"{file}: holds: {says}")
    return OK
