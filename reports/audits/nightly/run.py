"""Runs a night: fresh draws of every check of every subject, recorded one by one; after an alarm, its witness."""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from ....models.errors import InputError, RunFailed
from ....models.libraries import means_no_memory, reason
from ....models.problem import Problem
from ....proofs.sandbox import MEMORY
from ....verifiers.adapters.registry import ADAPTERS
from ....verifiers.registry import REFERENCES
from ..settings import Progress
from ..subject import SubjectSpec
from .checks import NightlyCheck, check_of, nightly_problems
from .history import History
from .recorded import judge_night
from .sources import DrawSource, source_of
from .states import ALARM, check_states
from .status import status
from .witness import smallest_witness


@dataclass
class Night:
    """A set of the settings of a night.

    date: the night that the draws count for
    samples: draws of each check
    seed: of the whole night; fresh from the system if None
    problems: of the checks; ``nightly_problems`` if there are none
    dtype: of the rows of third-party functions, float64 or float32 (half precision itself would count as a deviation)
    timeout, memory: limits of the sandbox, seconds and GiB
    subject_version: what the third-party function's owner calls its version
    progress: called with the stage, the checks done and their total
    """

    date: str
    samples: int
    seed: int | None = None
    problems: Sequence[Problem] = ()
    dtype: str = "float64"
    timeout: float = 300.0
    memory: float = MEMORY
    subject_version: str | None = None
    progress: Progress = field(default=lambda stage, done, total: None)


def default_subjects() -> list[str]:
    """Return the reference verifiers, and the installed adapters that take a night's float64 rows.

    Engines that are unpacked have to be named.
    """
    usable = (name for name, one in ADAPTERS.items() if not one.engines and "float64" in one.dtypes)
    return [*REFERENCES, *(name for name in usable if not ADAPTERS[name].missing())]


def run_night(history: History, subjects: Sequence[SubjectSpec | str], night: Night) -> dict[str, Any]:
    """Draw, record, search for witnesses; return the history afterwards, in the JSON form of ``status``.

    Every check is recorded separately: an interruption loses at most the one in progress, and a second run of the same
    night adds its draws to the first's. With a seed it goes on where the first one ended instead: what the seed drew
    that night is not drawn again ("resumed"), and the history ends as if nothing had been interrupted. What goes wrong
    with one subject is reported as a failure, and the others are drawn all the same.
    subjects: verifiers; a text is the name of a recording, "steps:FOLDER", whose new shards are judged.
    Raises: InputError for problems that are too large, when the database complains, and if the seed was used for
    another number of samples that night.
    """
    problems = list(night.problems) or nightly_problems()
    failures: list[dict[str, str]] = []
    done: dict[str, list[int]] = {"drawn": [], "resumed": []}
    for place, subject in enumerate(subjects):
        first = place * len(problems)

        def progress(stage: str, at: int = 0, first: int = first) -> None:
            night.progress(stage, first + at, len(subjects) * len(problems))

        if isinstance(subject, str):
            done["drawn"] += judge_night(history, subject, night.date, night.progress, failures)
            continue
        try:
            _draw_subject(history, subject, problems, night, progress, done)
        except RunFailed as failure:
            failures.append({"subject": subject.name, "kind": failure.kind, "message": str(failure)})
        except Exception as error:
            if not means_no_memory(error):
                raise
            failures.append({"subject": subject.name, "kind": "memory", "message": reason(error)})
    return {**status(history, failures), "night": night.date, **done}


def _draw_subject(
    history: History, subject: SubjectSpec, problems: Sequence[Problem], night: Night, progress: Callable[..., None],
    done: dict[str, list[int]],
) -> None:  # fmt: skip
    """Draw every check of one subject, and explain its alarms. done: gets the checks drawn now, and before by the seed.

    Raises: RunFailed if the subject cannot be drawn from any more; what was recorded stays.
    """
    progress(subject.name)
    with closing(source_of(subject, night.dtype, night.timeout, night.memory, night.subject_version)) as source:
        different = {c.parameters: c for c in (check_of(p, source.modifies_target) for p in problems)}.values()
        checks = dict(zip(history.enrol(subject.name, source.version, list(different)), different))
        for at, (number, check) in enumerate(checks.items()):
            progress(f"{subject.name} on {check.name}", at)
            done[_draw(history, subject, source, number, check, night)].append(number)
        _explain_alarm(history, subject, source, checks, night)


def _draw(
    history: History, subject: SubjectSpec, source: DrawSource, number: int, check: NightlyCheck, night: Night
) -> str:
    """Draw for one check and record it, unless the night's seed did so before; return "drawn" or "resumed"."""
    seed = _seed(night, subject.name, source.version, check.name, check.parameters)
    before = history.draws_of(number, seed) if night.seed is not None else 0
    if before:
        if before != night.samples:
            raise InputError(
                f"{subject.name}, {check.name}: seed {night.seed} drew {before:,} for {night.date}, and the same "
                f"draws cannot count twice; expected --samples {before} to continue, another --seed, or none"
            )
        return "resumed"
    began = time.perf_counter()
    counts = check.tally(source.draw(check.problem, night.samples, seed), seed)
    history.record(number, check, night.date, seed, counts, time.perf_counter() - began, source.environment)
    return "drawn"


def _explain_alarm(
    history: History, subject: SubjectSpec, source: DrawSource, checks: dict[int, NightlyCheck], night: Night
) -> None:
    """Note the alarms of a version. If it has no witness yet, look for one, from its smallest check in alarm.

    A search whose draws do not show the deviation again is repeated with the next night's.
    """
    rows = history.rows(subject.name, source.version)
    states = check_states(rows, history.lifetime_alpha)
    alarmed = [number for number in checks if number in states and states[number].name == ALARM]
    for number in alarmed:
        history.note_alarm(number, night.date, None)
    if alarmed and not any(row.witness for row in rows):
        night.progress(f"alarm: looking for the smallest witness of {subject.name}", 0, 1)
        number = min(alarmed, key=lambda number: len(checks[number].cells))
        seed = _seed(night, subject.name, source.version, "witness")
        witness = smallest_witness(subject, source, checks[number], night.samples, seed, night.dtype)
        if witness:
            history.note_alarm(number, night.date, witness)


def _seed(night: Night, *parts: str) -> int:
    """Return a seed for one batch: from the system, or from the night's seed, its date, and what is drawn."""
    if night.seed is None:
        return secrets.randbits(62)
    text = json.dumps([night.seed, night.date, *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 2
