"""For each refutation of an adapter or an engine the text of an issue for the maintainers, made from the report."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from draftproof.reports.audits.report import Report
from draftproof.reports.pages.plain_words import problem_rows
from draftproof.verifiers.claims import CLAIMS
from draftproof.verifiers.details import SamplesDetail
from draftproof.verifiers.evidence import Evidence

FOLDER = Path(__file__).with_name("engines")
"""Issue texts, and reproductions that need the engine and nothing of this project."""


class RefutationRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a refutation beside its text.

    found: the day on which it was found here. known: where it had been reported; empty where no report was found in
    the stored issues of public repositories. near: what was reported that is near it. fix: what would make it right.
    mend: the test in which the fix was tried, or why it was not. otherwise: text of the reproduction, and what stands
    in its place where nothing is to be wrong.
    """

    found: str
    known: str = ""
    near: str = ""
    mend: str = ""
    fix: str = "Not known."
    otherwise: tuple[str, str] = ("", "")

    def __str__(self) -> str:
        """Say in words whether it was reported."""
        near = f" Near it: {self.near}." if self.near else ""
        if self.known:
            return f"It was reported: {self.known}.{near}"
        return (
            f"No report of it was found in the stored issues of public repositories (looked up {LOOKED_UP}), and we "
            f"reported it to nobody.{near}"
        )


LOOKED_UP = "2026-11-26"
REPORTED = msgspec.json.decode(Path(__file__).with_name("reported.json").read_bytes(), type=dict[str, RefutationRecord])
"""By name and claim."""

PLATFORM = re.compile(r"(-(?:Linux|macOS|Windows))-\S*")
"""What platform.platform() says of a machine, which is no version of a server."""


def refuted(report: Report) -> dict[str, Evidence]:
    """Return, for each claim whose refutation is a bug, the refutation on the smallest problem."""
    shown: dict[str, Evidence] = {}
    for evidence in report.evidence:
        if evidence.refuted and evidence.witness and CLAIMS[evidence.claim].fault:
            known = shown.get(evidence.claim)
            if known is None or _size(evidence) < _size(known):
                shown[evidence.claim] = evidence
    return {claim: shown[claim] for claim in CLAIMS if claim in shown}


def _size(evidence: Evidence) -> int:
    return len(json.dumps(evidence.witness.problem)) if evidence.witness else 0


def version_of(name: str, report: Report) -> str:
    """Return the engine and its version, as far as the report has them; of a server what it says of itself."""
    if report.server:
        said = filter(None, (report.server["header"], *report.server["fingerprints"]))
        return ", ".join(PLATFORM.sub(r"\1", text) for text in said)
    lifted = report.subject.get("convention", {}).get("lifted", [])
    known = sorted({f"{one['engine']} {str(one['version'])[:12]}" for one in lifted})
    packages = sorted((package for package in report.environment if package in name), key=len)
    return ", ".join(known or [f"{package} {report.environment[package]}" for package in packages[-1:]])


def issue(name: str, report: Report, evidence: Evidence) -> str:
    """Return the text of an issue, in Markdown.

    name: on the page. evidence: a refutation (see ``refuted``).
    """
    key = f"{name}-{evidence.claim}"
    script = FOLDER / f"{key}.py"
    code = script.read_text(encoding="utf-8").strip() if script.is_file() else "# none yet"
    parts = [
        f"# {version_of(name, report) or name}: {CLAIMS[evidence.claim].fault}",
        f"{report.subject['source']}.",
        "## What happens",
        CLAIMS[evidence.claim].refuted,
        *_by_hand(evidence),
        "## To see it",
        f"```python\n{code}\n```",
        advice(key),
        "## How it was found",
        *_how(report, evidence),
    ]
    return "\n\n".join(parts) + "\n"


def advice(key: str) -> str:
    """Return what would fix it, whether that was tried, and whether it was reported: of an issue by name and claim."""
    said = REPORTED.get(key)
    parts = ["## What would fix it", said.fix if said else "Not known."]
    if said:
        untried = said.mend.startswith("not tried")
        parts.append(
            f"{said.mend[0].upper()}{said.mend[1:]}." if untried else f"Tried, and not refuted: `{said.mend}`."
        )
        parts += ["## Reported", str(said)]
    return "\n\n".join(parts)


def _by_hand(evidence: Evidence) -> Iterator[str]:
    """Yield the problem and the two laws, small enough to be checked by hand."""
    witness = evidence.witness
    assert witness
    yield "## By hand"
    rows = problem_rows(witness.problem)
    if rows:
        lines = [f"| {model} | {when} | {', '.join(row)} |" for model, when, row in rows]
        yield f"Probabilities of the tokens 0, 1, ..; {witness.problem['gamma']} draft tokens a block."
        yield "\n".join(["| model | when | row |", "|---|---|---|", *lines])
    elif witness.problem:
        yield f"The pair, as JSON: `{json.dumps(witness.problem, separators=(',', ':'))}`"
    if witness.draft_block is not None:
        yield f"Drafted: {witness.draft_block}."
    outcome = "row with draft tokens" if evidence.claim == "batch" else "emitted"
    lines = [f"| {e.sequence} | {e.expected} | {e.observed} |" for e in witness.entries[:8]]
    yield "\n".join([f"| {outcome} | expected | observed |", "|---|---|---|", *lines])
    if witness.why:
        yield f"{witness.why[0].upper()}{witness.why[1:]}."
    if evidence.total_variation is not None and evidence.claim == "lossless":
        limit = (
            f", where {float(evidence.bound):.2g} is within rounding or chance" if evidence.bound is not None else ""
        )
        yield f"Total variation between the two distributions: {float(evidence.total_variation):.3g}{limit}."


def _how(report: Report, evidence: Evidence) -> Iterator[str]:
    convention = report.subject.get("convention", {})
    for one in convention.get("lifted", []):
        edits = [{**edit, "old": edit["old"].replace("\t", "\\t")} for edit in one["edits"]]
        yield (
            f"- `{one['file']}`, {one['digest'][:23]}.., run unmodified but for {len(edits)} recorded "
            f"edit{'s' * (len(edits) != 1)}"
            + "".join(f"\n  - `{edit['old']}` -> `{edit['new']}`: {edit['why']}" for edit in edits)
        )
    samples = evidence.detail.samples if isinstance(evidence.detail, SamplesDetail) else None
    yield f"By {evidence.method}{f', {samples:,} samples' if samples else ''}; " + (
        "the numbers observed are estimates." if samples else "the numbers observed are exact up to the stated limit."
    )
    if evidence.replay:
        yield f"```console\n$ {evidence.replay}\n```"
