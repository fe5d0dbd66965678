"""The report as a person at a terminal reads it."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED
from ..audits.report import Report
from .summary import allowance, also_refuted, price, reasons, rows

COLOURS = {HOLDS: "green", REFUTED: "red", NO_EVIDENCE: "yellow", NOT_CLAIMED: "dim", ERROR: "magenta",
           "lossless": "green", "refuted": "red", "inconclusive": "yellow", "error": "magenta"}  # fmt: skip


def _coloured(word: str) -> str:
    return f"[{COLOURS.get(word, 'default')}]{word}[/]"


def show(report: Report, console: Console) -> None:
    """The verdict, a row for each claim and precision, what was noticed, the witness, the diagnosis."""
    console.print(f"\n[bold]{escape(report.subject['name'])}[/]  {escape(report.subject['source'])}")
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
    for column in ("claim", "numbers", "verdict", "problems", "how", "worst", "allowed"):
        table.add_column(column)
    for row in rows(report):
        cells = map(escape, (row.problems, row.how, row.deviation, row.bound))
        table.add_row(row.claim, row.numbers, _coloured(row.verdict), *cells)
    if report.evidence:
        console.print(table)
    told = price(report)
    if told:
        console.print(f"\nacceptance  {escape(told)}")
    for kind in sorted(report.findings):
        console.print(f"noticed     {escape(report.findings[kind])}")
    for reason in reasons(report):
        console.print(f"no law      {escape(reason)}")
    _show_witness(report, console)
    for item in also_refuted(report):
        console.print(
            f"\nalso        {item.claim} is refuted on {item.problem}: {escape(item.witness['sequence'])} "
            f"expected {item.witness['expected']}, observed {item.witness['observed']}"
        )
        if item.replay and len(item.replay) < 600:
            console.print("replay      ", end="")
            console.print(escape(item.replay), soft_wrap=True, highlight=False)
    for same in report.diagnosis:
        console.print(
            f"diagnosis   behaves exactly as {same['mutant']}: {escape(same['title'])} "
            f"(on all {len(same['problems'])} problems compared)\n            {escape(same['link'])}"
        )
    caveat = allowance(report)
    if caveat:
        console.print(f"allowed     {escape(caveat)}")
    if report.failure:
        console.print(f"[magenta]failure[/]     {escape(report.failure['message'])}")
    console.print(f"verdict     [bold]{_coloured(report.verdict)}[/]\n")


def _show_witness(report: Report, console: Console) -> None:
    evidence = report.witness()
    if evidence is None:
        return
    witness = evidence.witness
    console.print(f"\nwitness     {evidence.claim}, on {escape(evidence.problem or '')}")
    laws = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
    for column in ("outcome", "expected", "observed"):
        laws.add_column(column)
    for entry in witness.get("laws", [witness]):
        laws.add_row(escape(str(entry["sequence"])), entry["expected"], entry["observed"])
    console.print(laws)
    if evidence.replay:
        console.print("replay      ", end="")
        console.print(escape(evidence.replay), soft_wrap=True, highlight=False)
