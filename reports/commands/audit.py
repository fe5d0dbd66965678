"""The command draftproof audit."""

from typing import Any

import click

from ...models.errors import InputError
from ...models.libraries import require
from ...models.problem import any_problem_from, load_problem
from ...proofs.child_process import first_modules, prepare
from ...verifiers.adapters.convention_names import CONVENTIONS
from ...verifiers.adapters.registry import ADAPTERS
from ...verifiers.claims import FUNCTION, claims_of
from ...verifiers.trees.draft_tree import EVERY_WAY
from ..audits.subject import SubjectSpec, program_from, subject_from
from .output import Output, progress_bar
from .parameters import (
    Comma,
    Finite,
    exec_option,
    jobs_option,
    memory_option,
    problems_option,
    report_options,
    row_options,
    sarif_option,
    seed_option,
    timeout_option,
)


@click.command(name="audit")
@click.argument("subject", required=False)
@exec_option
@report_options
@sarif_option
@problems_option
@click.option(
    "--claims",
    type=Comma(claims_of(FUNCTION)),
    default="lossless",
    show_default=True,
    help="Claims to judge; each failure makes the verdict 'refuted'.",
)
@click.option("--level", "levels", type=Comma(("exact", "statistical")), default="exact,statistical", show_default=True,
              help="Exact distributions if the random numbers can be followed, statistical tests if not.")  # fmt: skip
@click.option("--drafting", type=Comma(EVERY_WAY), help="How trees are drawn for a function that takes parents.")
@click.option("--convention", "conventions", type=Comma(CONVENTIONS),
              help="How the function is called, if not plainly.")  # fmt: skip
@row_options(several=True)
@click.option("--uniform-bits", type=click.IntRange(8, 53), metavar="N",
              help="Judge it as one whose uniforms have N bits: what that lattice moves is allowed.")  # fmt: skip
@seed_option
@click.option("--samples", type=click.IntRange(min=100), default=20_000, show_default=True,
              help="Samples a problem whose distribution cannot be computed.")  # fmt: skip
@click.option("--processor-time", type=Finite(min=1), metavar="S", show_default="no limit",
              help="Seconds of processor time for the whole audit. If a problem is not reached by then, the audit is "
              "inconclusive.")  # fmt: skip
@timeout_option(60.0, 0.1, "Seconds of processor time for the import and for each problem: half for its first call, "
                "a sixth for a later one.")  # fmt: skip
@memory_option()
@jobs_option("Processes at a time: one for each dtype, and for parts of one dtype.")
@click.option("-x", "--fail-fast", "stop_at_first", is_flag=True, help="End with the first refutation.")
@click.option(
    "--quick", is_flag=True, help="Only the small problems, all of them: no wide vocabularies, no long blocks."
)
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
    conventions: tuple[str, ...] | None,
    **settings: Any,
) -> None:
    """Audit a verifier: SUBJECT is package.module:function, path/to/file.py:function, a reference verifier
    (token, block, ...) or an installed adapter (transformers). Or it is a program, in any language: --exec."""
    if not subject and not program:
        raise click.UsageError("a SUBJECT is needed (or --exec)")
    if program:
        spec = _program(program, subject, array, dtypes, conventions)
    else:
        spec = subject_from(str(subject), array, dtypes or (), conventions or ())
    loaded = [load_problem(problem, any_problem_from) for problem in problems]
    output = Output(json_file, html_file, sarif_file)
    adapter = ADAPTERS.get(spec.name)
    if adapter:
        require(*adapter.packages, extra=adapter.extra)
        if missing := adapter.missing_engines():
            raise InputError(
                f"{' and '.join(missing)} not found; expected what was tried ({adapter.tried}): make engines unpacks "
                "it",
                "DP301",
            )
    elif spec.array == "torch":
        require("torch", extra="torch")
    if spec.reference is None:
        prepare(first_modules(spec.array, spec.torch))
    from ..audits.functions.audit import run_audit
    from ..audits.settings import AuditSettings

    with progress_bar() as progress:
        asked = AuditSettings(
            problems=loaded, drafting=drafting or (), progress=progress, refuted=progress.refuted, **settings
        )
        report = run_audit(spec, asked)
    output.finish(report, require_decision)


def _program(program: str, *others: object) -> SubjectSpec:
    if any(others):
        raise click.UsageError(
            "--exec takes no SUBJECT, no --array and no --dtype: the program's first line says what it is"
        )
    return program_from(program)
