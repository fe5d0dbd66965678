"""The audit of the zoo: every mutant must be refuted and every control cleared, by the audit users run."""

from typing import Any

import click
from rich.markup import escape

from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings import AuditSettings, Progress
from draftproof.reports.audits.subject import subject_from
from draftproof.reports.commands.exit_status import OK, REFUTED
from draftproof.reports.commands.output import Output, progress_bar
from draftproof.reports.commands.parameters import json_option, seed_option
from draftproof.reports.pages.terminal import plain_table, show_table
from draftproof.verifiers.claims import FUNCTION, claims_of
from draftproof.verifiers.evidence import NO_EVIDENCE
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS, TREE_CONTROLS, TREE_MUTANTS, ZooEntry


def audit_entry(entry: ZooEntry, seed: int = 0) -> tuple[Report, dict[str, Any]]:
    """Audit one entry, and return a row that says what was expected and what came out.

    A mutant is judged on the claims it must fail and the audit stops at the first refutation; a control is judged on
    losslessness over the whole battery.
    """
    wrong = bool(entry.refutes)
    claims = entry.refutes if wrong else ("lossless",)
    subject = subject_from(entry.target)
    report = run_audit(subject, AuditSettings(claims=claims, seed=seed, stop_at_first=wrong, explain=False, quick=True))
    if report.interrupted:
        raise KeyboardInterrupt
    expected = "refuted" if wrong else "holds"
    witness = report.shown_refutation()
    methods = {e.method for e in report.evidence if e.claim in claims_of(FUNCTION) and e.verdict != NO_EVIDENCE}
    variations = [e.total_variation for e in report.evidence if e.total_variation is not None]
    row = {
        "name": entry.name, "title": entry.title, "link": entry.link, "claims": list(claims), "expected": expected,
        "verdict": report.verdict, "as_expected": report.verdict == expected,
        "problem": witness.problem if witness else None,
        "method": witness.method if witness else ", ".join(sorted(methods)),
        "total_variation": max(variations, default=None), "scope": report.scope.says if report.scope else None,
    }  # fmt: skip
    return report, row


def audit_zoo(progress: Progress, seed: int = 0) -> list[dict[str, Any]]:
    """Return a row for each entry of the zoo."""
    entries = [*MUTANTS.values(), *TREE_MUTANTS.values(), *CONTROLS.values(), *TREE_CONTROLS.values()]
    rows = []
    for k, entry in enumerate(entries):
        progress(f"{entry.name} {entry.title}", k, len(entries))
        rows.append(audit_entry(entry, seed)[1])
    progress("done", len(entries), len(entries))
    return rows


@click.command()
@json_option("the rows")
@seed_option
def zoo(json_file: str | None, seed: int) -> None:
    """Audit the zoo: every mutant must be refuted, and no control. Exit status 1 if one is not as expected."""
    output = Output(json_file)
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
    raise SystemExit(REFUTED if wrong else OK)
