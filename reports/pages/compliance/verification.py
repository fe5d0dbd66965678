"""Checks that a folder is what a compliance run wrote: makes every file again from its plan and parts, and compares."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ....models.digests import sha256_of
from ....models.errors import InputError, RunFailed
from ....models.json_files import convert, parse, plain
from ....models.store import stored
from ....proofs.sandbox import Sandbox
from ....verifiers.registry import REFERENCES
from ...audits.compliance.collecting import PARTS, PARTS_HOLD
from ...audits.compliance.contradictions import contradictions_of_report
from ...audits.compliance.declared import OF_CODE, declared_files
from ...audits.compliance.document import DocumentForm, document, versions_in_use
from ...audits.compliance.plan import DONE, Collected, load_plan
from ...audits.compliance.running import audited_spec, on_record
from ...audits.nightly.status import is_history
from ...audits.sandboxed import probe_problems
from .folder import ATTESTATION_FILE, PAGE, PDF, PLAN, REPORT, attestation, contents, digests
from .page import identifier, pdf

CONTEXT = 40
"""Most characters of a difference that are shown."""


class Verification(NamedTuple):
    """A result. wrong: a line for each thing that is wrong. compared: what was compared, in words."""

    wrong: list[str]
    compared: str


def verified(folder: Path, code: Path, load: bool = False, agreed: Path | None = None) -> Verification:
    """Compare a folder with what a run writes.

    The words say how many audited files are here, and whether the PDF was compared.

    code: the folder of the plan, where files that it names are looked for; those that are not there are not compared.
    load: whether audited code is loaded, in a child process, to compare the digests that reports state of it.
    agreed: the plan that was agreed on; a folder with another plan is refused.
    Raises: InputError if there is no report.json.
    """
    if not (folder / REPORT).is_file():
        raise InputError(f"{folder / REPORT}: cannot be read (No such file or directory)")
    try:
        said = _document(folder)
        plan = load_plan(folder / PLAN)
        parts = [Collected.read(row.row) for row in stored(folder / PARTS, PARTS_HOLD).rows]
        made = document(plan, parts, said.date, said.draftproof)
        files = contents(plan, parts, made)
        drawn = _compare_pdf(folder, files[PAGE].decode(), said.draftproof.get("weasyprint"))
        wrong = [f"{PLAN}: is not {agreed}"] if agreed and sha256_of(agreed) != sha256_of(folder / PLAN) else []
        if list(plan.parts) != [got.part for got in parts]:
            wrong.append(f"{PARTS}: its parts are not the plan's")
        ours = said.draftproof == versions_in_use()
        wrong += [*contradictions(said.date, parts, ours), *_compare_files(folder, made, files), *drawn.wrong]
        here = compare_code(parts, code)
    except InputError as error:
        return Verification([str(error).splitlines()[0].removeprefix(f"{folder}/")], "")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        return Verification([f"{REPORT}: not a document of this version of draftproof ({why})"], "")
    loaded = _compare_loaded(parts, code, load and not (wrong or here.wrong))
    lines = [*wrong, *here.wrong, *loaded.wrong]
    if wrong and not ours:
        own = f"verify it with those (draftproof {said.draftproof.get('draftproof')})"
        lines.append(f"{REPORT}: was written by other code or versions; {own}")
    others = "" if ours else "it says that other code or versions wrote it"
    return Verification(lines, "; ".join(filter(None, (here.compared, drawn.compared, loaded.compared, others))))


def _document(folder: Path) -> DocumentForm:
    """Return what report.json holds. Raises: InputError for anything but a document."""
    data = parse((folder / REPORT).read_bytes(), REPORT)
    if not isinstance(data, Mapping) or not str(data.get("format", "")).startswith("draftproof-compliance-"):
        raise InputError(f"{REPORT}: not a compliance document")
    return convert(DocumentForm, data, REPORT)


def _compare_files(folder: Path, made: Mapping[str, Any], files: Mapping[str, bytes]) -> Iterator[str]:
    """Compare each file but the PDF with what was made; the attestation too, and which files are there."""
    for place in sorted(folder.rglob("*")):
        if place.is_symlink() or not place.is_file():
            yield f"{place.relative_to(folder).as_posix()}: is not a plain file of a run"
    failed = [f"{part['id']}.*.checkpoint" for part in made["parts"] if part["state"] != DONE]
    attested = {name: sha256(content).hexdigest() for name, content in files.items()}
    for name, digest in digests(folder).items():
        if name == PDF or any(fnmatch(name, pattern) for pattern in failed):
            attested[name] = digest
        elif name not in files:
            yield f"{name}: is no file that a run writes"
    for name, content in {**files, ATTESTATION_FILE: attestation(made, attested)}.items():
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


def _compare_pdf(folder: Path, html: str, version: str | None) -> Verification:
    """Compare the PDF with the one that WeasyPrint draws of a page here.

    Where another version or other fonts drew it, its identifier alone is compared: the digest of its page.
    version: of WeasyPrint, as the document states it.
    """
    if not (folder / PDF).is_file():
        return Verification([], "there is no PDF")
    content = (folder / PDF).read_bytes()
    try:
        own = pdf(html) if version == versions_in_use().get("weasyprint") else None
    except InputError:
        own = None
    if own == content:
        return Verification([], "the PDF too")
    if identifier(html) not in content:
        return Verification([f"{PDF}: is not drawn from the page that the plan and its parts give"], "")
    if own and _fonts_in(own) == _fonts_in(content):
        return Verification([f"{PDF}: is not drawn as WeasyPrint draws the page here"], "")
    return Verification([], "only the identifier of the PDF: it was drawn with other versions or fonts")


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


def contradictions(date: str, parts: Sequence[Collected], ours: bool) -> Iterator[str]:
    """Say what cannot be in a document, whatever was measured. ours: whether this code wrote it."""
    try:
        future = datetime.fromisoformat(date).date() > datetime.now(timezone.utc).date()
    except ValueError:
        future = True
    if future:
        yield f"{REPORT}: its date, {date}, is in the future by the clock here, or is none"
    for got in parts:
        where = f"{REPORT}: part {got.id}"
        if got.report:
            yield from (f"{where}: {line}" for line in contradictions_of_report(got, ours))
        if got.history and not is_history(got.history):
            yield f"{where}: a history whose states are not those of its numbers"
        if got.proofs and got.recorded == bool(got.options.get("run")):
            yield f"{where}: the plan says {'to run' if got.recorded else 'not to run'} the proofs"
        if got.recorded and ours and got.proofs != plain(on_record(got.options)):
            yield f"{where}: its proofs are not those on record in this version"


def compare_code(parts: Sequence[Collected], code: Path) -> Verification:
    """Compare the files that parts named with those here. code: the plan's folder."""
    wrong, here, every, code = [], 0, 0, code.resolve()
    for got in parts:
        now = declared_files(got.part, code)
        every += len(got.files)
        there = {name: digest for name, digest in got.files.items() if name in now}
        here += len(there)
        changed = [name for name, digest in there.items() if sha256_of(now[name]) != digest]
        wrong += [f"{name}: is not the file that part {got.id} examined" for name in changed]
        wrong += [f"{name}: was not there when part {got.id} was examined" for name in now if name not in got.files]
    return Verification(wrong, f"{here} of {every} audited files are here")


def _compare_loaded(parts: Sequence[Collected], code: Path, load: bool) -> Verification:
    """Compare the digests that audits state with those of the code in a folder, if it is to be loaded.

    It loads that code in a child process and calls it a few times, as the audits did.
    """
    stated = [got for got in parts if got.kind in OF_CODE and got.report]
    stated = [got for got in stated if got.options.get("subject") not in REFERENCES]
    wrong, audits = [], [got for got in stated if load and got.kind == "audit"]
    for got in audits:
        said, spec = (got.report or {})["subject"]["digest"], audited_spec(got.part, code)
        try:
            with Sandbox(
                spec.target, spec.array, spec.dtypes[0], torch=spec.torch, folders=spec.folders, program=spec.program
            ) as sandbox:
                here = str(sandbox.start(probe_problems([]))["digest"])
        except (InputError, RunFailed) as failure:
            here = f"not known: {failure}"
        if here != said:
            digests = f"says that the digest of the loaded code is {said}; here it is {here}"
            wrong.append(f"{REPORT}: part {got.id} {digests}")
    unasked = "" if load else " (--load)"
    of_code = f"{len(audits)} of {len(stated)} digests of loaded code were compared{unasked}"
    return Verification(wrong, of_code if stated else "")
