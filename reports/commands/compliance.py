"""The commands draftproof compliance init, run and verify: the document for whoever has to certify a deployment."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models.errors import InputError, printable
from .exit_status import INCONCLUSIVE, INTERRUPTED, NOT_AUDITED, OK, REFUTED, stop
from .output import progress_bar, write_text
from .parameters import kept_option, verbose_option

if TYPE_CHECKING:
    from rich.console import Console

    from ..audits.compliance.plan import Collected


@click.group(name="compliance")
def command() -> None:
    """Write one document that says what is required of a deployment, what was shown, and how strong the evidence is."""


@command.command()
@click.option("--out", "file", default="compliance.toml", show_default=True, metavar="FILE", help="The plan to write.")
def init(file: str) -> None:
    """Write a plan, with comments, for what is installed and for the verifiers and histories in the current folder."""
    if file != "-" and Path(file).exists():
        raise InputError(f"{file}: exists already; expected a new name (--out)")
    from ..pages.compliance.first_plan import first_plan

    write_text(file, first_plan(Path.cwd()))
    if file != "-":
        click.echo(f"written  {file}")
        if line := _missing_for_the_document():
            click.echo(f"missing  {line}")
        click.echo(f"next     draftproof compliance run {file} --out compliance")


def _missing_for_the_document() -> str | None:
    """Return what the PDF needs and is not installed, in one line."""
    from ..pages.compliance.page import why_no_pdf

    reason = why_no_pdf()
    return f"for the PDF: {reason}" if reason else None


@command.command()
@click.argument("plan", metavar="PLAN.toml")
@click.option("--out", "folder", required=True, metavar="DIR",
              help="The folder to write; the same command resumes from what is finished there.")  # fmt: skip
@click.option("--require-decision", is_flag=True, help="Exit with 4 if a requirement is open, or sampled only.")
@verbose_option
def run(plan: str, folder: str, require_decision: bool) -> None:
    """Run what a plan names, and write report.json, report.html, report.pdf, attestation.json, badge.svg and junit.xml.

    Exit status: 1 if a requirement is refuted, 3 if a part could not be run to its end."""
    from ..audits.compliance.plan import FIELDS, load_plan

    loaded = load_plan(plan)
    from ..pages.compliance.folder import require_folder, write_folder

    out = Path(folder)
    require_folder(out)
    from ..audits.compliance.collecting import collect
    from ..audits.compliance.declared import lacking, undeclared

    for line in filter(None, [_missing_for_the_document(), *lacking(loaded)]):
        click.echo(f"missing     {printable(line)}")
    collected: list[Collected] = []
    try:
        with progress_bar() as progress:
            for got in collect(loaded, out, progress):
                collected.append(got)
        document, no_pdf = write_folder(out, loaded, collected)
    except KeyboardInterrupt:
        finished = f"{len(collected)} of {len(loaded.parts)} parts are in {out}"
        stop(f"interrupted; {finished}, and the same command resumes from there", INTERRUPTED)
    from rich.console import Console

    not_kept = []
    for part in loaded.parts:
        if "files" in FIELDS[part.kind] and (names := undeclared(part, loaded.folder)):
            why = f"{', '.join(names)} has no digest here; files = [...] in the plan names what the result depends on"
            not_kept.append(("Not kept", f"{part.id}: each run examines it again, since {why}"))
    show_document(Console(highlight=False), document, out, no_pdf, not_kept)
    raise SystemExit(_status(document, require_decision))


def _status(document: dict[str, Any], require_decision: bool) -> int:
    if document["verdict"] == "refuted":
        return REFUTED
    if any(part["state"] != "done" for part in document["parts"]):
        return NOT_AUDITED
    return INCONCLUSIVE if require_decision and document["verdict"] != "met" else OK


def show_document(
    console: "Console", document: dict[str, Any], folder: Path, no_pdf: str | None, not_kept: list[tuple[str, str]]
) -> None:
    """Print the verdict, what is not met, what failed, and what is met."""
    from ..pages.terminal import headline, show_verdict

    colours = {"met": "green", "refuted": "red", "sampled only": "yellow", "open": "magenta"}
    order, rows = ["refuted", "open", "sampled only", "met"], []
    for r in sorted(document["requirements"], key=lambda r: order.index(r["verdict"])):
        closing = r["closing"] if r["verdict"] != "refuted" else ()
        rows.append((r["verdict"].capitalize(), "\n".join([f"{r['id']}: {r['statement']}", *closing])))
    failed = [("Failed", f"{part['id']}: {part['why']}") for part in document["parts"] if part["why"]]
    word, met = document["verdict"], document["counts"].get("met", 0)
    first = headline(str(folder), word.upper(), colours[word], f"{met} of {len(rows)} requirements met")
    rows = [row for row in rows if row[0] != "Met"] + failed + [row for row in rows if row[0] == "Met"] + not_kept
    rows += [("No PDF", no_pdf.removeprefix("no PDF: "))] if no_pdf else []
    pdf = "" if no_pdf else "report.pdf, "
    written = [f"{folder}: report.json, report.html, {pdf}attestation.json, badge.svg, junit.xml"]
    show_verdict(console, first, rows, written, bool(kept_option("verbose")))


@command.command()
@click.argument("folder", metavar="DIR")
@click.option("--code", default=".", show_default=True, metavar="DIR",
              help="The folder of the plan, in which the audited files are looked for.")  # fmt: skip
@click.option("--plan", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="The agreed plan. If the run had another one, verification fails.")  # fmt: skip
@click.option(
    "--load",
    is_flag=True,
    help="Load the audited functions from there too, which runs their code, and compare the digests "
    "that their audits state.",
)
def verify(folder: str, code: str, plan: Path | None, load: bool) -> None:
    """Check that DIR is what a run wrote: every file is made again from the plan and the kept parts, and compared.

    It shows that the files agree with each other, not who wrote them: for that, sign attestation.json. Exit status 1 if
    anything does not agree."""
    from ..pages.compliance.verification import verified

    wrong, here = verified(Path(folder), Path(code), load, plan)
    for line in wrong:
        click.echo(f"refused  {printable(line)}")
    if wrong:
        raise SystemExit(REFUTED)
    click.echo(f"agrees   {folder}: schema, digests, evidence and page; {here}")
    raise SystemExit(OK)
