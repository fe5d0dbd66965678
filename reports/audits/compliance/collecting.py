"""Running the parts of a plan, one after the other; what is finished is kept, and not run again while nothing changed."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....models.environment import versions
from ....models.errors import InputError, RunFailed
from ....models.files import write_atomically
from ....models.printable import printable, printable_data
from ....models.problem import Made, any_problem_from, load_problem, problem_from
from ....proofs.paper_mapping import standing
from ....proofs.proof_checkpoint import code_digest
from ....proofs.statements import METHODS
from ..functions.settings import Progress
from ..nightly.verdicts import ALARM, STATE_MEANINGS, worst_state
from ..report import Report
from .code_files import all_files_are_known, code_files, name_of, packages_of, sha256_of
from .imported_code import ImportedCode, imported_code
from .needed import require_packages
from .plan import PART_FIELDS, Part, Plan
from .strength import contradicts_itself

if TYPE_CHECKING:
    from ..functions.subject import SubjectSpec

DONE, FAILED = "done", "failed"
KEPT = "parts"
"""The folder of finished parts."""


@dataclass
class Collected:
    """What a part gave.

    part: of the plan.
    state: done, or failed: it could not be run, or not to its end.
    why: the reason if it failed, in one line.
    report: the JSON form of an audit, an engine's, an end-to-end run's, a campaign's.
    history: of a nightly, in the JSON form of its status.
    rows: of proofs, as ``draftproof prove --json``; recorded: whether they are those on record, not run now.
    files: name -> SHA-256 of the files that it examined.
    modules: files of the modules that its code was seen to import; None where that is not known. Not in the JSON form.
    """

    part: Part
    state: str = DONE
    why: str | None = None
    report: dict[str, Any] | None = None
    history: dict[str, Any] | None = None
    rows: list[dict[str, Any]] | None = None
    recorded: bool = False
    files: dict[str, str] = field(default_factory=dict)
    modules: set[str] | None = None

    def as_json(self) -> dict[str, Any]:
        gave = {"report": self.report, "history": self.history, "proofs": self.rows}
        return {
            "id": self.part.id, "kind": self.part.kind, "what": self.part.what, "options": self.part.options,
            "state": self.state, "why": self.why, "recorded": self.recorded, "files": self.files,
            **{name: value for name, value in gave.items() if value is not None},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Collected":
        part = Part(data["id"], data["kind"], data["options"])
        gave = (data.get("report"), data.get("history"), data.get("proofs"))
        return cls(part, data["state"], data["why"], *gave, data["recorded"], data["files"])


def collect(plan: Plan, folder: Path, progress: Progress = lambda stage, done, total: None) -> Iterator[Collected]:
    """Each part of the plan, in turn. What ended is in ``folder``/parts before it is given out.

    Guarantee: a part that is kept is not run again unless its fields, its files, draftproof's code or the versions in use
    changed; what failed is run again, and so is whatever can depend on files that are not known.
    Raises: KeyboardInterrupt; what was finished before is kept.
    """
    (folder / KEPT).mkdir(parents=True, exist_ok=True)
    code = code_digest()
    for number, part in enumerate(plan.parts):
        progress(f"{part.id}: {part.what}", number, len(plan.parts))
        kept = folder / KEPT / f"{part.id}.json"
        known = _kept(kept, part, plan.folder, code)
        if known is None:
            began, (first, before) = time.time_ns(), _key(part, plan.folder, code, None)
            known = _run(part, plan, kept.with_suffix(f".{first['key'][:12]}.checkpoint"), _of_part(progress, part))
            imported = imported_code(known.modules)
            key, named = _key(part, plan.folder, code, imported)
            known.files = {name: digest for name, (digest, _) in named.items()}
            changed = [name for name, now in named.items() if before.get(name, now) != now or now[1] > began]
            if changed and known.state == DONE:
                known.state, known.why = FAILED, f"{', '.join(changed[:3])} changed while it ran"
            seen = imported and {"files": [name_of(Path(file), plan.folder) for file in imported.files],
                                 "packages": imported.packages, "beside": imported.beside(plan.folder)}  # fmt: skip
            made = {**key, "imported": seen, "part": known.as_json(), "sha256": _digest(known.as_json())}
            content = kept_text(made)
            write_atomically(kept, content)
            if known.state == DONE or part.kind == "server":  # by the next run another server may be there
                for ended in kept.parent.glob(f"{part.id}.*.checkpoint"):
                    ended.unlink()
            known = Collected.from_json(json.loads(content)["part"])  # as it is when it is read again
        yield known


def _key(
    part: Part, folder: Path, code: str, imported: ImportedCode | None
) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """Everything that a part depends on besides its fields, as it is kept, and its files: name -> SHA-256, and when changed."""
    named = code_files(part, folder, imported.files if imported else None)
    files = {name: (sha256_of(file), file.stat().st_mtime_ns) for name, file in named.items()}
    digests = {name: digest for name, (digest, _) in files.items()}
    installed = versions(*packages_of(part), *(imported.packages if imported else ()))
    beside = imported.beside(folder) if imported else {}
    return {"key": key_of(part, digests, installed, code, beside), "installed": installed}, files


def key_of(
    part: Part, files: Mapping[str, str], installed: Mapping[str, str], code: str, beside: Mapping[str, Sequence[str]]
) -> str:
    """The digest of everything that a part depends on: while it is the same, what was kept of the part is not made again.

    files: name -> SHA-256. installed: versions of packages. code: the digest of draftproof's code.
    beside: folder -> what else could be imported from it.
    """
    about = [part.kind, part.options, files, installed, code, beside]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _of_part(progress: Progress, part: Part) -> Progress:
    return lambda stage, done, total: progress(f"{part.id}: {stage}", done, total)


def _kept(file: Path, part: Part, folder: Path, code: str) -> Collected | None:
    """What was kept of the same part, if it was finished, is as it was written, and nothing that it depends on changed."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        known, seen = Collected.from_json(data["part"]), data["imported"]
        imported = seen and ImportedCode(tuple(str(folder / name) for name in seen["files"]), tuple(seen["packages"]))
        if known.state != DONE or data["sha256"] != _digest(data["part"]):
            return None
        same = (
            all_files_are_known(part, folder, bool(imported))
            and data["key"] == _key(part, folder, code, imported)[0]["key"]
        )
        return known if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_again(plan: Plan, folder: Path) -> list[str]:
    """The parts that each run examines again, since not all files that they depend on are known, and ``files`` could say so."""
    names = []
    for part in plan.parts:
        try:
            imported = json.loads((folder / KEPT / f"{part.id}.json").read_text(encoding="utf-8"))["imported"]
        except (OSError, ValueError, KeyError, TypeError):
            imported = None
        if "files" in PART_FIELDS[part.kind] and not all_files_are_known(part, plan.folder, bool(imported)):
            names.append(part.id)
    return names


def kept_text(data: Any) -> str:
    """What is kept of a part, as the file's content; in the order in which it was made, which sentences follow."""
    return json.dumps(data, ensure_ascii=False) + "\n"


def _digest(part: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(part, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _run(part: Part, plan: Plan, checkpoint: Path, progress: Progress) -> Collected:
    """Run one part; what goes wrong with it is in the result. Raises: KeyboardInterrupt."""
    got = Collected(part)
    try:
        require_packages(part)
        RUNNERS[part.kind](got, plan.folder, checkpoint, progress)
    except (InputError, RunFailed) as error:
        got.state, got.why = FAILED, " ".join(str(error).split())
    got.report, got.history = printable_data(got.report), printable_data(got.history)
    if got.report:
        got.report["standing"] = []  # that of the proofs is a part of its own
    if got.report and got.report["failure"]:
        if got.report["failure"]["kind"] == "interrupted" and part.kind != "report":
            raise KeyboardInterrupt
        got.state, got.why = FAILED, got.report["failure"]["message"]
    if got.history and got.history["failures"]:
        got.why = "; ".join(f"{f['subject']}: {f['message']}" for f in got.history["failures"])
    got.why = printable(got.why) if got.why else got.why
    return got


def _placed(name: str, folder: Path) -> str:
    """A path of the plan, from where the command runs; what names no file stays as it is."""
    path, colon, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
    file = folder / Path(path).expanduser()
    return f"{file}{colon}{attribute}" if file.exists() else name


def _problem(name: str, folder: Path, make: Callable[[Any, str], Made]) -> Made:
    """A problem of the plan, by the name that it has there."""
    loaded = load_problem(_placed(name, folder), make)
    return replace(loaded, name=name) if loaded.name == _placed(name, folder) else loaded


def _settings(part: Part) -> dict[str, Any]:
    """Fields of a part, but for those that only say which files it depends on."""
    return {name: value for name, value in part.options.items() if name != "files"}


def audited_spec(part: Part, folder: Path) -> "SubjectSpec":
    """What an audit of a plan examines, by the name that it has in the plan."""
    from ..functions.subject import program_from, subject_from

    options = part.options
    if "exec" in options:
        return program_from(" ".join(_placed(word, folder) for word in options["exec"].split(" ")))
    name = options["subject"]
    spec = subject_from(_placed(name, folder), options.get("array"), tuple(options.get("dtypes", ())))._replace(
        name=name
    )
    ours = spec.reference or spec.target != _placed(name, folder)
    return spec if ours else spec._replace(source=name)


def _audit(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..functions.audit import run_audit
    from ..functions.settings import AuditSettings

    of_subject = ("exec", "subject", "array", "dtypes")
    options = {name: value for name, value in _settings(got.part).items() if name not in of_subject}
    problems = [_problem(p, folder, any_problem_from) for p in options.pop("problems", ())]
    made = run_audit(audited_spec(got.part, folder), AuditSettings(problems=problems, progress=progress, **options))
    got.report, got.modules = made.as_json(), made.modules


def _engine(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..engines.audit import audit_engine, engine_from

    options = _settings(got.part)
    engine = engine_from(_placed(options.pop("engine"), folder))
    problems = [_problem(p, folder, problem_from) for p in options.pop("problems", ())]
    made = audit_engine(engine, problems, progress=progress, **options)
    got.report, got.modules = made.as_json(), made.modules


def _server(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..servers.audit import audit_server
    from ..servers.settings import ServerSettings

    options = dict(got.part.options)
    url, target, seed = options.pop("url"), _placed(options.pop("target"), folder), options.pop("seed", 0)
    settings = ServerSettings(key=os.environ.get("OPENAI_API_KEY"), checkpoint=str(checkpoint), **options)
    got.report = audit_server(url, target, settings, seed, progress).as_json()


def _nightly(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    if "file" in got.part.options:
        got.history = _json_of(folder / got.part.options["file"])
        if not is_history(got.history):
            got.history = None
            raise InputError(f"{got.part.options['file']}: not a nightly history (draftproof nightly status --json)")
        return
    from ..nightly.history import History
    from ..nightly.status import status

    with closing(History.read(_placed(got.part.options["db"], folder))) as history:
        got.history = status(history)


def is_history(data: Any) -> bool:
    """Whether everything is there that is shown of a history, and its states are those of its numbers."""
    try:
        texts = [data["state"], *(f[name] for f in data["failures"] for name in ("subject", "message"))]
        numbers, nights = [data["lifetime_alpha"]], []
        for check in data["checks"]:
            texts += [check[name] for name in ("subject", "version", "check", "state")]
            numbers += [check[name] for name in ("log_e", "largest_log_e", "alarm_at", "watch_at", "draws")]
            nights += check["nights"]
            for limit in check["detects"]["within"] if check["detects"] else ():
                numbers += [limit["nights"], limit["total_variation"]]
            witness, impossible = check["witness"], check["impossible"]
            texts += [witness[name] for name in ("sequence", "expected", "observed", "replay") if witness]
            texts += [impossible["sequence"]] if impossible else []
            numbers += [impossible["count"]] if impossible else []
            if check["state"] not in STATE_MEANINGS or not isinstance(check["current"], bool):
                return False
            if check["state"] != ALARM and float(check["largest_log_e"]) > float(check["alarm_at"]):
                return False
        numbers += [night["log_e"] for night in nights]
        [datetime.fromisoformat(night["night"]) for night in nights]
        [float(number) for number in numbers]
        own = worst_state([check["state"] for check in data["checks"] if check["current"]])
        return data["state"] == own and all(isinstance(text, str) for text in texts)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _e2e(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..loops.options import LoopOptions
    from ..loops.run import run_e2e

    options = _settings(got.part)
    for name in ("target", "draft", "prompts"):
        if name in options:
            options[name] = _placed(options[name], folder)
    if "gamma" in options:
        options["gamma"] = str(options["gamma"])
    got.report = run_e2e(LoopOptions(**options), progress).as_json()


def _campaign(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..campaigns.run import CampaignSettings, audit_by_campaign
    from ..functions.subject import subject_from

    options = _settings(got.part)
    name, dtype = options.pop("subject"), options.pop("dtype", "float64")
    spec = subject_from(_placed(name, folder), options.pop("array", None), (dtype,))
    problem = _problem(options.pop("problem"), folder, problem_from)
    settings = CampaignSettings(checkpoint=str(checkpoint), **options)
    got.report = audit_by_campaign(spec, problem, settings, progress).as_json()


def _report(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    file = got.part.options["file"]
    data = _json_of(folder / file)
    try:
        report = Report.from_json(data)
        got.report = report.as_json()
        if not report.scoped:
            del got.report["scope"], got.report["not_examined"]
        _require_schema(got.report, file)
        if wrong := next(filter(contradicts_itself, report.evidence), None):
            raise InputError(f"{file}: holds on {wrong.problem}, and deviates by more than it allows")
        if report.verdict != data["verdict"]:
            raise InputError(f"{file}: says {data['verdict']}, and its evidence says {report.verdict}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        got.report = None
        raise error if isinstance(error, InputError) else InputError(f"{file}: not a report of draftproof") from None


def _require_schema(report: dict[str, Any], file: str) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((files("draftproof.reports.audits") / "report.schema.json").read_text(encoding="utf-8"))
    for error in Draft202012Validator(schema).iter_errors(report):
        raise InputError(f"{file}: not a report of draftproof: {error.json_path}: {error.message[:200]}")


def _proofs(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ....proofs.proving import all_proofs, run

    claims, methods = got.part.options.get("claims", ()), got.part.options.get("methods", METHODS)
    if not got.part.options.get("run"):
        got.recorded, got.rows = True, on_record(got.part.options)
        return
    proofs = all_proofs(claims, methods)
    got.rows = []
    for number, row in enumerate(run(proofs), 1):
        got.rows.append(row._asdict())
        progress(f"{row.claim} by {row.method}", number, len(proofs))


def on_record(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows on record in this version that a part of proofs asks for."""
    claims, methods = options.get("claims", ()), options.get("methods", METHODS)
    return [row for row in standing() if (not claims or row["claim"] in claims) and row["method"] in methods]


def _json_of(file: Path) -> Any:
    try:
        return printable_data(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON ({error})") from None


RUNNERS: dict[str, Callable[[Collected, Path, Path, Progress], None]] = {
    "audit": _audit, "engine": _engine, "server": _server, "nightly": _nightly, "e2e": _e2e, "campaign": _campaign,
    "report": _report, "proofs": _proofs,
}  # fmt: skip


def remove_kept_of_others(folder: Path, parts: Sequence[Part]) -> None:
    """Remove what was kept of parts that the plan does not have any more."""
    ids = {part.id for part in parts}
    for file in (folder / KEPT).glob("*.json"):
        if file.stem not in ids:
            file.unlink()
