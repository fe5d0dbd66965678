"""A night: fresh draws of every check of every subject, each recorded by itself; after an alarm, its witness."""

import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....models.errors import InputError, RunFailed
from ....models.problem import Problem
from ....proofs.sandbox import MEMORY
from ....verifiers.adapters.registry import ADAPTERS
from ....verifiers.registry import REFERENCES
from ..functions.settings import Progress
from ..functions.subject import SubjectSpec
from .checks import Check, check_of, nightly_problems
from .history import History
from .sources import DrawSource, source_of
from .status import status
from .verdicts import ALARM, check_states
from .witness import smallest_witness


@dataclass
class Night:
    """What a night draws. samples: of each check. seed: of the whole night; fresh from the system if none is given.

    dtype: of the rows of foreign functions, float64 or float32 (in half precision rounding itself would be seen).
    subject_version: what the foreign function's owner calls its version.
    """

    date: str
    samples: int
    seed: int | None = None
    problems: Sequence[Problem] = ()
    dtype: str = "float64"
    timeout: float = 300.0
    memory: float = MEMORY
    subject_version: str | None = None
    progress: Progress = field(default=lambda what, done, of: None)


class _Done(NamedTuple):
    """The checks drawn from now, and those that the same seed drew before."""

    drawn: list[int]
    resumed: list[int]


def default_subjects() -> list[str]:
    """All that is installed: the reference verifiers, and the adapters whose packages are there."""
    return [*REFERENCES, *(name for name, adapter in ADAPTERS.items() if not adapter.missing())]


def run_night(history: History, subjects: Sequence[SubjectSpec], night: Night) -> dict[str, Any]:
    """Draw, record, search for witnesses; the history afterwards, in the JSON form of ``status``.

    Every check is recorded by itself: an interruption loses at most the one in progress, and a second run of the same
    night adds its draws to the first's. With a seed it goes on where the first one ended instead: what the seed drew
    that night is not drawn again ("resumed"), and the history ends as if nothing had been interrupted. What goes wrong
    with one subject is told as a failure and does not keep the others from being drawn.
    Raises: InputError for problems that are too large, when the database complains, and if the seed was used for
    another number of samples that night.
    """
    problems = list(night.problems) or nightly_problems()
    failures: list[dict[str, str]] = []
    done = _Done([], [])
    for k, subject in enumerate(subjects):
        night.progress(subject.name, k * len(problems), len(subjects) * len(problems))
        try:
            source = source_of(subject, night.dtype, night.timeout, night.memory, night.subject_version)
        except RunFailed as failure:
            failures.append({"subject": subject.name, "kind": failure.kind, "message": str(failure)})
            continue
        try:
            steps = k * len(problems), len(subjects) * len(problems)
            _draw_all(history, subject, source, problems, night, steps, done)
        except RunFailed as failure:
            failures.append({"subject": subject.name, "kind": failure.kind, "message": str(failure)})
        finally:
            source.close()
    report = status(history, failures)
    return {**report, "night": night.date, **done._asdict()}


def _draw_all(history, subject: SubjectSpec, source: DrawSource, problems, night: Night, steps, done: _Done) -> None:
    found = [check_of(problem, source.modifies_target) for problem in problems]
    checks = list({check.parameters: check for check in found}.values())
    numbers = history.enrol(subject.name, source.version, checks)
    for k, (number, check) in enumerate(zip(numbers, checks)):
        night.progress(f"{subject.name} on {check.name}", steps[0] + k, steps[1])
        seed = _seed(night, subject.name, source.version, check.name, check.parameters)
        before = history.draws_of(number, seed) if night.seed is not None else 0
        if before:
            if before != night.samples:
                raise InputError(
                    f"{subject.name}, {check.name}: seed {night.seed} drew {before:,} for {night.date}, and the same "
                    f"draws cannot count twice; expected --samples {before} to go on, another --seed, or none"
                )
            done.resumed.append(number)
            continue
        began = time.perf_counter()
        counted = check.tally(source.draw(check.problem, night.samples, seed), seed)
        history.record(number, check, night.date, seed, counted, time.perf_counter() - began, source.environment)
        done.drawn.append(number)
    _explain_alarm(history, subject, source, dict(zip(numbers, checks)), night)


def _explain_alarm(history: History, subject: SubjectSpec, source: DrawSource, checks: dict[int, Check], night) -> None:
    """Note the alarms of a version; if it has no witness yet, look for one, from its smallest check in alarm.

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
        found = smallest_witness(subject, source, checks[number], night.samples, seed, night.dtype)
        if found:
            history.note_alarm(number, night.date, found)


def _seed(night: Night, *what: str) -> int:
    """A seed for one batch: from the system, or derived from the night's seed, its date, and what is drawn."""
    if night.seed is None:
        return secrets.randbits(62)
    told = json.dumps([night.seed, night.date, *what])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big") >> 2
