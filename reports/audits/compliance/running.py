"""How each kind of part is run or read, a function for each."""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .... import __version__
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
from .plan import Part

if TYPE_CHECKING:
    from ..subject import SubjectSpec


class Job(NamedTuple):
    """A part that is run. folder: that of the plan. checkpoint: where an interrupted run is kept."""

    part: Part
    folder: Path
    checkpoint: Path
    progress: Progress

    @property
    def settings(self) -> dict[str, Any]:
        """Return the part's fields without those that only say which files it depends on; its problems loaded."""
        settings = {name: value for name, value in self.part.options.items() if name != "files"}
        for name in ("target", "draft", "prompts"):
            if name in settings:
                settings[name] = placed(settings[name], self.folder)
        return settings

    def problem(self, name: str, make: Callable[[Any, str], Made] = problem_from) -> Made:
        """Return a problem of the plan, under the name that it has there."""
        loaded = load_problem(placed(name, self.folder), make)
        return replace(loaded, name=name) if loaded.name == placed(name, self.folder) else loaded


def placed(name: str, folder: Path) -> str:
    """Return a path of the plan as seen from the current folder; a name that is no file is returned unchanged."""
    path, colon, attribute = name.rpartition(":") if ".py:" in name else (name, "", "")
    file = place(path, folder)
    return f"{file}{colon}{attribute}" if os.path.exists(file) else name


def audited_spec(part: Part, folder: Path) -> "SubjectSpec":
    """Return what an audit of a plan examines, under the name that it has in the plan."""
    from ..subject import program_from, subject_from

    options = part.options
    if "exec" in options:
        return program_from(" ".join(placed(word, folder) for word in options["exec"].split(" ")))
    name, target = options["subject"], placed(options["subject"], folder)
    spec = subject_from(target, options.get("array"), tuple(options.get("dtypes", ())))._replace(name=name)
    return spec if spec.reference or spec.target != target else spec._replace(source=name)


def _audit(job: Job) -> Report:
    from ..functions.audit import run_audit
    from ..settings import AuditSettings

    of_subject = ("exec", "subject", "array", "dtypes")
    options = {name: value for name, value in job.settings.items() if name not in of_subject}
    problems = [job.problem(name, any_problem_from) for name in options.pop("problems", ())]
    settings = AuditSettings(problems=problems, progress=job.progress, **options)
    return run_audit(audited_spec(job.part, job.folder), settings)


def _engine(job: Job) -> Report:
    from ..engines.audit import audit_engine, engine_from

    options = job.settings
    engine = engine_from(placed(options.pop("engine"), job.folder))
    return audit_engine(engine, [*map(job.problem, options.pop("problems", ()))], progress=job.progress, **options)


def _server(job: Job) -> Report:
    from ..servers.audit import audit_server
    from ..servers.settings import ServerSettings

    options = job.settings
    url, target, seed = options.pop("url"), options.pop("target"), options.pop("seed", 0)
    settings = ServerSettings(key=os.environ.get("OPENAI_API_KEY"), checkpoint=str(job.checkpoint), **options)
    return audit_server(url, target, settings, seed, job.progress)


def _e2e(job: Job) -> Report:
    from ..loops.options import LoopOptions
    from ..loops.run import run_e2e

    options = job.settings
    if "gamma" in options:
        options["gamma"] = str(options["gamma"])
    return run_e2e(LoopOptions(**options), job.progress)


def _campaign(job: Job) -> Report:
    from ..campaigns.run import CampaignSettings, audit_by_campaign
    from ..subject import subject_from

    options = job.settings
    name, dtype = options.pop("subject"), options.pop("dtype", "float64")
    spec = subject_from(placed(name, job.folder), options.pop("array", None), (dtype,))
    problem = job.problem(options.pop("problem"))
    settings = CampaignSettings(checkpoint=str(job.checkpoint), **options)
    return audit_by_campaign(spec, problem, settings, job.progress)


def _report(job: Job) -> Report:
    file = job.part.options["file"]
    data = printable_data(read_file(dict, job.folder / file))
    try:
        report = Report.from_json(data)
        fields = ("verdict", "scope") if report.environment.get("draftproof") == __version__ else ("verdict",)
        if wrong := next(untrue(in_this_version(data), report, fields), None):
            raise InputError(f"{file}: {wrong}")
        return report
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{file}: not a report of draftproof") from None


def _nightly(job: Job) -> dict[str, Any]:
    options = job.part.options
    if "db" in options:
        from ..nightly.history import History

        with closing(History.read(placed(options["db"], job.folder))) as history:
            return status(history)
    data = read_file(dict, job.folder / options["file"])
    if not is_history(data):
        raise InputError(f"{options['file']}: not a nightly history (draftproof nightly status --json)")
    return data


def _proofs(job: Job) -> list[dict[str, Any]]:
    from ....proofs.proving import all_proofs, run

    options, rows = job.part.options, []
    if not options.get("run"):
        return on_record(options)
    proofs = all_proofs(options.get("claims", ()), options.get("methods", METHODS))
    for number, row in enumerate(run(proofs), 1):
        rows.append(row._asdict())
        job.progress(f"{row.claim} by {row.method}", number, len(proofs))
    return rows


def on_record(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows on record in this version that a part of proofs asks for."""
    claims, methods = options.get("claims", ()), options.get("methods", METHODS)
    return [row for row in standing() if (not claims or row["claim"] in claims) and row["method"] in methods]


RUNNERS: dict[str, Callable[[Job], Any]] = {
    "audit": _audit, "engine": _engine, "server": _server, "nightly": _nightly, "e2e": _e2e, "campaign": _campaign,
    "report": _report, "proofs": _proofs,
}  # fmt: skip
"""What runs each kind of part: it returns a report, a history in its JSON form, or rows of proofs."""
