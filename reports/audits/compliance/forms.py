"""The JSON form of a compliance document; ``compliance.schema.json`` is made of these types."""

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....models.digests import ROOT
from ....models.files import write_atomically
from ....models.json_files import schema
from .collected import DONE, FAILED
from .evidence_rows import EvidenceRow
from .plan import FIELDS, Id, Scope, one_of

FORMAT = "draftproof-compliance-1"

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Verdict = Annotated[str, one_of(("refuted", "open", "sampled only", "met"))]


class Form(msgspec.Struct, forbid_unknown_fields=True):
    pass


class PlanForm(Form):
    file: Annotated[str, Meta(pattern=r"^plan\.toml$")]
    sha256: Digest


class RequirementForm(Form):
    """closing: what would have to be shown for it to be met."""

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
    """files, versions: those that its plan names for it, for which it is valid. recorded: proofs on record, not run.

    report: in the form of report.schema.json. history: as draftproof nightly status --json.
    """

    id: Id
    kind: Annotated[str, one_of(FIELDS)]
    what: str
    options: dict[str, Any]
    state: Annotated[str, one_of((DONE, FAILED))]
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
    """draftproof: versions, and the digests of its code, and of that part of it which audits depend on."""

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
    """The shipped schema of the document."""
    return json.dumps(schema(DocumentForm, "draftproof compliance document"), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_atomically(SCHEMA_FILE, schema_text())
