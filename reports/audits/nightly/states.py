"""What the history says now: quiet, watch or alarm, check by check, in the JSON form that everything shown comes from."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ....stattests.holm import cohort_alpha, holm
from .history import History
from .limits import detects

QUIET, WATCH, ALARM = "quiet", "watch", "alarm"

STATES = {
    QUIET: "No check shows what a right verifier would not",
    WATCH: "E stands where a right verifier ever comes with probability sqrt(lifetime error rate) at most",
    ALARM: "E has reached what a right verifier ever reaches with probability of the lifetime error rate at most",
}

SCHEMA_VERSION = "1.0"


class State(NamedTuple):
    """name: quiet, watch or alarm; alarm_at, watch_at: the log E at which it is one."""

    name: str
    alarm_at: float
    watch_at: float


def judged(cohort: Sequence[Any], lifetime_alpha: float) -> list[State]:
    """The states of the checks of one cohort, all of them.

    alarm where Holm's procedure refutes the check at the cohort's share of the lifetime error rate, by the largest
    log E so far (it stays); watch where it would at the share of the square root of that rate, by log E now (it can
    calm down).
    """
    number = cohort[0].cohort
    far = holm([row.peak for row in cohort], cohort_alpha(lifetime_alpha, number))
    near = holm([row.log_e for row in cohort], cohort_alpha(math.sqrt(lifetime_alpha), number))
    return [
        State(
            ALARM if far.alarm[k] else WATCH if near.alarm[k] else QUIET,
            *map(float, (far.threshold[k], near.threshold[k])),
        )
        for k in range(len(cohort))
    ]


def status(history: History, failures: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """The history in its JSON form. Infinite numbers are the text "inf".

    state: the worst of the current checks, those of a version that was drawn from on its subject's last night: two
    versions in use side by side are both current. detects: what a current check would have seen (``limits.detects``).
    Raises: InputError if the history is damaged.
    """
    cohorts: dict[int, list] = {}
    for row in history.rows():
        cohorts.setdefault(row.cohort, []).append(row)
    rows = [row for members in cohorts.values() for row in members]
    states = [state for members in cohorts.values() for state in judged(members, history.lifetime_alpha)]
    last = {row.subject: row.night for row in sorted(rows, key=lambda r: r.night)}
    current = {(row.subject, row.version) for row in rows if row.night == last[row.subject]}
    found = [
        {
            "id": row.id,
            "subject": row.subject,
            "version": row.version,
            "current": (row.subject, row.version) in current,
            "check": row.name,
            "parameters": row.parameters,
            "cohort": row.cohort,
            "state": state.name,
            "log_e": told(row.log_e),
            "largest_log_e": told(row.peak),
            "alarm_at": state.alarm_at,
            "watch_at": state.watch_at,
            "draws": row.draws,
            "detects": detects(
                row.law,
                row.nights[-1]["draws"],
                len(row.nights),
                row.cohort,
                len(cohorts[row.cohort]),
                history.lifetime_alpha,
            )
            if row.nights and (row.subject, row.version) in current
            else None,
            "alarm_since": row.alarm,
            "impossible": row.impossible,
            "witness": row.witness,
            "nights": [{**night, "log_e": told(night["log_e"])} for night in row.nights],
        }
        for row, state in zip(rows, states)
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "history": history.database.name,
        "lifetime_alpha": history.lifetime_alpha,
        "state": worst([check["state"] for check in found if check["current"]]),
        "checks": found,
        "failures": list(failures),
    }


def worst(states: Sequence[str]) -> str:
    return max(states, key=[QUIET, WATCH, ALARM].index, default=QUIET)


def told(number: float) -> float | str:
    return "inf" if math.isinf(number) else number
