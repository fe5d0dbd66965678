"""The folder of a compliance run: what is written into it, its files by digest, and their attestation (in-toto v1)."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....models.digests import sha256_of
from ....models.errors import InputError
from ....models.files import write_atomically
from ....proofs.interception.digests import UNKNOWN
from .collecting import PARTS
from .document import document, text, today
from .plan import Collected, Plan
from .requirements import FAILED, MET

REPORT, PAGE, PDF = "report.json", "report.html", "report.pdf"
PLAN, BADGE, JUNIT, ATTESTATION_FILE = "plan.toml", "badge.svg", "junit.xml", "attestation.json"

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"

SIGNATURES = tuple(
    f"{ATTESTATION_FILE}.{end}"
    for end in ("asc", "bundle", "crt", "minisig", "pem", "sig", "sigstore", "sigstore.json")
)
"""Files that sign an attestation, as gpg, cosign, sigstore, openssl and minisign name them."""


class Rendering(NamedTuple):
    """How a document, in its JSON form, becomes the files for people.

    page: its HTML. pdf: of a page; raises InputError where none can be made. badge: of a verdict and a date.
    junit: its requirements as JUnit's XML.
    """

    page: Callable[[Mapping[str, Any]], str]
    pdf: Callable[[str], bytes]
    badge: Callable[[str, str], str]
    junit: Callable[[Mapping[str, Any]], str]


def require_folder(folder: Path) -> None:
    """Raises: InputError for what is no folder, or one with other files in it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; expected a folder, or a new name")
    if folder.is_dir() and any(folder.iterdir()) and not ((folder / REPORT).exists() or (folder / PARTS).exists()):
        raise InputError(f"{folder}: is not empty; expected a folder that is new, empty, or of an earlier run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None


def write_folder(
    folder: Path, plan: Plan, collected: Sequence[Collected], rendering: Rendering
) -> tuple[dict[str, Any], str | None]:
    """Write everything that a run writes but its parts; the document, and why there is no PDF if there is none.

    Guarantee: the same bytes for the same plan, parts and date. The date is that of the document that is there, if
    nothing else changed in it.
    Raises: InputError if a file cannot be written.
    """
    made = _dated(folder, document(plan, collected, today()))
    html, why = rendering.page(json.loads(text(made))), None
    contents: dict[str, str | bytes] = {
        PLAN: plan.source, REPORT: text(made), PAGE: html,
        BADGE: rendering.badge(made["verdict"], made["date"]), JUNIT: rendering.junit(made),
    }  # fmt: skip
    try:
        contents[PDF] = rendering.pdf(html)
    except InputError as error:
        why = str(error)
    try:
        if why:
            (folder / PDF).unlink(missing_ok=True)
        for name, content in contents.items():
            write_atomically(folder / name, content)
        write_atomically(folder / ATTESTATION_FILE, canonical(attestation(made, digests(folder))))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    return made, why


def _dated(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """The document with the date of the one that is there, if it is the same but for that."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return made
    try:
        before = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        return before if before | {"date": made["date"]} == json.loads(json.dumps(made)) else made
    except (OSError, ValueError, TypeError):
        return made


def digests(folder: Path) -> dict[str, str]:
    """name -> SHA-256 of every plain file in a folder, but for the attestation and what signs it."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    named = {file.relative_to(folder).as_posix(): file for file in files}
    return {name: sha256_of(file) for name, file in named.items() if name not in (ATTESTATION_FILE, *SIGNATURES)}


def others_than_files(folder: Path) -> list[str]:
    """What no run writes, and no digest speaks of: links, folders, devices."""
    there = (p for p in sorted(folder.rglob("*")) if p.is_symlink() or not p.is_file())
    return [p.relative_to(folder).as_posix() for p in there]


def attestation(document: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """The statement on a document, with the test-result predicate; equal runs have equal bytes.

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
