"""Runs the parts of a plan in turn, and keeps what is finished as long as it is valid."""

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from ....models.digests import EXAMINING, code_digest, sha256_of
from ....models.errors import InputError, RunFailed, printable, printable_data
from ....models.store import Store
from ..settings import Progress
from .declared import declared_files, declared_versions, require_packages, undeclared
from .plan import DONE, FAILED, Collected, Part, Plan
from .running import RUNNERS

PARTS, PARTS_HOLD = "parts.jsonl", "the parts of a compliance plan"
"""Name of the file of finished parts, and what its rows are of."""

LOG = logging.getLogger(__name__)


def collect(plan: Plan, folder: Path, progress: Progress = lambda stage, done, total: None) -> Iterator[Collected]:
    """Yield each part of the plan in turn. A part that ended is in the folder before it is yielded.

    Guarantee: a part that is kept is not run again unless its fields, the files and packages that it names,
    draftproof's code or the versions in use changed; what failed, or names something without a digest, is run again.
    Raises: KeyboardInterrupt; what was finished before is kept.
    """
    if (folder / "parts").is_dir():
        LOG.warning("%s: an older version wrote it; every part is examined again; remove it", folder / "parts")
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
                got = _run(got, plan, folder / f"{part.id}.{key[1][:12]}.checkpoint", _of_part(progress, part))
                now = _declaring(part, plan.folder, declared_files(part, plan.folder))
                names = [name for name, digest in now.files.items() if got.files.get(name) != digest]
                names += [
                    name for name, file in before.items() if file.stat().st_mtime_ns > began and name not in names
                ]
                if names and got.state == DONE:
                    got.state, got.why = FAILED, f"{', '.join(names[:3])} changed while it ran"
                known = got.stored(code).row
                store.put(key, known)
                if got.state == DONE or part.kind == "server":  # by the next run another server may be there
                    for ended in folder.glob(f"{part.id}.*.checkpoint"):
                        ended.unlink()
            keys.append(key)
            yield Collected.from_json(known)
        store.keep(keys)


def _declaring(part: Part, folder: Path, named: Mapping[str, Path]) -> Collected:
    digests = {name: sha256_of(file) for name, file in named.items()}
    return Collected(part, files=digests, versions=declared_versions(part, folder))


def _of_part(progress: Progress, part: Part) -> Progress:
    return lambda stage, done, total: progress(f"{part.id}: {stage}", done, total)


def _run(got: Collected, plan: Plan, checkpoint: Path, progress: Progress) -> Collected:
    """Run one part; what goes wrong with it is in the result. Raises: KeyboardInterrupt."""
    part = got.part
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
