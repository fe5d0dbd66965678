"""A history in its JSON form, written and read."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....models.errors import InputError
from ....models.json_files import convert
from ....models.problem import problem_from, size_of
from ..scope import counted, ranges
from .detection import detection_limits
from .forms import StatusForm
from .states import ALARM, STATE_MEANINGS, CheckState, check_states, current_versions, worst_state

if TYPE_CHECKING:  # it needs SQLAlchemy, which a compliance document does not
    from .history import CheckHistory, History

SCHEMA_VERSION = "1.0"


def status(history: "History", failures: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """Return a history in its JSON form. Infinite numbers are the text "inf".

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
        if row.nights and row.law and check["current"]:
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
    """Say what the state speaks of; None without checks."""
    recorded = {check["subject"]: check["parameters"]["rule"] for check in checks if "recorded" in check["parameters"]}
    steps = "; ".join(
        f"steps recorded in {subject.partition(':')[2]} (rule: {rule})" for subject, rule in recorded.items()
    )
    given = [check["parameters"]["problem"] for check in checks if "problem" in check["parameters"]]
    problems = [*map(problem_from, {json.dumps(problem): problem for problem in given}.values())]
    if not problems:
        return steps or None
    sizes = [*map(size_of, problems)]
    vocabularies, gammas = (ranges({size[name] for size in sizes}) for name in ("vocabulary", "gamma"))
    least = min(size["smallest_probability"] for size in sizes)
    numbers = f"V = {vocabularies}, gamma = {gammas}, probabilities from {least:.2g}"
    drawn = f"{counted(len(problems), 'problem')}, {numbers}; drawn; one request a call"
    return f"{drawn}; {steps}" if steps else drawn


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


def is_history(data: Any) -> bool:
    """Check that JSON data has everything that is shown of a history, and states that its numbers give."""
    try:
        read = convert(StatusForm, data, "history")
    except InputError:
        return False
    known = all(check.state in STATE_MEANINGS for check in read.checks)
    calm = (check for check in read.checks if check.state != ALARM)
    return (
        known
        and all(float(check.largest_log_e) <= float(check.alarm_at) for check in calm)
        and read.state == worst_state(check.state for check in read.checks if check.current)
    )
