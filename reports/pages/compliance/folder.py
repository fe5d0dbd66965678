"""The folder of a compliance run: its files, each made from the plan and its parts, and their attestation (in-toto v1).

``contents`` makes the files. A run writes them, and verification makes them again and compares their bytes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....models.digests import sha256_of
from ....models.errors import InputError
from ....models.files import write_atomically
from ....models.json_files import json_text
from ....models.store import stored_text
from ....proofs.interception.digests import UNKNOWN
from ...audits.compliance.collecting import PARTS, PARTS_HOLD
from ...audits.compliance.document import document, today, versions_in_use
from ...audits.compliance.plan import Collected, Plan
from ...audits.compliance.requirements import FAILED, MET
from ..junit import junit_of_requirements
from ..page import badge
from .page import page, pdf

REPORT, PAGE, PDF = "report.json", "report.html", "report.pdf"
PLAN, BADGE, JUNIT, ATTESTATION_FILE = "plan.toml", "badge.svg", "junit.xml", "attestation.json"

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"

SIGNATURES = tuple(
    f"{ATTESTATION_FILE}.{end}"
    for end in ("asc", "bundle", "crt", "minisig", "pem", "sig", "sigstore", "sigstore.json")
)
"""Files that sign an attestation, as gpg, cosign, sigstore, openssl and minisign name them."""


def require_folder(folder: Path) -> None:
    """Make the folder. Raises: InputError if it is a file, or has files that are not of an earlier run."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; expected a folder, or a new name")
    if folder.is_dir() and any(folder.iterdir()) and not ((folder / REPORT).exists() or (folder / PARTS).exists()):
        raise InputError(f"{folder}: is not empty; expected a folder that is new, empty, or of an earlier run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None


def contents(plan: Plan, collected: Sequence[Collected], made: Mapping[str, Any]) -> dict[str, bytes]:
    """Return name -> content of every file of a run but its PDF and its attestation. made: the document.

    Guarantee: equal plans, parts and documents give equal bytes.
    """
    rows = [got.stored(made["draftproof"]["audits"]) for got in collected]
    verdict, words = made["verdict"], ""
    if verdict == MET and any(part.options.get("problems") for part in plan.parts):
        verdict, words = "in part", "met on problems of its own"  # green is for problems of draftproof's choice
    texts = {
        REPORT: json_text(made), PAGE: page(json.loads(json_text(made))),
        BADGE: badge(verdict, made["date"], words=words),
        JUNIT: junit_of_requirements(made),
    }  # fmt: skip
    encoded = {name: content.encode() for name, content in texts.items()}
    return {PLAN: plan.source, PARTS: stored_text(PARTS_HOLD, rows), **encoded}


class Written(NamedTuple):
    """A folder that was written. document: its JSON form. no_pdf: why there is no PDF, None if there is one."""

    document: dict[str, Any]
    no_pdf: str | None


def write_folder(folder: Path, plan: Plan, collected: Sequence[Collected]) -> Written:
    """Write every file of a run but those of its parts, which are there.

    Guarantee: the same bytes for the same plan, parts and date.
    Raises: InputError if a file cannot be written.
    """
    made = document(plan, collected, today(), versions_in_use())
    files, no_pdf = contents(plan, collected, made), None
    del files[PARTS]
    try:
        files[PDF] = pdf(files[PAGE].decode())
    except InputError as error:
        no_pdf = str(error)
    try:
        if no_pdf:
            (folder / PDF).unlink(missing_ok=True)
        for name, content in files.items():
            write_atomically(folder / name, content)
        write_atomically(folder / ATTESTATION_FILE, attestation(made, digests(folder)))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    return Written(made, no_pdf)


def digests(folder: Path) -> dict[str, str]:
    """Return name -> SHA-256 of each plain file below a folder, but for the attestation and its signatures."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    named = {file.relative_to(folder).as_posix(): file for file in files}
    return {name: sha256_of(file) for name, file in named.items() if name not in (ATTESTATION_FILE, *SIGNATURES)}


def attestation(document: Mapping[str, Any], files: Mapping[str, str]) -> bytes:
    """Return the statement on a document, with the test-result predicate; equal runs have equal bytes.

    subject: the audited code and the models, by file; configuration: the plan, what the run wrote, draftproof itself.
    files: name in the run's folder -> SHA-256, without the attestation.
    Guarantee: PASSED only if every requirement is met; FAILED if one is refuted; else WARNED.
    """
    named: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for requirement in document["requirements"]:
        key = {MET: "passedTests", FAILED: "failedTests"}.get(requirement["verdict"], "warnedTests")
        named[key].append(f"{requirement['id']}: {requirement['statement']}")
    passed = named["passedTests"] and not named["warnedTests"]
    result = "FAILED" if named["failedTests"] else "PASSED" if passed else "WARNED"
    own = document["draftproof"]
    digested = [*sorted(files.items()), (f"draftproof {own['draftproof']}, its code", own["code"])]
    statement = {
        "_type": STATEMENT_TYPE, "subject": _entries(_subjects(document)), "predicateType": PREDICATE_TYPE,
        "predicate": {"result": result, "configuration": _entries(digested), **named},
    }  # fmt: skip
    return json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _subjects(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each file that a part examined and each digest of loaded code; the plan where there is neither."""
    subjects: set[tuple[str, str]] = set()
    for part in document["parts"]:
        subjects |= set(part["files"].items())
        audited = part.get("report", {}).get("subject", {})
        digest = str(audited.get("digest", UNKNOWN)).removeprefix("sha256:")
        if re.fullmatch("[0-9a-f]{64}", digest):
            subjects.add((f"{audited['name']}, as part {part['id']} digests it", digest))
    plan = document["plan"]
    return sorted(subjects) or [(plan["file"], plan["sha256"])]


def _entries(digested: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"name": name, "digest": {"sha256": digest}} for name, digest in digested]
