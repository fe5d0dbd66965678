"""Checks that a folder is what a compliance run wrote: makes every file again from its plan and parts, and compares."""

import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ....models.digests import sha256_of
from ....models.errors import InputError, RunFailed
from ....models.json_files import convert, parse, plain
from ....models.store import stored_rows
from ....proofs.sandbox import Sandbox
from ....verifiers.adapters.registry import ENGINES
from ....verifiers.registry import REFERENCES
from ..nightly.status import is_history
from ..report import Report
from ..sandboxed import probe_problems
from .collecting import PARTS, PARTS_HOLD
from .declared import declared_files
from .document import DocumentForm, document, versions_in_use
from .evidence_rows import left_out, untrue
from .folder import (
    ATTESTATION_FILE,
    PAGE,
    PDF,
    PLAN,
    REPORT,
    Rendering,
    attestation,
    canonical,
    contents,
    digests,
    identifier,
)
from .plan import DONE, Collected, load_plan
from .running import audited_spec, on_record

OF_CODE = ("audit", "engine", "campaign")
"""Kinds of parts whose reports state a digest of loaded code."""

CONTEXT = 40
"""Most characters of a difference that are shown."""


class Verification(NamedTuple):
    """A result. wrong: a line for each thing that is wrong. compared: what was compared, in words."""

    wrong: list[str]
    compared: str


def verified(
    folder: Path, code: Path, rendering: Rendering, load: bool = False, agreed: Path | None = None
) -> Verification:
    """Compare a folder with what a run writes.

    The words say how many audited files are here, and whether the PDF was compared.

    code: the folder of the plan, where files that it names are looked for; those that are not there are not compared.
    rendering: makes the files for people again.
    load: whether audited code is loaded, in a child process, to compare the digests that reports state of it.
    agreed: the plan that was agreed on; a folder with another plan is refused.
    Raises: InputError if there is no report.json.
    """
    if not (folder / REPORT).is_file():
        raise InputError(f"{folder / REPORT}: cannot be read (No such file or directory)")
    try:
        said = _document(folder)
        plan, parts = load_plan(folder / PLAN), _kept_parts(folder)
        made = document(plan, parts, said["date"], said["draftproof"])
        files = contents(plan, parts, made, rendering)
        drawn = _compare_pdf(folder, files[PAGE].decode(), said["draftproof"].get("weasyprint"), rendering)
        wrong = [f"{PLAN}: is not {agreed}"] if agreed and sha256_of(agreed) != sha256_of(folder / PLAN) else []
        if list(plan.parts) != [got.part for got in parts]:
            wrong.append(f"{PARTS}: its parts are not the plan's")
        wrong += [*contradictions(made), *_compare_files(folder, made, files), *drawn.wrong]
        changed, here = compare_code(made, code)
        stated = _parts_of_code(made)
    except InputError as error:
        return Verification([str(error).splitlines()[0].removeprefix(f"{folder}/")], "")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        return Verification([f"{REPORT}: not a document of this version of draftproof ({why})"], "")
    unlike, loaded = _compare_loaded(stated, code) if load and not (wrong or changed) else ([], 0)
    changed += [f"{REPORT}: {line}" for line in unlike]
    of_code = f"{loaded} of {len(stated)} digests of loaded code were compared{'' if load else ' (--load)'}"
    others = "" if said["draftproof"] == versions_in_use() else "it says that other code or versions wrote it"
    if wrong and others:
        own = f"verify it with those (draftproof {said['draftproof'].get('draftproof')})"
        changed.append(f"{REPORT}: was written by other code or versions; {own}")
    return Verification(
        wrong + changed, "; ".join(filter(None, (here, drawn.compared, of_code * bool(stated), others)))
    )


def _document(folder: Path) -> Any:
    """Return what report.json holds. Raises: InputError for anything but a document."""
    data = parse((folder / REPORT).read_bytes(), REPORT)
    if not isinstance(data, Mapping) or not str(data.get("format", "")).startswith("draftproof-compliance-"):
        raise InputError(f"{REPORT}: not a compliance document")
    convert(DocumentForm, data, REPORT)
    return data


def _kept_parts(folder: Path) -> list[Collected]:
    """Return the parts that are kept. Raises: InputError for a file of anything else, or a line that was changed."""
    return [Collected.from_json(row.row) for row in stored_rows(folder / PARTS, PARTS_HOLD)]


def _compare_files(folder: Path, made: Mapping[str, Any], files: Mapping[str, bytes]) -> Iterator[str]:
    """Compare each file but the PDF with what was made; the attestation too, and which files are there."""
    for place in sorted(folder.rglob("*")):
        if place.is_symlink() or not place.is_file():
            yield f"{place.relative_to(folder).as_posix()}: is no plain file of a run"
    there = digests(folder)
    failed = [f"{part['id']}.*.checkpoint" for part in made["parts"] if part["state"] != DONE]
    attested = {name: sha256(content).hexdigest() for name, content in files.items()}
    for name, digest in there.items():
        if name == PDF or any(fnmatch(name, pattern) for pattern in failed):
            attested[name] = digest
        elif name not in files:
            yield f"{name}: is no file that a run writes"
    for name, content in [*files.items(), (ATTESTATION_FILE, canonical(attestation(made, attested)))]:
        if not (folder / name).is_file():
            yield f"{name}: is missing"
        elif (given := (folder / name).read_bytes()) != content:
            yield f"{name}: {_first_difference(given, content)}"


def _first_difference(given: bytes, expected: bytes) -> str:
    """Say on which line two contents of a file differ first, and how."""
    at = next((k for k, pair in enumerate(zip(given, expected)) if pair[0] != pair[1]), min(len(given), len(expected)))
    start = max(expected.rfind(b"\n", 0, at) + 1, at - CONTEXT // 2)
    shown = (content[start : start + CONTEXT].partition(b"\n")[0] for content in (given, expected))
    here, there = (content.decode(errors="replace") for content in shown)
    line = 1 + expected.count(b"\n", 0, at)
    return f"line {line} has {here!r} where the plan and its parts give {there!r}"


def _compare_pdf(folder: Path, html: str, version: str | None, rendering: Rendering) -> Verification:
    """Compare the PDF with the one that WeasyPrint draws of a page here.

    Where another version or other fonts drew it, its identifier alone is compared: the digest of its page.
    version: of WeasyPrint, as the document states it.
    """
    if not (folder / PDF).is_file():
        return Verification([], "there is no PDF")
    content = (folder / PDF).read_bytes()
    try:
        own = rendering.pdf(html) if version == versions_in_use().get("weasyprint") else None
    except InputError:
        own = None
    if own == content:
        return Verification([], "the PDF too")
    if identifier(html) not in content:
        return Verification([f"{PDF}: is not drawn from the page that the plan and its parts give"], "")
    if own and _fonts_in(own) == _fonts_in(content):
        return Verification([f"{PDF}: is not drawn as WeasyPrint draws the page here"], "")
    return Verification([], "of the PDF its identifier alone: it was drawn with other versions or fonts")


def _fonts_in(content: bytes) -> set[bytes]:
    """Return the names of the fonts in a PDF, without the tags of their subsets."""
    names: set[bytes] = set()
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL):
        try:
            objects = zlib.decompress(stream)
        except zlib.error:  # it is not compressed, or no stream
            objects = stream
        names |= {name.rpartition(b"+")[2] for name in re.findall(rb"/BaseFont\s*/([^\s/<>\[\]()]+)", objects)}
    return names


def contradictions(data: Mapping[str, Any]) -> Iterator[str]:
    """Say what cannot be in a document, whatever was measured."""
    try:
        future = datetime.fromisoformat(data["date"]).date() > datetime.now(timezone.utc).date()
    except ValueError:
        future = True
    if future:
        yield f"{REPORT}: its date, {data['date']}, is in the future by the clock here, or is none"
    ours = data["draftproof"] == versions_in_use()
    for part in data["parts"]:
        where = f"{REPORT}: part {part['id']}"
        if "report" in part:
            yield from (f"{where}: {line}" for line in _contradictions_of_report(part, ours))
        if "history" in part and not is_history(part["history"]):
            yield f"{where}: a history whose states are not those of its numbers"
        if "proofs" in part:
            if part["recorded"] == bool(part["options"].get("run")):
                yield f"{where}: the plan says {'to run' if part['recorded'] else 'not to run'} the proofs"
            if part["recorded"] and ours and part["proofs"] != plain(on_record(part["options"])):
                yield f"{where}: its proofs are not those on record in this version"


def _contradictions_of_report(part: Mapping[str, Any], ours: bool) -> Iterator[str]:
    """Say what in a part's report is not what its evidence gives, or not what the plan names.

    ours: whether this code made it, so that the problems of every audit are known.
    """
    said, options, report = part["report"], part["options"], Report.from_json(part["report"])
    yield from untrue(said, report, said if ours else ("verdict", "scope", "not_examined"))
    name = options.get("subject") if part["kind"] == "audit" else options.get("engine")
    if name and (part["kind"] == "audit" or name in ENGINES) and said["subject"]["name"] != name:
        yield f"is of {said['subject']['name']}, the plan names {name}"
    if "subject" in options and options.get("dtypes", said["subject"]["dtypes"]) != said["subject"]["dtypes"]:
        yield "is of other numbers than the plan names"
    if ours and (absent := left_out(part)):
        yield f"has no evidence on {', '.join(absent[:3])}"


def compare_code(data: Mapping[str, Any], code: Path) -> Verification:
    """Compare the files that parts named with those here. code: the plan's folder."""
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
    return Verification(wrong, f"{here} of {every} audited files are here")


def _parts_of_code(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a document whose reports state a digest of loaded third-party code."""
    parts = [part for part in data["parts"] if part["kind"] in OF_CODE and "report" in part]
    return [part for part in parts if part["options"].get("subject") not in REFERENCES]


class Loaded(NamedTuple):
    """A comparison of loaded code. wrong: a line for each audit that states another digest. audits: their number."""

    wrong: list[str]
    audits: int


def _compare_loaded(parts: list[Mapping[str, Any]], code: Path) -> Loaded:
    """Compare the digests that audits state with those of the code in a folder.

    It loads that code in a child process and calls it a few times, as the audits did.
    """
    wrong, audits = [], [part for part in parts if part["kind"] == "audit"]
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
    return Loaded(wrong, len(audits))
