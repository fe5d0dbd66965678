"""Whether a folder is what a compliance run wrote: schema, digests, what the evidence gives, what the page and the PDF say."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from ....models.libraries import require
from ....proofs.proof_checkpoint import code_digest
from ....verifiers.adapters.engines import ENGINES
from ...audits.compliance.attestation import ATTESTATION_FILE, attestation, canonical
from ...audits.compliance.code_files import code_files, sha256_of
from ...audits.compliance.collecting import DONE, KEPT, Collected, is_history, kept_text, key_of, on_record
from ...audits.compliance.complete import left_out
from ...audits.compliance.document import again, current_versions, text
from ...audits.compliance.imported_code import importable
from ...audits.compliance.loaded_code import against_loaded, stated
from ...audits.compliance.plan import load_plan
from ...audits.compliance.strength import contradicts_itself
from ...audits.report import Report
from ..badge import badge
from ..junit import junit_of_requirements
from .folder import BADGE, JUNIT, PAGE, PDF, PLAN, REPORT, digests, is_document, others_than_files
from .page import page
from .pdf import fonts_in, pdf
from .said import Shown, differences, said_by_html, said_by_pdf


def verified(folder: Path, code: Path, load: bool = False, agreed: Path | None = None) -> tuple[list[str], str]:
    """What is wrong with a folder, a line each (none: it is what a run wrote), and what was compared, in words.

    The words say how many audited files are here, and what of the PDF agrees: it, its text alone, or that there is none.

    code: the folder of the plan, where files that it names are looked for; those that are not there are not compared.
    load: whether audited code is loaded, in a child process, for the digests that reports state of it when it is loaded.
    agreed: the plan that was agreed on, if another than the one in the folder is to be refused.
    Raises: InputError if there is no report.json, or a package is missing.
    """
    require("jsonschema", "pypdf", extra="compliance")
    try:
        data = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{folder / REPORT}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        return [f"{REPORT}: not JSON ({error})"], ""
    if wrong := list(_against_schemas(data)):
        return wrong, ""
    try:
        wrong = [*_against_evidence(data, folder), *_against_plan(data, folder, agreed), *contradictions(data)]
        wrong += _against_parts(data, folder)
        attested, pages, of_pdf = list(_against_attestation(data, folder)), [], ""
        if not wrong:  # else what they should say is not known
            pages, of_pdf = _against_pages(data, folder, draw=not attested)
        wrong += attested + pages
        changed, here = against_code(data, code, folder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [f"{REPORT}: not a document of this version of draftproof ({type(error).__name__}: {error})"], ""
    unlike, compared = against_loaded(data, code) if load and not (wrong or changed) else ([], 0)
    changed += [f"{REPORT}: {line}" for line in unlike]
    of_code = f"{compared} of {len(stated(data))} digests of loaded code were compared{'' if load else ' (--load)'}"
    others = "" if _of_these_versions(data) else "it says that other code or versions wrote it"
    if wrong and others:
        changed.append(
            f"{REPORT}: was written by other code or versions; verify it with those (draftproof {data['draftproof']['draftproof']})"
        )
    return wrong + changed, "; ".join(filter(None, (here, of_pdf, of_code * bool(stated(data)), others)))


def _of_these_versions(data: Mapping[str, Any]) -> bool:
    return data["draftproof"] == {"code": code_digest(), **current_versions()}


def _against_schemas(data: Any) -> Iterator[str]:
    from jsonschema import Draft202012Validator

    if not is_document(data):
        yield f"{REPORT}: not a compliance document"
        return
    where = files("draftproof.reports.audits")
    own, reports = (
        Draft202012Validator(json.loads((where / f"{name}.schema.json").read_text(encoding="utf-8")))
        for name in ("compliance", "report")
    )
    for error in sorted(own.iter_errors(data), key=lambda error: list(map(str, error.path)))[:5]:
        yield f"{REPORT}: {error.json_path}: {error.message[:200]}"
    for part in data.get("parts", ()):
        if isinstance(part, dict) and "report" in part:
            for error in list(reports.iter_errors(part["report"]))[:1]:
                yield f"{REPORT}: the report of part {part.get('id')}: {error.json_path}: {error.message[:200]}"


def _against_evidence(data: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """What the parts in the document give, by this code."""
    if (folder / REPORT).read_bytes() != text(data).encode():  # a name that is there twice is read in two ways
        yield f"{REPORT}: is not written as a run writes it"
    derived = json.loads(json.dumps(again(data)))
    for said, gives in zip(data["requirements"], derived["requirements"], strict=True):
        if said["verdict"] != gives["verdict"]:
            yield f"{REPORT}: says that {said['id']} is {said['verdict']}, and its evidence gives {gives['verdict']}"
        elif said != gives:
            field = next(name for name in gives if said.get(name) != gives[name])
            yield f"{REPORT}: {field} of {said['id']} is not what its evidence gives"
    for name in ("verdict", "counts", "parts", "not_said"):
        if data[name] != derived[name]:
            yield f"{REPORT}: {name} is not what its requirements and parts give"


def _against_plan(data: Mapping[str, Any], folder: Path, agreed: Path | None) -> Iterator[str]:
    try:
        plan = load_plan(folder / PLAN)
    except InputError as error:
        yield str(error).splitlines()[0]
        return
    if sha256_of(folder / PLAN) != data["plan"]["sha256"]:
        yield f"{PLAN}: its digest is not the one in {REPORT}"
    if agreed and sha256_of(agreed) != sha256_of(folder / PLAN):
        yield f"{PLAN}: is not {agreed}"
    if plan.title != data["title"]:
        yield f"{REPORT}: its title is not the plan's"
    required = {r.id: [r.statement, r.claim, list(r.parts), r.scope, r.detection_limit] for r in plan.requirements}
    said = {
        r["id"]: [r[n] for n in ("statement", "claim", "parts", "scope", "detection_limit")]
        for r in data["requirements"]
    }
    yield from (f"{REPORT}: requirement {name} of the plan is missing" for name in required if name not in said)
    yield from (f"{REPORT}: requirement {name} is not in the plan" for name in said if name not in required)
    yield from (
        f"{REPORT}: requirement {name} is not the plan's"
        for name in said
        if required.get(name, said[name]) != said[name]
    )
    planned = [(part.id, part.kind, part.options) for part in plan.parts]
    if planned != [(part["id"], part["kind"], part["options"]) for part in data["parts"]]:
        yield f"{REPORT}: its parts are not the plan's"


def _against_parts(data: Mapping[str, Any], folder: Path) -> Iterator[str]:
    for part in data["parts"]:
        try:
            content = (folder / KEPT / f"{part['id']}.json").read_text(encoding="utf-8")
            kept = json.loads(content)
        except (OSError, ValueError):
            yield f"{KEPT}/{part['id']}.json: cannot be read"
            continue
        if content != kept_text(kept):
            yield f"{KEPT}/{part['id']}.json: is not written as a run writes it"
        elif kept["part"] != json.loads(json.dumps(Collected.from_json(part).as_json())):
            yield f"{KEPT}/{part['id']}.json: is not part {part['id']} of {REPORT}"
        elif kept["key"] != _key_by(kept, data["draftproof"]["code"]):
            yield f"{KEPT}/{part['id']}.json: was made with other files, versions or code of draftproof than it and {REPORT} say"


def _key_by(kept: Mapping[str, Any], code: str) -> str:
    beside = kept["imported"]["beside"] if kept["imported"] else {}
    return key_of(Collected.from_json(kept["part"]).part, kept["part"]["files"], kept["installed"], code, beside)


def contradictions(data: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, whatever was measured: words of a report that are not its evidence's, another subject than the plan's."""
    if not _is_of_the_past(data["date"]):
        yield f"{REPORT}: its date, {data['date']}, is in the future by the clock here, or is none"
    for part in data["parts"]:
        options, where = part["options"], f"{REPORT}: part {part['id']}"
        if "report" in part:
            said, name = part["report"], options.get("subject") if part["kind"] == "audit" else options.get("engine")
            gives = json.loads(json.dumps(Report.from_json(said).as_json()))
            yield from (
                f"{where}: {field} is not what its evidence gives"
                for field in ("verdict", "scope", "not_examined")
                if field in said and said[field] != gives[field]
            )
            if name and (part["kind"] == "audit" or name in ENGINES) and said["subject"]["name"] != name:
                yield f"{where}: is of {said['subject']['name']}, the plan names {name}"
            if "subject" in options and options.get("dtypes", said["subject"]["dtypes"]) != said["subject"]["dtypes"]:
                yield f"{where}: is of other numbers than the plan names"
            if _of_these_versions(data) and (absent := left_out(part)):
                yield f"{where}: has no evidence on {', '.join(absent[:3])}"
            for e in filter(contradicts_itself, Report.from_json(said).evidence):
                yield f"{where}: holds on {e.problem}, and deviates by more than it allows"
        if "history" in part and not is_history(part["history"]):
            yield f"{where}: a history whose states are not those of its numbers"
        if "proofs" in part:
            if part["recorded"] == bool(options.get("run")):
                yield f"{where}: the plan says {'to run' if part['recorded'] else 'not to run'} the proofs"
            if (
                part["recorded"]
                and _of_these_versions(data)
                and part["proofs"] != json.loads(json.dumps(on_record(options)))
            ):
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
        content = (folder / ATTESTATION_FILE).read_bytes()
        said = json.loads(content)
        listed = {entry["name"]: entry["digest"]["sha256"] for entry in said["predicate"]["configuration"]}
    except (OSError, ValueError, KeyError, TypeError):
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
    if own == listed and content != canonical(expected):
        yield f"{ATTESTATION_FILE}: is not the attestation of this run"


def _is_written(name: str, data: Mapping[str, Any]) -> bool:
    """Whether a run writes a file of this name; the checkpoint of a part that failed stays."""
    of_parts = {f"{KEPT}/{part['id']}.json" for part in data["parts"]}
    failed = any(fnmatch(name, f"{KEPT}/{part['id']}.*.checkpoint") for part in data["parts"] if part["state"] != DONE)
    return name in {REPORT, PAGE, PDF, PLAN, BADGE, JUNIT, *of_parts} or failed


def _against_pages(data: Mapping[str, Any], folder: Path, draw: bool) -> tuple[list[str], str]:
    """What is wrong with the files for people, and what was compared of the PDF, in words.

    draw: whether the PDF is made again, which takes a second, where its text agrees.
    """
    html = page(data)
    shown = Shown(html)
    wrong, of_pdf = [], "there is no PDF"
    try:
        there = (folder / PAGE).read_bytes()
        wrong += differences(data, shown, said_by_html(there.decode()), PAGE)
        if not wrong and there != html.encode():
            wrong.append(f"{PAGE}: says what {REPORT} gives, and is not the page that it gives, byte for byte")
    except (OSError, UnicodeDecodeError):
        wrong.append(f"{PAGE}: cannot be read")
    if (folder / PDF).exists():
        try:
            content = (folder / PDF).read_bytes()
            wrong_here = differences(data, shown, said_by_pdf(content), PDF)
            drawn = (
                None
                if wrong_here or wrong or not draw
                else _drawn_as(html, content, data["draftproof"].get("weasyprint"))
            )
            if drawn is False:
                wrong_here.append(f"{PDF}: says what {REPORT} gives, and is not drawn as WeasyPrint draws that here")
            of_pdf = "the PDF too" if drawn else "of the PDF the text alone: it was made with other versions or fonts"
            wrong += wrong_here
        except (OSError, ValueError) as error:
            wrong.append(f"{PDF}: {error}")
    for name, content in ((BADGE, badge(data["verdict"], data["date"])), (JUNIT, junit_of_requirements(data))):
        if not (folder / name).is_file() or (folder / name).read_bytes() != content.encode():
            wrong.append(f"{name}: is not what {REPORT} gives")
    return wrong, of_pdf


def _drawn_as(html: str, content: bytes, version: str | None) -> bool | None:
    """Whether a PDF is, byte for byte, what WeasyPrint makes of a page; None if that cannot be said with what is here."""
    if version is None or current_versions().get("weasyprint") != version:
        return None
    try:
        own = pdf(html)
    except InputError:
        return None
    return True if own == content else False if fonts_in(own) == fonts_in(content) else None


def against_code(data: Mapping[str, Any], code: Path, folder: Path | None = None) -> tuple[list[str], str]:
    """Audited files that changed, others beside them that could take their place, and how many of all are here.

    code: the folder of the plan. folder: that of the run, which says what lay beside what was imported.
    """
    wrong, here, every, code = [], 0, 0, code.resolve()
    for part in data["parts"]:
        kept = folder / KEPT / f"{part['id']}.json" if folder else None
        imported = json.loads(kept.read_text(encoding="utf-8"))["imported"] if kept and kept.is_file() else None
        now = code_files(Collected.from_json(part).part, code, () if imported else None)
        every += len(part["files"])
        for name, digest in part["files"].items():
            file = now.get(name) or code / name  # what code was seen to import is under its path
            if file.is_file():
                here += 1
                if sha256_of(file) != digest:
                    wrong.append(f"{name}: is not the file that part {part['id']} examined")
        new = [name for name in now if name not in part["files"]]
        for place, names in (imported["beside"] if imported else {}).items():
            there = importable(code / place) if (code / place).is_dir() else []
            new += [(Path(place) / name).as_posix() for name in there if name not in names]
        wrong += [f"{name}: was not there when part {part['id']} was examined" for name in new]
    return wrong, f"{here} of {every} audited files are here"
