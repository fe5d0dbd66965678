"""How each kind of part is run or read, a function for each."""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....models.errors import InputError, printable_data
from ....models.json_files import read_file
from ....models.problem import Made, any_problem_from, load_problem, problem_from
from ....proofs.statements import METHODS, standing
from ..nightly.status import is_history, status
from ..report import Report
from ..report_form import in_this_version
from ..settings import Progress
from .contradictions import untrue
from .declared import place
from .plan import Collected, Part

if TYPE_CHECKING:
    from ..subject import SubjectSpec


def _placed(name: str, folder: Path) -> str:
    """Return a path of the plan as seen from the current folder; a name that is no file is returned unchanged."""
    path, colon, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
    file = place(path, folder)
    return f"{file}{colon}{attribute}" if os.path.exists(file) else name


def _problem(name: str, folder: Path, make: Callable[[Any, str], Made]) -> Made:
    """Return a problem of the plan, under the name that it has there."""
    loaded = load_problem(_placed(name, folder), make)
    return replace(loaded, name=name) if loaded.name == _placed(name, folder) else loaded


def _settings(part: Part) -> dict[str, Any]:
    """Return a part's fields without those that only say which files it depends on."""
    return {name: value for name, value in part.options.items() if name != "files"}


def audited_spec(part: Part, folder: Path) -> "SubjectSpec":
    """Return what an audit of a plan examines, under the name that it has in the plan."""
    from ..subject import program_from, subject_from

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
    from ..settings import AuditSettings

    of_subject = ("exec", "subject", "array", "dtypes")
    options = {name: value for name, value in _settings(got.part).items() if name not in of_subject}
    problems = [_problem(p, folder, any_problem_from) for p in options.pop("problems", ())]
    got.report = run_audit(
        audited_spec(got.part, folder), AuditSettings(problems=problems, progress=progress, **options)
    ).as_json()


def _engine(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..engines.audit import audit_engine, engine_from

    options = _settings(got.part)
    engine = engine_from(_placed(options.pop("engine"), folder))
    problems = [_problem(p, folder, problem_from) for p in options.pop("problems", ())]
    got.report = audit_engine(engine, problems, progress=progress, **options).as_json()


def _server(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ..servers.audit import audit_server
    from ..servers.settings import ServerSettings

    options = dict(got.part.options)
    url, target, seed = options.pop("url"), _placed(options.pop("target"), folder), options.pop("seed", 0)
    settings = ServerSettings(key=os.environ.get("OPENAI_API_KEY"), checkpoint=str(checkpoint), **options)
    got.report = audit_server(url, target, settings, seed, progress).as_json()


def _nightly(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    if "file" in got.part.options:
        history = printable_data(read_file(dict, folder / got.part.options["file"]))
        if not is_history(history):
            raise InputError(f"{got.part.options['file']}: not a nightly history (draftproof nightly status --json)")
        got.history = history
        return
    from ..nightly.history import History

    with closing(History.read(_placed(got.part.options["db"], folder))) as history:
        got.history = status(history)


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
    from ..subject import subject_from

    options = _settings(got.part)
    name, dtype = options.pop("subject"), options.pop("dtype", "float64")
    spec = subject_from(_placed(name, folder), options.pop("array", None), (dtype,))
    problem = _problem(options.pop("problem"), folder, problem_from)
    settings = CampaignSettings(checkpoint=str(checkpoint), **options)
    got.report = audit_by_campaign(spec, problem, settings, progress).as_json()


def _report(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    file = got.part.options["file"]
    data = printable_data(read_file(dict, folder / file))
    try:
        report = Report.from_json(data)
        if wrong := next(untrue(in_this_version(data), report, ("verdict",)), None):
            raise InputError(f"{file}: {wrong}")
        got.report = report.as_json()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{file}: not a report of draftproof") from None


def _proofs(got: Collected, folder: Path, checkpoint: Path, progress: Progress) -> None:
    from ....proofs.proving import all_proofs, run

    claims, methods = got.part.options.get("claims", ()), got.part.options.get("methods", METHODS)
    if not got.part.options.get("run"):
        got.recorded, got.proofs = True, on_record(got.part.options)
        return
    proofs = all_proofs(claims, methods)
    got.proofs = []
    for number, row in enumerate(run(proofs), 1):
        got.proofs.append(row._asdict())
        progress(f"{row.claim} by {row.method}", number, len(proofs))


def on_record(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows on record in this version that a part of proofs asks for."""
    claims, methods = options.get("claims", ()), options.get("methods", METHODS)
    return [row for row in standing() if (not claims or row["claim"] in claims) and row["method"] in methods]


RUNNERS: dict[str, Callable[[Collected, Path, Path, Progress], None]] = {
    "audit": _audit, "engine": _engine, "server": _server, "nightly": _nightly, "e2e": _e2e, "campaign": _campaign,
    "report": _report, "proofs": _proofs,
}  # fmt: skip
