"""report.json of a compliance document: requirements with their verdicts, and everything they were derived from."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....models.digests import EXAMINING, ROOT, code_digest, environment, versions
from ....models.errors import InputError
from ....models.files import write_atomically
from ....models.json_files import schema
from ..report import Report
from .evidence_rows import EvidenceRow
from .plan import FIELDS, STATES, Collected, Id, Plan, Scope, one_of
from .requirements import WORST_FIRST, judged, overall

FORMAT = "draftproof-compliance-1"

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Verdict = Annotated[str, one_of(("refuted", "open", "sampled only", "met"))]


class Form(msgspec.Struct, forbid_unknown_fields=True):
    pass


class PlanForm(Form):
    file: Annotated[str, Meta(pattern=r"^plan\.toml$")]
    sha256: Digest


class RequirementForm(Form):
    """A requirement. closing: what would have to be shown for it to be met."""

    id: Id
    statement: str
    claim: str
    claim_says: str
    parts: list[Id]
    scope: Scope
    detection_limit: float | None
    verdict: Verdict
    reading: str
    strength: list[str]
    closing: list[str]
    evidence: list[EvidenceRow]


class PartForm(Form, kw_only=True):
    """A part of the plan. files, versions: those that the plan names for it, for which it is valid. recorded: proofs on
    record, not run.

    report: in the form of report.schema.json. history: as draftproof nightly status --json.
    """

    id: Id
    kind: Annotated[str, one_of(FIELDS)]
    what: str
    options: dict[str, Any]
    state: Annotated[str, one_of(STATES)]
    why: str | None
    recorded: bool
    files: dict[str, Digest]
    versions: dict[str, str]
    verdict: str
    reading: str
    report: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    history: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    proofs: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


class DocumentForm(Form):
    """A document. draftproof: versions, and the digests of its code and of the code that audits depend on."""

    format: Annotated[str, Meta(pattern=f"^{FORMAT}$")]
    title: str
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    plan: PlanForm
    draftproof: dict[str, str]
    verdict: Verdict
    counts: dict[Verdict, Annotated[int, Meta(ge=0)]]
    requirements: Annotated[list[RequirementForm], Meta(min_length=1)]
    parts: list[PartForm]
    not_said: list[str]


SCHEMA_FILE = ROOT / "docs" / "schemas" / "compliance.schema.json"


def schema_text() -> str:
    """Return the schema of the document, as it is shipped."""
    return json.dumps(schema(DocumentForm, "draftproof compliance document"), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_atomically(SCHEMA_FILE, schema_text())


NOT_SAID = (
    "that a requirement which is met holds beyond the problems, numbers, versions and settings that it names, unless "
    "it is proved",
    "anything of a decoder with another configuration, of other versions of the code, or of other models",
    "anything of what runs around the parts that were examined: a verifier that is lossless can stand in a loop that "
    "is not",
    "that the code is safe to run, or that its texts are true or harmless",
)
"""What no compliance document says, whatever its verdicts."""


def versions_in_use() -> dict[str, str]:
    """Return the digests of draftproof's code and the versions that a document and its pages depend on."""
    packages = environment() | versions("weasyprint", "matplotlib", "jinja2")
    return {"code": code_digest(), "audits": code_digest(EXAMINING), **packages}


def today() -> str:
    """Return the date of a document: that of SOURCE_DATE_EPOCH if it is set.

    Raises: InputError if that is no number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(timezone.utc) if not epoch else datetime.fromtimestamp(int(epoch), timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"SOURCE_DATE_EPOCH is {epoch!r}; expected a number of seconds") from None
    return moment.date().isoformat()


def document(plan: Plan, collected: Sequence[Collected], date: str, own: Mapping[str, str]) -> dict[str, Any]:
    """Return the document in its JSON form (``compliance.schema.json``): all that follows from a plan and its parts.

    own: the digests and versions of draftproof, as ``versions_in_use`` gives them.
    """
    requirements = [judged(requirement, collected).as_json() for requirement in plan.requirements]
    verdicts = [requirement["verdict"] for requirement in requirements]
    return {
        "format": FORMAT, "title": plan.title, "date": date,
        "plan": {"file": "plan.toml", "sha256": hashlib.sha256(plan.source).hexdigest()}, "draftproof": {**own},
        "verdict": overall(verdicts), "counts": {verdict: verdicts.count(verdict) for verdict in WORST_FIRST},
        "requirements": requirements, "parts": [_part(got) for got in collected], "not_said": list(NOT_SAID),
    }  # fmt: skip


def _part(got: Collected) -> dict[str, Any]:
    """Return the JSON form of a part, with its verdict in words."""
    if got.report is not None:
        report = Report.from_json(got.report)
        verdict, reading = report.verdict, report.reading
    elif got.history is not None:
        verdict = str(got.history["state"])
        reading = f"{verdict}, which is no proof" if verdict == "quiet" else verdict
    elif got.rows is not None:
        held = sum(row["verdict"] == "holds" for row in got.rows)
        verdict = "holds" if held == len(got.rows) else "not all hold"
        where = "on record in this version, not run here" if got.recorded else "run here"
        reading = f"{held} of {len(got.rows)} proofs hold; {where}"
    else:
        verdict, reading = "error", "it could not be run"
    return got.as_json() | {"verdict": verdict, "reading": reading}


def text(data: Any) -> str:
    """Return the content of the file for a document in its JSON form."""
    return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=False) + "\n"
