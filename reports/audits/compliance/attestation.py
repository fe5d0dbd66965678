"""The attestation of a run: an in-toto Statement (v1) with the test-result predicate; equal runs have equal bytes."""

import json
from collections.abc import Mapping
from typing import Any

from ....proofs.interception.digests import UNKNOWN
from .requirements import FAILED, MET

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
ATTESTATION_FILE = "attestation.json"


def attestation(document: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """The statement on a document.

    subject: the audited code and the models, by file; configuration: the plan, what the run wrote, draftproof itself.
    files: name in the run's folder -> SHA-256, without the attestation.
    Guarantee: PASSED only if every requirement is met; FAILED if one is refuted; else WARNED.
    """
    named: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for requirement in document["requirements"]:
        key = {MET: "passedTests", FAILED: "failedTests"}.get(requirement["verdict"], "warnedTests")
        named[key].append(f"{requirement['id']}: {requirement['statement']}")
    result = (
        "FAILED" if named["failedTests"] else "WARNED" if named["warnedTests"] or not named["passedTests"] else "PASSED"
    )
    configuration = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(files.items())]
    own = document["draftproof"]
    configuration.append({"name": f"draftproof {own['draftproof']}, its code", "digest": {"sha256": own["code"]}})
    return {
        "_type": STATEMENT_TYPE, "subject": _subjects(document), "predicateType": PREDICATE_TYPE,
        "predicate": {"result": result, "configuration": configuration, **named},
    }  # fmt: skip


def _subjects(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each file that a part examined, and what a report digested by itself; the plan, where there is neither."""
    subjects: dict[tuple[str, str], dict[str, Any]] = {}
    for part in document["parts"]:
        for name, digest in part["files"].items():
            subjects[name, digest] = {"name": name, "digest": {"sha256": digest}}
        audited = (part.get("report") or {}).get("subject", {})
        digest = str(audited.get("digest", UNKNOWN)).removeprefix("sha256:")
        if len(digest) == 64 and set(digest) <= set("0123456789abcdef"):
            name = f"{audited['name']}, as part {part['id']} digests it"
            subjects[name, digest] = {"name": name, "digest": {"sha256": digest}}
    plan = document["plan"]
    return [subjects[key] for key in sorted(subjects)] or [{"name": plan["file"], "digest": {"sha256": plan["sha256"]}}]


def canonical(data: Any) -> bytes:
    """JSON with sorted keys, without spaces, in UTF-8: equal data give equal bytes (an attestation has no floats)."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
