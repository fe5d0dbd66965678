"""The state of each check of a history, by Holm's procedure within one lifetime error rate."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....stattests.eprocess import cohort_alpha, holm

if TYPE_CHECKING:  # it needs SQLAlchemy, which a compliance document does not
    from .history import CheckHistory

QUIET, WATCH, ALARM = "quiet", "watch", "alarm"

STATE_MEANINGS = {
    QUIET: "No check shows a deviation beyond chance",
    WATCH: "E is at a level that a right verifier ever reaches with probability at most sqrt(lifetime error rate)",
    ALARM: "E has reached a level that a right verifier ever reaches with probability at most the lifetime error rate",
}
"""The states, from the best to the worst, and what each means."""


HOW_CALLED = re.compile(r" b?float\d+ \w+$")
"""End of a third-party version: the dtype and the array of the rows, which the night chooses and not the code."""


class CheckState(NamedTuple):
    """A state of a check. alarm_at, watch_at: log E at which the check is in alarm, or in watch."""

    name: str
    alarm_at: float
    watch_at: float


def check_states(rows: "Iterable[CheckHistory]", lifetime_alpha: float) -> dict[int, CheckState]:
    """Return the state of each check, by its id. rows: all checks of every cohort in them."""
    cohorts: dict[int, list[CheckHistory]] = {}
    for row in rows:
        cohorts.setdefault(row.cohort, []).append(row)
    return {number: state for cohort in cohorts.values() for number, state in _cohort(cohort, lifetime_alpha).items()}


def _cohort(cohort: "Sequence[CheckHistory]", lifetime_alpha: float) -> dict[int, CheckState]:
    """Return the states of all checks of one cohort.

    alarm: Holm's procedure refutes the check at the cohort's share of the lifetime error rate, by the largest log E so
    far (so an alarm stays)
    watch: it would at the share of the square root of that rate, by log E now (so a watch can end)
    """
    number = cohort[0].cohort
    alarm = holm(np.array([row.peak for row in cohort]), cohort_alpha(lifetime_alpha, number))
    watch = holm(np.array([row.log_e for row in cohort]), cohort_alpha(math.sqrt(lifetime_alpha), number))
    names = (ALARM if refuted else WATCH if near else QUIET for refuted, near in zip(alarm.alarm, watch.alarm))
    levels = zip(names, alarm.threshold.tolist(), watch.threshold.tolist())
    return {row.id: CheckState(*state) for row, state in zip(cohort, levels, strict=True)}


def current_versions(rows: "Sequence[CheckHistory]") -> set[tuple[str, str]]:
    """Return each (subject, version) whose code was drawn from on the subject's last night, in any dtype and array.

    There may be several versions of one subject.
    """
    last = {row.subject: row.night for row in sorted(rows, key=lambda row: row.night)}
    drawn = {code_of(row.subject, row.version) for row in rows if row.night == last[row.subject]}
    return {(row.subject, row.version) for row in rows if code_of(row.subject, row.version) in drawn}


def code_of(subject: str, version: str) -> tuple[str, str]:
    """Return a subject and the part of its version that names its code. An alarm stays current until this changes."""
    return subject, HOW_CALLED.sub("", version)


def worst_state(names: Iterable[str]) -> str:
    """Return the worst of some states; quiet if there is none."""
    return max(names, key=[*STATE_MEANINGS].index, default=QUIET)
