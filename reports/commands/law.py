"""The command draftproof law: the law of a verifier on one problem: of a reference verifier exactly, of others
measured."""

from typing import Any

import click

from ...models.errors import InputError, RunFailed, of_kind
from ...models.problem import Problem, load_problem, problem_from, tree_problem_from
from ...verifiers.registry import REFERENCES
from ...verifiers.trees.registry import TREE_REFERENCES
from .exit_status import NOT_AUDITED, stop
from .output import Output
from .parameters import exec_option, json_option, meant, problem_option


@click.command(name="law")
@click.argument("verifier", required=False)
@exec_option
@problem_option()
@click.option("--target", metavar="P,..", help="A context-independent target row, as 1/3,2/3.")
@click.option("--draft", metavar="P,..", help="A context-independent draft row.")
@click.option("--gamma", type=click.IntRange(min=1), help="Length of a draft block, with --target and --draft.")
@click.option("--iterations", type=click.IntRange(min=1), default=1, show_default=True, help="Iterations of the loop.")
@json_option("the distribution")
def command(verifier: str | None, program: str | None, problem: str | None, target: str | None, draft: str | None,
            gamma: int | None, iterations: int, json_file: str | None) -> None:  # fmt: skip
    """Print the exact distribution of a reference VERIFIER (token, block, ..; draftproof list verifiers).

    Or of a third-party one, path/to/file.py:function or a program (--exec), as far as it can be measured.
    A problem may say how a tree of several drafts is drawn: "drafting": {"children": [3, 2], "how": "iid"}.
    """
    third_party = program is not None or ":" in (verifier or "")
    if third_party and iterations != 1:
        raise click.UsageError("the distribution of a third-party verifier is that of one iteration")
    if (verifier is None) == (program is None):
        raise click.UsageError("expected a VERIFIER, or --exec")
    if not third_party and verifier not in REFERENCES | TREE_REFERENCES:
        raise InputError(
            f"no reference verifier {verifier!r}; {meant(str(verifier), [*REFERENCES, *TREE_REFERENCES])}", "DP401"
        )
    given = _problem_of(problem, target, draft, gamma)
    output = Output(json_file)
    if third_party and given.drafting:
        raise InputError(
            f"{given.name}: the distribution of a third-party verifier is measured on single paths, not on draft trees"
        )
    from ..audits.law_report import law_report

    law = _measured(verifier, program, given) if third_party else law_report(str(verifier), given, iterations)
    output.write(law)
    for key, value in law.items():
        if isinstance(value, dict):
            value = [f"{name} {number}" for name, number in value.items()]
        output.echo(f"{key.replace('_', ' '):<20}{', '.join(value) if isinstance(value, list) else value}")


def _measured(verifier: str | None, program: str | None, problem: Problem) -> dict[str, Any]:
    from ..audits.measured_law import measured_law_report
    from ..audits.subject import program_from, subject_from

    try:
        return measured_law_report(program_from(program) if program else subject_from(str(verifier)), problem)
    except RunFailed as failure:
        stop(str(failure), NOT_AUDITED)


@of_kind("DP203")
def _problem_of(problem: str | None, target: str | None, draft: str | None, gamma: int | None) -> Problem:
    if problem:
        if target or draft or gamma:
            raise click.UsageError("either --problem, or --target, --draft and --gamma")
        return load_problem(problem, tree_problem_from)
    if not (target and draft and gamma):
        raise click.UsageError("a problem is needed: --problem FILE, or --target, --draft and --gamma")
    rows = [[p.strip() for p in row.split(",")] for row in (target, draft)]
    data = {"vocabulary": len(rows[0]), "gamma": gamma, "target": rows[0], "draft": rows[1]}
    return problem_from(data, "command line")
