"""A report as SARIF 2.1.0, for code scanning: the certain refutations, each at the function that was audited."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from ... import __version__
from ...verifiers.claims import CLAIMS
from ...verifiers.details import BettingDetail
from ...verifiers.evidence import Evidence
from ...verifiers.verdicts import Basis
from ..audits.report import Report
from ..audits.scope import on_what_not
from ..audits.subject import statements_in

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(report: Report) -> dict[str, Any]:
    """Return the SARIF log of a report: a result for each claim and precision that is refuted for certain.

    That is what an exact law refutes and, of recorded steps, a comparison of all of them, or one that cannot be. What
    samples refute is left out, and said in a notification.
    """
    refuted = [e for e in report.evidence if e.refuted and e.claim in CLAIMS and e.witness]
    certain = [e for e in refuted if e.method.basis is Basis.LAW or (report.steps and _no_chance(e))]
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for e in certain:
        groups.setdefault((e.claim, e.dtype), []).append(e)
    notes = [report.failure["message"]] if report.failure else []
    decided = any(e.claim in report.claims for e in certain)
    if report.verdict == "refuted" and len(certain) < len(refuted) and not decided:
        notes.append(
            "refuted by samples, at the error rate of the report: not certain, so it is not listed as a result"
        )
    if report.verdict == "inconclusive":
        notes.append(report.reading)
    if report.scope and report.scope.not_decided:
        notes.append(f"not decided on {on_what_not(report.scope.not_decided)}: the verdict does not speak of it")
    place = _place(report.subject["name"], "resource" if report.steps else "function")
    run = {
        "tool": {"driver": {"name": "draftproof", "version": __version__, "rules": [_rule(claim) for claim in CLAIMS]}},
        "invocations": [{
            "executionSuccessful": report.failure is None,
            "toolExecutionNotifications": [{"level": "warning", "message": _message(note)} for note in notes],
        }],
        "results": [_result(report, found, place) for found in groups.values()],
        "properties": {"verdict": report.verdict, "reading": report.reading, "notExamined": report.not_examined},
    }  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _no_chance(e: Evidence) -> bool:
    """Return whether a refutation by recorded steps has no false alarms."""
    return e.method.basis is Basis.RUN or (isinstance(e.detail, BettingDetail) and e.detail.p_value == 0)


def _rule(claim: str) -> dict[str, Any]:
    return {
        "id": claim, "shortDescription": {"text": CLAIMS[claim].statement},
        "defaultConfiguration": {"level": CLAIMS[claim].level},
    }  # fmt: skip


def _result(report: Report, found: list[Evidence], place: dict[str, Any]) -> dict[str, Any]:
    shown = min(
        found, key=lambda e: (e.witness is None or not e.witness.smallest, len(str(e.witness and e.witness.problem)))
    )
    claim, numbers = shown.claim, f" in {shown.dtype}" if shown.dtype != "exact" else ""
    text = f"{report.subject['name']}: {claim} is refuted{numbers} on {shown.problem}: {shown.witness}"
    text += f" (and on {len(found) - 1} more problems)" if len(found) > 1 else ""
    level = "error" if claim in report.claims else "note"
    return {
        "ruleId": claim, "ruleIndex": list(CLAIMS).index(claim), "level": level, "message": _message(text),
        "locations": [place],
        "partialFingerprints": {"draftproof/v1": f"{report.subject['name']}/{claim}/{shown.dtype}"},
        "properties": {"replay": shown.replay, "problem": shown.witness and shown.witness.problem},
    }  # fmt: skip


def _message(text: str) -> dict[str, str]:
    """Return a message whose braces are doubled, since single ones stand for arguments (SARIF 2.1.0, 3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _place(name: str, kind: str) -> dict[str, Any]:
    """Return where the subject stands: its name, and its file and line if it is below the repository or the working
    folder."""
    logical = {"logicalLocations": [{"fullyQualifiedName": name, "kind": kind}]}
    module, _, attribute = name.rpartition(":")
    given = module if module.endswith(".py") else module.replace(".", "/") + ".py"
    here = Path.cwd().resolve()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    file = next((f.resolve() for f in (here / given, here / "src" / given) if f.is_file()), None)
    if not module or file is None or root not in file.parents:
        return logical
    where = {"uri": quote(file.relative_to(root).as_posix()), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": where, "region": {"startLine": _line(file, attribute)}}, **logical}


def _line(file: Path, attribute: str) -> int:
    """Return the line of a definition; 1 if the file has none of that name."""
    line, body = 1, statements_in(file)
    for part in attribute.split("."):
        node = next((n for n in body if getattr(n, "name", None) == part), None)
        if node is None:
            break
        line, body = node.lineno, getattr(node, "body", [])
    return line
