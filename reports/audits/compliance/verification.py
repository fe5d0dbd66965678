"""Whether a folder is what a compliance run wrote: its form, digests, what the evidence gives, what its pages say."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ....models.digests import EXAMINING, code_digest, sha256_of
from ....models.errors import InputError, RunFailed
from ....models.json_files import convert, parse, read_file
from ....models.libraries import require
from ....models.store import stored_rows, stored_text
from ....proofs.sandbox import Sandbox
from ....verifiers.adapters.registry import ENGINES
from ....verifiers.registry import REFERENCES
from ..report import Report
from ..sandboxed import probe_problems
from .collecting import PARTS, PARTS_HOLD
from .declared import declared_files
from .document import (
    ATTESTATION_FILE,
    BADGE,
    JUNIT,
    PAGE,
    PDF,
    PLAN,
    REPORT,
    DocumentForm,
    Rendering,
    attestation,
    canonical,
    current_versions,
    derived,
    digests,
    others_than_files,
    text,
)
from .evidence_rows import contradicts_itself, left_out
from .plan import DONE, Collected, load_plan
from .running import audited_spec, is_history, on_record, require_report_schema
from .said import against_pages

OF_CODE = ("audit", "engine", "campaign")
"""Kinds of parts whose reports state a digest of loaded code."""


def verified(
    folder: Path, code: Path, rendering: Rendering, load: bool = False, agreed: Path | None = None
) -> tuple[list[str], str]:
    """What is wrong with a folder, a line each (none: it is what a run wrote), and what was compared, in words.

    The words say how many audited files are here, and what of the PDF agrees: it, its text alone, or that it is absent.

    code: the folder of the plan, where files that it names are looked for; those that are not there are not compared.
    rendering: of the files for people, which are made again.
    load: whether audited code is loaded, in a child process, for the digests that reports state of loaded code.
    agreed: the plan that was agreed on, if another than the one in the folder is to be refused.
    Raises: InputError if there is no report.json, or a package is missing.
    """
    require("jsonschema", "pypdf", extra="compliance")
    if not (folder / REPORT).is_file():
        raise InputError(f"{folder / REPORT}: cannot be read (No such file or directory)")
    try:
        data = _document(folder)
        wrong = [*_against_plan(data, folder, agreed), *contradictions(data), *_against_parts(data, folder)]
        attested, pages, of_pdf = list(_against_attestation(data, folder)), [], ""
        if not wrong:  # else what they should say is not known
            pages, of_pdf = against_pages(data, folder, rendering, draw=not attested)
        wrong += attested + pages
        changed, here = against_code(data, code)
    except InputError as error:
        return [str(error)], ""
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [f"{REPORT}: not a document of this version of draftproof ({type(error).__name__}: {error})"], ""
    unlike, compared = _against_loaded(data, code) if load and not (wrong or changed) else ([], 0)
    changed += [f"{REPORT}: {line}" for line in unlike]
    stated = _stated(data)
    of_code = f"{compared} of {len(stated)} digests of loaded code were compared{'' if load else ' (--load)'}"
    others = "" if _of_these_versions(data) else "it says that other code or versions wrote it"
    if wrong and others:
        own = f"verify it with those (draftproof {data['draftproof']['draftproof']})"
        changed.append(f"{REPORT}: was written by other code or versions; {own}")
    return wrong + changed, "; ".join(filter(None, (here, of_pdf, of_code * bool(stated), others)))


def _document(folder: Path) -> Any:
    """What report.json holds. Raises: InputError for anything but a document with reports in it."""
    data = parse((folder / REPORT).read_bytes(), REPORT)
    if not isinstance(data, Mapping) or not str(data.get("format", "")).startswith("draftproof-compliance-"):
        raise InputError(f"{REPORT}: not a compliance document")
    convert(DocumentForm, data, REPORT)
    for part in data["parts"]:
        if "report" in part:
            require_report_schema(part["report"], f"{REPORT}: the report of part {part['id']}")
    return data


def _of_these_versions(data: Mapping[str, Any]) -> bool:
    return data["draftproof"] == {"code": code_digest(), "audits": code_digest(EXAMINING), **current_versions()}


def _against_plan(data: Mapping[str, Any], folder: Path, agreed: Path | None) -> Iterator[str]:
    """What the plan and the parts in the document give, by this code."""
    if (folder / REPORT).read_bytes() != text(data).encode():
        yield f"{REPORT}: is not written as a run writes it"
    try:
        plan = load_plan(folder / PLAN)
    except InputError as error:
        yield str(error).splitlines()[0]
        return
    if agreed and sha256_of(agreed) != sha256_of(folder / PLAN):
        yield f"{PLAN}: is not {agreed}"
    parts = [Collected.from_json(part) for part in data["parts"]]
    if list(plan.parts) != [got.part for got in parts]:
        yield f"{REPORT}: its parts are not the plan's"
    gives = json.loads(json.dumps(derived(plan, data["date"], data["draftproof"], parts)))
    said = {entry["id"]: entry for entry in data["requirements"]}
    for entry in gives["requirements"]:
        mine = said.pop(entry["id"], None)
        if mine is None:
            yield f"{REPORT}: requirement {entry['id']} of the plan is missing"
        elif mine["verdict"] != entry["verdict"]:
            yield f"{REPORT}: says that {mine['id']} is {mine['verdict']}, and its evidence gives {entry['verdict']}"
        elif mine != entry:
            field = next(name for name in entry if mine.get(name) != entry[name])
            yield f"{REPORT}: {field} of {entry['id']} is not what the plan and its evidence give"
    yield from (f"{REPORT}: requirement {name} is not in the plan" for name in said)
    for name in ("title", "plan", "verdict", "counts", "parts", "not_said"):
        if data[name] != gives[name]:
            yield f"{REPORT}: {name} is not what the plan and the parts give"


def _against_parts(data: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """What is kept of the parts, which the document gives line by line."""
    try:
        kept = {row.key[0]: row for row in stored_rows(folder / PARTS, PARTS_HOLD)}
    except InputError as error:
        yield str(error).removeprefix(f"{folder}/")
        return
    gives = [Collected.from_json(part).stored(data["draftproof"]["audits"]) for part in data["parts"]]
    for row in gives:
        name, there = row.key[0], kept.get(row.key[0])
        if there is None or there.row != row.row:
            yield f"{PARTS}: has not what {REPORT} has of part {name}"
        elif there.key != row.key:
            yield f"{PARTS}: {name} was made with other files, versions or code of draftproof than {REPORT} says"
    if [*kept.values()] == gives and (folder / PARTS).read_bytes() != stored_text(PARTS_HOLD, gives):
        yield f"{PARTS}: is not written as a run writes it"


def contradictions(data: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, whatever was measured: words that are not the evidence's, another subject than the plan's."""
    if not _is_of_the_past(data["date"]):
        yield f"{REPORT}: its date, {data['date']}, is in the future by the clock here, or is none"
    ours = _of_these_versions(data)
    for part in data["parts"]:
        options, where = part["options"], f"{REPORT}: part {part['id']}"
        if "report" in part:
            said, name = part["report"], options.get("subject") if part["kind"] == "audit" else options.get("engine")
            gives = json.loads(json.dumps(Report.from_json(said).as_json()))
            for field in ("verdict", "scope", "not_examined"):
                if field in said and said[field] != gives[field]:
                    yield f"{where}: {field} is not what its evidence gives"
            if name and (part["kind"] == "audit" or name in ENGINES) and said["subject"]["name"] != name:
                yield f"{where}: is of {said['subject']['name']}, the plan names {name}"
            if "subject" in options and options.get("dtypes", said["subject"]["dtypes"]) != said["subject"]["dtypes"]:
                yield f"{where}: is of other numbers than the plan names"
            if ours and (absent := left_out(part)):
                yield f"{where}: has no evidence on {', '.join(absent[:3])}"
            for e in filter(contradicts_itself, Report.from_json(said).evidence):
                yield f"{where}: holds on {e.problem}, and deviates by more than it allows"
        if "history" in part and not is_history(part["history"]):
            yield f"{where}: a history whose states are not those of its numbers"
        if "proofs" in part:
            if part["recorded"] == bool(options.get("run")):
                yield f"{where}: the plan says {'to run' if part['recorded'] else 'not to run'} the proofs"
            given = json.loads(json.dumps(on_record(options)))
            if part["recorded"] and ours and part["proofs"] != given:
                yield f"{where}: its proofs are not those on record in this version"


def _is_of_the_past(date: str) -> bool:
    """Whether it is a date in UTC, today's or an earlier one."""
    try:
        return datetime.fromisoformat(date).date() <= datetime.now(timezone.utc).date()
    except ValueError:
        return False


def _against_attestation(data: Mapping[str, Any], folder: Path) -> Iterator[str]:
    there = digests(folder)
    yield from (f"{name}: is no plain file of a run" for name in others_than_files(folder))
    try:
        said = read_file(dict, folder / ATTESTATION_FILE)
        listed = {entry["name"]: entry["digest"]["sha256"] for entry in said["predicate"]["configuration"]}
    except (InputError, KeyError, TypeError):
        yield f"{ATTESTATION_FILE}: cannot be read as an attestation"
        return
    expected = attestation(data, there)
    own = {entry["name"]: entry["digest"]["sha256"] for entry in expected["predicate"]["configuration"]}
    for name in sorted(own.keys() | listed.keys()):
        if name not in listed:
            yield f"{name}: is not of the run that {ATTESTATION_FILE} speaks of"
        elif name not in own:
            yield f"{name}: is missing, and {ATTESTATION_FILE} names it"
        elif name in there and not _is_written(name, data):
            yield f"{name}: is no file that a run writes"
        elif own[name] != listed[name]:
            yield f"{name}: its digest is not the one in {ATTESTATION_FILE}"
    for name in ("result", "passedTests", "warnedTests", "failedTests"):
        if said["predicate"].get(name) != expected["predicate"][name]:
            yield f"{ATTESTATION_FILE}: {name} is not what {REPORT} gives"
    if said.get("subject") != expected["subject"]:
        yield f"{ATTESTATION_FILE}: its subjects are not those that {REPORT} examined"
    if own == listed and (folder / ATTESTATION_FILE).read_bytes() != canonical(expected):
        yield f"{ATTESTATION_FILE}: is not the attestation of this run"


def _is_written(name: str, data: Mapping[str, Any]) -> bool:
    """Whether a run writes a file of this name; the checkpoint of a part that failed stays."""
    failed = any(fnmatch(name, f"{part['id']}.*.checkpoint") for part in data["parts"] if part["state"] != DONE)
    return name in {REPORT, PAGE, PDF, PLAN, BADGE, JUNIT, PARTS} or failed


def against_code(data: Mapping[str, Any], code: Path) -> tuple[list[str], str]:
    """Named files that changed or came to be there since, and how many of all are here. code: the plan's folder."""
    wrong, here, every, code = [], 0, 0, code.resolve()
    for part in data["parts"]:
        now = declared_files(Collected.from_json(part).part, code)
        every += len(part["files"])
        for name, digest in part["files"].items():
            if name in now:
                here += 1
                if sha256_of(now[name]) != digest:
                    wrong.append(f"{name}: is not the file that part {part['id']} examined")
        new = [name for name in now if name not in part["files"]]
        wrong += [f"{name}: was not there when part {part['id']} was examined" for name in new]
    return wrong, f"{here} of {every} audited files are here"


def _stated(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a document whose reports state a digest of loaded third-party code."""
    parts = [part for part in data["parts"] if part["kind"] in OF_CODE and "report" in part]
    return [part for part in parts if part["options"].get("subject") not in REFERENCES]


def _against_loaded(data: Mapping[str, Any], code: Path) -> tuple[list[str], int]:
    """Audits whose digest is not that of the code in a folder, and how many were compared.

    It loads that code in a child process and calls it a few times, as the audits did.
    """
    wrong, audits = [], [part for part in _stated(data) if part["kind"] == "audit"]
    for part in audits:
        said, spec = part["report"]["subject"]["digest"], audited_spec(Collected.from_json(part).part, code)
        try:
            with Sandbox(
                spec.target, spec.array, spec.dtypes[0], torch=spec.torch, folders=spec.folders, program=spec.program
            ) as sandbox:
                here = str(sandbox.start(probe_problems([]))["digest"])
        except (InputError, RunFailed) as failure:
            here = f"not known: {failure}"
        if here != said:
            wrong.append(f"part {part['id']} says that the digest of the loaded code is {said}; here it is {here}")
    return wrong, len(audits)
