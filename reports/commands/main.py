"""The command line: draftproof audit, law, list; the other commands are modules of their own."""

import json
import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ... import __version__
from ...models.errors import InputError
from ...models.problem import Problem, load_problem, problem_from
from ...verifiers.evidence import CLAIMS
from .campaign import campaign
from .certificate import certificate
from .console import (
    INCONCLUSIVE,
    INTERRUPTED,
    OK,
    REFUTED,
    STATUS,
    WRONG_USE,
    Comma,
    Finite,
    must_be_writable,
    progress,
    write,
)
from .e2e import e2e
from .engine import engine
from .forge import forge_command
from .nightly import nightly
from .prove import prove
from .tables import tables
from .train_pair import train_pair_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="draftproof")
def cli() -> None:
    """Is a speculative decoder lossless, and does it accept as many draft tokens as theory allows?"""


@cli.command()
@click.argument("subject", required=False)
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON ('-': standard output).")
@click.option("--html", "html_file", metavar="FILE", help="Write the report as one self-contained page.")
@click.option(
    "--problem", "problems", multiple=True, metavar="FILE", help="Audit on this problem (a file, or JSON itself)."
)
@click.option(
    "--claims", type=Comma(CLAIMS), default="lossless", show_default=True, help="Claims that decide the verdict."
)
@click.option("--level", "levels", type=Comma(("exact", "statistical")), default="exact,statistical", show_default=True,
              help="Routes to take: exact where it is open, statistical where it is not.")  # fmt: skip
@click.option("--array", type=click.Choice(("numpy", "rows", "list", "torch")), help="What the rows arrive as.")
@click.option(
    "--dtype", "dtypes", type=Comma(("float64", "float32", "float16", "bfloat16")), help="Precision of the rows."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the statistical route.")
@click.option("--samples", type=click.IntRange(min=100), default=20_000, show_default=True,
              help="Samples a problem on the statistical route.")  # fmt: skip
@click.option("--timeout", type=Finite(min=0.1), default=60.0, show_default=True, metavar="S",
              help="Seconds for one problem; a single call may take half of it, 10 at most.")  # fmt: skip
@click.option("--memory", type=Finite(min=0.5), default=8.0, show_default=True, metavar="GIB",
              help="Address space of the child process.")  # fmt: skip
@click.option("--require-decision", is_flag=True, help="Exit with 4 if the verdict is inconclusive.")
@click.option("--zoo", is_flag=True, help="Audit the zoo of known defects and of unusual but right verifiers.")
def audit(subject, json_file, html_file, problems, require_decision, zoo, **options):
    """Audit a verifier: SUBJECT is package.module:function, path/to/file.py:function, a reference verifier
    (token, block, ...) or an installed adapter (transformers)."""
    if zoo:
        if subject or html_file or problems:
            raise click.UsageError("--zoo takes no subject, no problem and no page")
        sys.exit(_zoo(json_file, options["seed"]))
    if not subject:
        raise click.UsageError("a SUBJECT is needed (or --zoo)")
    from ..audits.functions.audit import Settings, run_audit
    from ..audits.functions.subject import subject_from
    from ..pages.terminal import show

    dtypes, array = options.pop("dtypes") or (), options.pop("array")
    spec = subject_from(subject, array, dtypes)
    loaded = [load_problem(p) for p in problems]
    for file in (json_file, html_file):
        must_be_writable(file)
    _refuse_missing_packages(spec)
    with progress() as told:
        report = run_audit(spec, Settings(problems=loaded, progress=told, **options))
    if json_file:
        write(json_file, report.text())
    if html_file:
        from ..pages.page import page

        write(html_file, page(report.as_json()))
    show(report, Console(stderr=json_file == "-" or html_file == "-", highlight=False))
    status = STATUS[report.verdict]
    sys.exit(INCONCLUSIVE if require_decision and report.verdict == "inconclusive" else status)


def _refuse_missing_packages(spec) -> None:
    from ...verifiers.adapters.registry import ADAPTERS

    missing = ADAPTERS[spec.name].missing() if spec.name in ADAPTERS else []
    if spec.array == "torch" and not missing:
        from importlib.util import find_spec

        missing = [] if find_spec("torch") else ["torch"]
    if missing:
        extra = ADAPTERS[spec.name].extra if spec.name in ADAPTERS else "torch"
        raise InputError(f"{spec.name} needs {' and '.join(missing)}; install draftproof[{extra}]")


def _zoo(json_file: str | None, seed: int) -> int:
    from ..audits.functions.zoo import audit_zoo

    must_be_writable(json_file)
    with progress() as told:
        rows = audit_zoo(told, seed)
    if json_file:
        write(json_file, json.dumps(rows, indent=1) + "\n")
    console = Console(stderr=json_file == "-", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "defect or control", "verdict", "first refuted on", "TV", "how"):
        table.add_column(column)
    for row in rows:
        colour = "green" if row["as_expected"] else "red"
        deviation = f"{row['total_variation']:.2g}" if row["total_variation"] is not None else ""
        verdict = row["verdict"] + (f" ({','.join(row['claims'])})" if row["claims"] != ["lossless"] else "")
        table.add_row(
            row["name"], escape(row["title"]), f"[{colour}]{verdict}[/]", row["problem"] or "", deviation, row["method"]
        )
    console.print(table)
    wrong = [row["name"] for row in rows if not row["as_expected"]]
    mutants = [row for row in rows if row["expected"] == "refuted"]
    caught = sum(row["as_expected"] for row in mutants)
    controls = len(rows) - len(mutants)
    cleared = sum(row["as_expected"] for row in rows) - caught
    console.print(f"\n{caught} of {len(mutants)} mutants refuted, {cleared} of {controls} controls cleared")
    if wrong:
        console.print(f"[red]not as expected: {', '.join(wrong)}[/]")
    return REFUTED if wrong else OK


@cli.command()
@click.argument("verifier")
@click.option("--problem", metavar="FILE", help="The problem (a file, or JSON itself).")
@click.option("--target", metavar="P,..", help="A context-independent target row, as 1/3,2/3.")
@click.option("--draft", metavar="P,..", help="A context-independent draft row.")
@click.option("--gamma", type=click.IntRange(min=1), help="Length of a draft block, with --target and --draft.")
@click.option("--iterations", type=click.IntRange(min=1), default=1, show_default=True, help="Iterations of the loop.")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON ('-': standard output).")
def law(verifier, problem, target, draft, gamma, iterations, json_file):
    """The exact law of a reference VERIFIER (token, block, block-stream, greedy-block) on one problem."""
    from ...verifiers.registry import REFERENCES
    from ..audits.law_report import law_report

    if verifier not in REFERENCES:
        raise InputError(f"no reference verifier {verifier!r}; known: {', '.join(REFERENCES)}")
    given = _problem_of(problem, target, draft, gamma)
    must_be_writable(json_file)
    found = law_report(verifier, given, iterations)
    if json_file:
        write(json_file, json.dumps(found, indent=1) + "\n")
    if json_file != "-":
        console = Console(highlight=False)
        for key, value in found.items():
            console.print(
                f"{key.replace('_', ' '):<20}{escape(', '.join(value) if isinstance(value, list) else str(value))}"
            )


def _problem_of(problem: str | None, target: str | None, draft: str | None, gamma: int | None) -> Problem:
    if problem:
        if target or draft or gamma:
            raise click.UsageError("either --problem, or --target, --draft and --gamma")
        return load_problem(problem)
    if not (target and draft and gamma):
        raise click.UsageError("a problem is needed: --problem FILE, or --target, --draft and --gamma")
    rows = [[p.strip() for p in row.split(",")] for row in (target, draft)]
    data = {"vocabulary": len(rows[0]), "gamma": gamma, "target": rows[0], "draft": rows[1]}
    return problem_from(data, "command line")


@cli.command(name="list")
@click.argument("what", type=click.Choice(("verifiers", "claims", "checks", "mutants", "adapters", "presets")))
def list_(what):
    """What there is: verifiers, claims, checks, mutants, adapters, presets (pairs of models)."""
    from ...models.pairs.presets import PRESETS
    from ...verifiers.adapters.registry import ADAPTERS
    from ...verifiers.registry import REFERENCES
    from ...verifiers.zoo.catalogue import MUTANTS
    from ..audits.checks import CHECKS

    if what == "adapters":
        lines = [
            (a.name, f"{a.source}{'' if not a.missing() else ' (needs ' + ', '.join(a.missing()) + ')'}")
            for a in ADAPTERS.values()
        ]
    elif what == "mutants":
        lines = [(e.name, f"{e.title}  {e.link}") for e in MUTANTS.values()]
    elif what == "presets":
        lines = [(name, f"{p.target} with {' or '.join(p.drafts)}: {p.about}") for name, p in PRESETS.items()]
    else:
        known = {"verifiers": {r.name: r.source for r in REFERENCES.values()}, "claims": CLAIMS, "checks": CHECKS}
        lines = list(known[what].items())
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        click.echo(f"{name:<{width}}  {text}")


cli.add_command(certificate)
cli.add_command(prove)
cli.add_command(nightly)
cli.add_command(train_pair_command)
cli.add_command(engine)
cli.add_command(forge_command)
cli.add_command(campaign)
cli.add_command(e2e)
cli.add_command(tables)


def main() -> None:
    """The entry point: bad input is one line on standard error and exit status 2."""
    try:
        cli(standalone_mode=False)
    except InputError as error:
        click.echo(f"draftproof: {error}", err=True)
        sys.exit(WRONG_USE)
    except click.ClickException as error:
        click.echo(f"draftproof: {error.format_message()}", err=True)
        sys.exit(WRONG_USE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("draftproof: interrupted", err=True)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
