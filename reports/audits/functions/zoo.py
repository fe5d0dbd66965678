"""The audit of the zoo: every mutant must be refuted and every control cleared, by the audit users run."""

from typing import Any

from ....verifiers.claims import FUNCTION, claims_of
from ....verifiers.evidence import NO_EVIDENCE
from ....verifiers.zoo.catalogue import CONTROLS, MUTANTS, TREE_CONTROLS, TREE_MUTANTS, ZooEntry
from ..report import Report
from ..settings import AuditSettings, Progress
from ..subject import subject_from
from .audit import run_audit


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
    """Yield a row for each entry of the zoo."""
    entries = [*MUTANTS.values(), *TREE_MUTANTS.values(), *CONTROLS.values(), *TREE_CONTROLS.values()]
    rows = []
    for k, entry in enumerate(entries):
        progress(f"{entry.name} {entry.title}", k, len(entries))
        rows.append(audit_entry(entry, seed)[1])
    progress("done", len(entries), len(entries))
    return rows
