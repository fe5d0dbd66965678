"""Recorded steps over nights: every shard is bet on once, and what changed or is gone is named."""

import time
from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import numpy as np

from .... import __version__
from ....models.recorded_steps import Recording
from ....verifiers.conditional.rules import RULES
from ....verifiers.conditional.tree_rules import on_chains
from ....verifiers.evidence import Witness
from ..replay import command_line
from ..settings import Progress
from ..steps.bets import Against
from ..steps.progress import digest_of, found_in
from ..steps.shard import Shown
from ..steps.witness import witness_of
from .history import History
from .states import ALARM, check_states
from .steps_checks import FOLLOWS_RULE, StepsCheck, steps_checks

PREFIX = "steps:"
"""What the name of a subject begins with whose recorded steps are judged."""


def version_of(recording: Recording) -> str:
    """Return the version of what was recorded: a recording with another header begins new e-processes."""
    header = recording.header
    names = (header.engine, header.engine_version, header.device, header.dtype, header.rule)
    return " ".join(part for part in (*names, f"sha256:{recording.digest}") if part)


class Shards(NamedTuple):
    """A recording's shards in a history. checks: by id. known: id -> digest -> name of those that each has."""

    checks: dict[int, StepsCheck]
    known: dict[int, dict[str, str]]

    @property
    def names(self) -> dict[str, str]:
        """Return the digest of each shard that was judged, by its name."""
        return {name: digest for shards in self.known.values() for digest, name in shards.items()}


def judge_night(
    history: History, subject: str, date: str, progress: Progress, failures: list[dict[str, str]]
) -> list[int]:
    """Judge the shards of a recording that are new since the last night, and explain its alarms; the ids of its checks.

    A shard is recorded with its digest for each check at once with its effect, so that a killed run goes on. One that
    changed is named and not judged again, since its steps would count twice. One that is gone is named.
    failures: gets a line for each.
    Raises: InputError if the folder is no recording.
    """
    recording = Recording.open(subject.removeprefix(PREFIX))
    version, wanted = version_of(recording), steps_checks(recording)
    numbers = history.enrol(subject, version, wanted)
    shards = Shards(dict(zip(numbers, wanted)), history.shards(numbers))
    before = shards.names
    present = {path.name: digest_of(path) for path in recording.shards}
    for name in sorted(before.keys() - present.keys()):
        failures.append(_failure(subject, "gone", f"{name} was judged and is missing; its results stay"))
    shown, gains = list[Shown](), dict[int, np.ndarray]()
    for at, path in enumerate(recording.shards):
        progress(subject, at, len(recording.shards))
        digest = present[path.name]
        if before.get(path.name, digest) != digest:
            failures.append(_failure(subject, "changed", f"{path.name} changed since it was judged; its steps do not "
                                     "count twice"))  # fmt: skip
            continue
        left = [number for number in numbers if digest not in shards.known[number]]
        if not left:
            continue
        began = time.perf_counter()
        found = found_in(recording, recording.header.rule, 0, path)
        failures += [_failure(subject, "shard", error) for error in found.errors]
        if not found.counts:
            continue
        shown += found.shown
        about = {"draftproof": __version__, "shard": path.name}
        for number in left:
            counts = shards.checks[number].counts(found)
            history.record(number, shards.checks[number], date, digest, counts, time.perf_counter() - began, about)
            shards.known[number][digest] = path.name
            gains[number] = gains.get(number, 0.0) + counts.counts
    _explain(history, subject, version, date, recording, shards, shown, gains)
    return numbers


def _failure(subject: str, kind: str, message: str) -> dict[str, str]:
    return {"subject": subject, "kind": kind, "message": message}


def _explain(
    history: History, subject: str, version: str, date: str, recording: Recording, shards: Shards,
    shown: list[Shown], gains: Mapping[int, np.ndarray],
) -> None:  # fmt: skip
    """Note the alarms of a recording, each with what this night's shards show of it."""
    rows = {row.id: row for row in history.rows(subject, version)}
    states = check_states(rows.values(), history.lifetime_alpha)
    for number, check in shards.checks.items():
        if states[number].name != ALARM or (rows[number].alarm and rows[number].witness):
            continue
        witness = None
        if number in gains:
            likeliest = check.gamblers[int(np.argmax(gains[number]))]
            witness = Witness(
                sequence=f"{rows[number].draws:,} of what was recorded", expected="no bet that wins on average",
                observed=f"e^{gains[number].max():.1f} times as likely tonight under: {likeliest}",
            )  # fmt: skip
            if check.name == FOLLOWS_RULE and shown:
                law = RULES[on_chains(recording.header.rule)]
                step = min(shown, key=lambda s: -s.gain)
                words = f"less often, under {law.title}, than: {likeliest}"
                words = f"never, under {law.title}" if step.gain == inf else words
                witness = witness_of(recording, step, words, Against(recording.header.rule, [], []))
        replay = command_line("steps", str(recording.folder))
        history.note_alarm(number, date, {**witness.as_json(), "replay": replay} if witness else None)
