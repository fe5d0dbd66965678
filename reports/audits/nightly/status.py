"""The state of a history: by Holm's procedure within one lifetime error rate, what it can see, and its JSON form."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....models.problem import problem_from, size_of
from ....stattests.anytime import min_detectable_anytime
from ....stattests.eprocess import cohort_alpha, holm
from ..scope import counted, ranges

if TYPE_CHECKING:  # it needs SQLAlchemy, which a compliance document does not
    from .history import CheckHistory, History

QUIET, WATCH, ALARM = "quiet", "watch", "alarm"

STATE_MEANINGS = {
    QUIET: "No check shows a deviation beyond chance",
    WATCH: "E is at a level that a right verifier ever reaches with probability at most sqrt(lifetime error rate)",
    ALARM: "E has reached a level that a right verifier ever reaches with probability at most the lifetime error rate",
}


class CheckState(NamedTuple):
    """name: quiet, watch or alarm
    alarm_at: log E at which the check is in alarm
    watch_at: log E at which it is in watch
    """

    name: str
    alarm_at: float
    watch_at: float


def check_states(rows: "Iterable[CheckHistory]", lifetime_alpha: float) -> dict[int, CheckState]:
    """The state of each check, by its id; ``rows`` has all checks of every cohort in it."""
    cohorts: dict[int, list[CheckHistory]] = {}
    for row in rows:
        cohorts.setdefault(row.cohort, []).append(row)
    return {number: state for cohort in cohorts.values() for number, state in _cohort(cohort, lifetime_alpha).items()}


def _cohort(cohort: "Sequence[CheckHistory]", lifetime_alpha: float) -> dict[int, CheckState]:
    """The states of all checks of one cohort.

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
    """(subject, version) drawn from on the subject's last night: two versions in use side by side are both current."""
    last = {row.subject: row.night for row in sorted(rows, key=lambda row: row.night)}
    return {(row.subject, row.version) for row in rows if row.night == last[row.subject]}


def worst_state(names: Iterable[str]) -> str:
    """The state of a whole: that of its worst check, quiet if there is none."""
    return max(names, key=[QUIET, WATCH, ALARM].index, default=QUIET)


NIGHT_HORIZONS = (1, 7)
"""Nights until the alarm, the first deviating one included."""

MISS_RATE = 1e-3
"""Probability that a deviation at the limit or above is not in alarm by then."""


def detection_limits(
    law: Sequence[float], draws: int, nights: int, cohort: int, checks: int, alpha: float
) -> dict[str, Any]:
    """The total variation, in any direction, that becomes an alarm within NIGHT_HORIZONS nights: JSON of ``status``.

    law: probabilities of the sequences
    draws: of each night
    nights: that the check has seen; the deviation begins tonight or on the next one
    cohort: number of the check's cohort
    checks: in that cohort
    alpha: lifetime error rate
    A total variation of 1 means that no deviation is certain to be detected.
    Guarantee: missed with probability MISS_RATE at most (``min_detectable_anytime``). The share of alpha is rounded
    down to a power of e and the night up to a power of 2, so that checks share the answer; it is too large by a few
    percent.
    """
    share = math.exp(math.floor(math.log(cohort_alpha(alpha, cohort))))
    begins = 1 << nights.bit_length()
    within = [
        {"nights": n, "total_variation": min_detectable_anytime(draws, law, n, share, MISS_RATE, checks, begins)}
        for n in NIGHT_HORIZONS
    ]
    return {"draws_a_night": draws, "miss_rate": MISS_RATE, "within": within}


SCHEMA_VERSION = "1.0"


def status(history: "History", failures: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """The history in its JSON form. Infinite numbers are the text "inf".

    state: the worst of the checks of current versions
    checks: one entry a check, in the order in which they began; ``detects`` is None where nothing is drawn any more
    failures: subjects that could not be drawn from
    scope: what the state speaks of, in words
    Raises: InputError if the history is damaged.
    """
    rows = history.rows()
    states = check_states(rows, history.lifetime_alpha)
    current, sizes = current_versions(rows), Counter(row.cohort for row in rows)
    checks = []
    for row in rows:
        check = _check_entry(row, states[row.id], (row.subject, row.version) in current)
        if row.nights and check["current"]:
            check["detects"] = detection_limits(
                row.law, row.nights[-1]["draws"], len(row.nights), row.cohort, sizes[row.cohort], history.lifetime_alpha
            )
        checks.append(check)
    return {
        "schema_version": SCHEMA_VERSION, "history": history.database.name, "lifetime_alpha": history.lifetime_alpha,
        "state": worst_state([check["state"] for check in checks if check["current"]]), "checks": checks,
        "failures": list(failures), "scope": _scope([check for check in checks if check["current"]]),
    }  # fmt: skip


def _scope(checks: Sequence[dict[str, Any]]) -> str | None:
    """What the state speaks of, in words; None without checks."""
    given = {json.dumps(check["parameters"]["problem"]): check["parameters"]["problem"] for check in checks}
    problems = [*map(problem_from, given.values())]
    if not problems:
        return None
    sizes = [*map(size_of, problems)]
    vocabularies, gammas = (ranges({size[name] for size in sizes}) for name in ("vocabulary", "gamma"))
    least = min(size["smallest_probability"] for size in sizes)
    numbers = f"V = {vocabularies}, gamma = {gammas}, probabilities from {least:.2g}"
    return f"{counted(len(problems), 'problem')}, {numbers}; drawn; one request a call"


def _check_entry(row: "CheckHistory", state: CheckState, current: bool) -> dict[str, Any]:
    return {
        "id": row.id, "subject": row.subject, "version": row.version, "current": current, "check": row.name,
        "parameters": json.loads(row.parameters), "cohort": row.cohort, "state": state.name,
        "log_e": _finite_or_text(row.log_e), "largest_log_e": _finite_or_text(row.peak), "alarm_at": state.alarm_at,
        "watch_at": state.watch_at, "draws": row.draws, "detects": None, "alarm_since": row.alarm,
        "impossible": row.impossible, "witness": row.witness,
        "nights": [{**night, "log_e": _finite_or_text(night["log_e"])} for night in row.nights],
    }  # fmt: skip


def _finite_or_text(number: float) -> float | str:
    return "inf" if math.isinf(number) else number
