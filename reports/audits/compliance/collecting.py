"""Runs the parts of a plan in turn, and keeps what is finished as long as it is valid."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ....models.digests import EXAMINING, code_digest, sha256_of
from ....models.errors import InputError, RunFailed, printable, printable_data
from ....models.json_files import plain
from ....models.store import Store
from ..report import Report
from ..settings import Progress
from .declared import declared_files, declared_versions, require_packages, undeclared
from .plan import DONE, FAILED, Collected, Part, Plan
from .running import RUNNERS, Job

PARTS = "parts.jsonl"
"""Name of the file of finished parts."""

PARTS_HOLD = "the parts of a compliance plan"
"""Name that the file of parts gives to its rows."""


def collect(plan: Plan, folder: Path, progress: Progress = lambda stage, done, total: None) -> Iterator[Collected]:
    """Yield each part of the plan in turn. A part that ended is in the folder before it is yielded.

    Guarantee: a finished part is run again only if its fields, the files and packages that it names, draftproof's code
    or the versions in use changed. What failed, or names something without a digest, is always run again.
    Raises: KeyboardInterrupt; what was finished before is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    code = code_digest(EXAMINING)
    with Store(folder / PARTS, PARTS_HOLD) as store:
        keys = []
        for number, part in enumerate(plan.parts):
            progress(f"{part.id}: {part.what}", number, len(plan.parts))
            began, before = time.time_ns(), declared_files(part, plan.folder)
            got = _declaring(part, plan.folder, before)
            key, _, _ = got.stored(code)
            known = store.rows.get(key)
            if known is None or known["state"] != DONE or undeclared(part, plan.folder):
                checkpoint = folder / f"{part.id}.{key[1][:12]}.checkpoint"
                _run(got, Job(part, plan.folder, checkpoint, _of_part(progress, part)))
                now = _declaring(part, plan.folder, declared_files(part, plan.folder)).files
                changed = [name for name, digest in now.items() if got.files.get(name) != digest]
                changed += [name for name, file in before.items() if file.stat().st_mtime_ns > began]
                if changed and got.state == DONE:
                    named = [*dict.fromkeys(changed)][:3]
                    got.state, got.why = FAILED, f"{', '.join(named)} changed while it ran"
                known = got.stored(code).row
                store.put(key, known)
                if got.state == DONE or part.kind == "server":  # by the next run another server may be there
                    for ended in folder.glob(f"{part.id}.*.checkpoint"):
                        ended.unlink()
            keys.append(key)
            yield Collected.read(known)
        store.keep(keys)


def _declaring(part: Part, folder: Path, named: Mapping[str, Path]) -> Collected:
    digests = {name: sha256_of(file) for name, file in named.items()}
    return Collected.of(part, files=digests, versions=declared_versions(part, folder))


def _of_part(progress: Progress, part: Part) -> Progress:
    return lambda stage, done, total: progress(f"{part.id}: {stage}", done, total)


def _run(got: Collected, job: Job) -> None:
    """Run one part; what goes wrong with it is in the result. Raises: KeyboardInterrupt."""
    gave: Any = None
    try:
        require_packages(job.part)
        gave = RUNNERS[got.kind](job)
    except (InputError, RunFailed) as error:
        got.state, got.why = FAILED, " ".join(str(error).split())
    if isinstance(gave, Report):
        got.report = printable_data(plain(gave.as_json())) | {"standing": []}  # that of the proofs is a part of its own
        if gave.interrupted and got.kind != "report":
            raise KeyboardInterrupt
        if gave.failure:
            got.state, got.why = FAILED, gave.failure["message"]
    elif isinstance(gave, dict):
        got.history = printable_data(gave)
        got.why = "; ".join(f"{f['subject']}: {f['message']}" for f in gave["failures"]) or None
    elif gave is not None:
        got.proofs, got.recorded = gave, got.kind == "proofs" and not got.options.get("run")
    got.why = printable(got.why) if got.why else None
