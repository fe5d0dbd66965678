"""The report of an audit: what was found, in the form of report.schema.json. Everything shown comes from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ...models.rationals import as_float
from ...proofs.laws import acceptance_ccdf, output_law
from ...proofs.measurement import Measurement
from ...proofs.paper_mapping import standing, summary
from ...verifiers.evidence import HOLDS, NOT_CLAIMED, REFUTED, Evidence
from ...verifiers.registry import reference

SCHEMA_VERSION = "1.0"

FINDINGS = {
    "reseeds": "reseeds its random numbers",
    "state": "keeps state between calls",
    "inputs-written": "writes to its inputs",
    "uniform-reused": "uses one uniform twice",
    "noise-used-twice": "uses the noise of a race twice",
    "raises-at-end": "raises at an end of the uniform's range",
    "never-returned": "does not return",
    "nan": "computes with NaN",
    "coarse-uniform": "draws uniforms of less precision than the rows",
    "array": "needs other arrays than the convention's",
}
"""What an audit notices besides the law, by the key under which it is reported."""


@dataclass
class Report:
    """subject: name, digest and how it was called; claims: those that decide the verdict."""

    subject: dict[str, Any]
    claims: Sequence[str] = ("lossless",)
    seed: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    diagnosis: list[dict[str, Any]] = field(default_factory=list)
    findings: dict[str, str] = field(default_factory=dict)
    curves: list[dict[str, Any]] = field(default_factory=list)
    failure: dict[str, str] | None = None
    smallest: Evidence | None = None

    def add(self, measurement: Measurement | None, evidence: Sequence[Evidence], smallest: bool = False) -> None:
        """Take in what one problem gave."""
        self.evidence += evidence
        if smallest:
            self.smallest = evidence[0]
        if measurement is not None:
            self.notice(measurement.findings)
            if measurement.known and not smallest and abs(as_float(sum(measurement.outputs().values(), 0)) - 1) < 1e-6:
                self.curves.append(_curves(measurement))

    def notice(self, findings: Mapping[str, str]) -> None:
        for kind, text in findings.items():
            self.findings.setdefault(kind, text)

    def fail(self, kind: str, message: str) -> None:
        """The subject could not be audited (further); the first reason is kept."""
        self.failure = self.failure or {"kind": kind, "message": message}

    @property
    def verdict(self) -> str:
        """lossless, refuted, inconclusive or error; by the deciding claims alone."""
        deciding = [e for e in self.evidence if e.claim in self.claims]
        if any(e.verdict == REFUTED for e in deciding):
            return "refuted"
        if self.failure:
            return "error"
        decided = [e for e in deciding if e.verdict != NOT_CLAIMED]
        if decided and all(e.verdict == HOLDS for e in decided):
            return "lossless" if "lossless" in self.claims else "holds"
        return "inconclusive"

    def witness(self) -> Evidence | None:
        """The refutation to show first: the smallest found."""
        refuted = [e for e in self.evidence if e.verdict == REFUTED and e.claim in self.claims and e.witness]
        if self.smallest in refuted:
            return self.smallest
        return min(refuted, key=lambda e: len(json.dumps(e.witness["problem"])), default=None)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "subject": self.subject,
            "verdict": self.verdict,
            "claims": list(self.claims),
            "evidence": [asdict(e) for e in self.evidence],
            "diagnosis": self.diagnosis,
            "findings": [
                {"kind": k, "what": FINDINGS.get(k, k), "text": self.findings[k]} for k in sorted(self.findings)
            ],
            "failure": self.failure,
            "curves": self.curves,
            "standing": summary(standing()),
            "environment": self.environment,
            "seed": self.seed,
        }

    def text(self) -> str:
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n"


def _curves(measurement: Measurement) -> dict[str, Any]:
    """Pr(tau >= i) of the subject, of block and of token verification on the same rows, for the pictures."""
    gamma = measurement.problem.gamma

    def floats(law):
        return [as_float(p) for p in acceptance_ccdf(law, gamma)]

    return {
        "problem": measurement.problem.name,
        "dtype": measurement.dtype,
        "subject": floats(measurement.outputs()),
        "block": floats(output_law(measurement.in_use, reference("block"))),
        "token": floats(output_law(measurement.in_use, reference("token"))),
    }
