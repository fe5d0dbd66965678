"""What the parts of a plan gave, and the rows in which it is kept."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....models.store import StoredRow
from .plan import Part

DONE, FAILED = "done", "failed"


@dataclass
class Collected:
    """What a part gave.

    part: of the plan.
    state: done, or failed: it could not be run, or not to its end.
    why: the reason if it failed, in one line.
    report: the JSON form of an audit, an engine's, an end-to-end run's, a campaign's.
    history: of a nightly, in the JSON form of its status.
    rows: of proofs, as ``draftproof prove --json``; recorded: whether they are those on record, not run now.
    files: name -> SHA-256 of the files that it names, for which it is valid.
    versions: of the packages that it names, for which it is valid.
    """

    part: Part
    state: str = DONE
    why: str | None = None
    report: dict[str, Any] | None = None
    history: dict[str, Any] | None = None
    rows: list[dict[str, Any]] | None = None
    recorded: bool = False
    files: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        gave = {"report": self.report, "history": self.history, "proofs": self.rows}
        return {
            "id": self.part.id, "kind": self.part.kind, "what": self.part.what, "options": self.part.options,
            "state": self.state, "why": self.why, "recorded": self.recorded, "files": self.files,
            "versions": self.versions, **{name: value for name, value in gave.items() if value is not None},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Collected":
        part = Part(data["id"], data["kind"], data["options"])
        gave = (data.get("report"), data.get("history"), data.get("proofs"))
        return cls(part, data["state"], data["why"], *gave, data["recorded"], data["files"], data["versions"])

    def stored(self, code: str) -> StoredRow:
        """Its row in the file of parts. code: the digest of draftproof's code that audits depend on."""
        about = [self.part.kind, self.part.options, self.files, self.versions, code]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        return StoredRow((self.part.id, digest), "", json.loads(json.dumps(self.as_json())))
