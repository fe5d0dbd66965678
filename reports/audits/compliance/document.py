"""report.json of a compliance document: requirements with their verdicts, and everything they were derived from.

And the folder of its run: what is written into it, its files by digest, and their attestation (in-toto v1).
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from ....models.digests import EXAMINING, ROOT, code_digest, environment, sha256_of, versions
from ....models.errors import InputError
from ....models.files import write_atomically
from ....models.json_files import schema
from ....proofs.interception.digests import UNKNOWN
from ..report import Report
from .collecting import PARTS
from .evidence_rows import EvidenceRow
from .plan import FIELDS, STATES, Collected, Id, Plan, Scope, one_of
from .requirements import FAILED, MET, WORST_FIRST, judged, overall

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


NOT_SAID = (
    "that a requirement which is met holds beyond the problems, numbers, versions and settings named beside it, unless "
    "it is by proof",
    "anything of a decoder that is configured otherwise, of other versions of the code, or of other models",
    "anything of what runs around the parts that were examined: a verifier that is lossless can stand in a loop that "
    "is not",
    "that the code is safe to run, or that its texts are true or harmless",
)
"""What no compliance document says, whatever its verdicts."""


def current_versions() -> dict[str, str]:
    """Versions that a document and its pages depend on."""
    return environment() | versions("weasyprint", "matplotlib", "jinja2")


def today() -> str:
    """The date of a document: of SOURCE_DATE_EPOCH if that is set. Raises: InputError if it is no number of seconds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(timezone.utc) if not epoch else datetime.fromtimestamp(int(epoch), timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"SOURCE_DATE_EPOCH is {epoch!r}; expected a number of seconds") from None
    return moment.date().isoformat()


def document(plan: Plan, collected: Sequence[Collected], date: str) -> dict[str, Any]:
    """The document in its JSON form (``compliance.schema.json``); equal parts give an equal one."""
    own = {"code": code_digest(), "audits": code_digest(EXAMINING), **current_versions()}
    return derived(plan, date, own, collected)


def derived(plan: Plan, date: str, own: Mapping[str, str], collected: Sequence[Collected]) -> dict[str, Any]:
    """Everything that follows from a plan and its parts. own: the digests and versions of draftproof."""
    requirements = [judged(requirement, collected).as_json() for requirement in plan.requirements]
    verdicts = [requirement["verdict"] for requirement in requirements]
    return {
        "format": FORMAT, "title": plan.title, "date": date,
        "plan": {"file": "plan.toml", "sha256": hashlib.sha256(plan.source).hexdigest()}, "draftproof": {**own},
        "verdict": overall(verdicts), "counts": {verdict: verdicts.count(verdict) for verdict in WORST_FIRST},
        "requirements": requirements, "parts": [_part(got) for got in collected], "not_said": list(NOT_SAID),
    }  # fmt: skip


def _part(got: Collected) -> dict[str, Any]:
    """A part with its verdict in words beside what it gave."""
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
    """A document, or a part of one, as the file's content."""
    return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=False) + "\n"


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
