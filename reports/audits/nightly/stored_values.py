"""Values stored in a history, parsed. What a nightly run never writes is a ValueError, a TypeError or a KeyError."""

import json
import math
from datetime import date
from typing import Any

from ....stattests.eprocess import EProcess
from .checks import NightlyCheck

EARLIEST_NIGHT, LATEST_NIGHT = date(2000, 1, 1), date(2999, 12, 31)
"""Nights that a history may have."""

MOST_STARTS = 4096
"""Starts that the state of an e-process may ask for: more is damage, and would fill the memory."""

LOG_E_TOLERANCE = 1e-6
"""Relative rounding error allowed between the log E of a state and the one recorded with it."""


def parse_process(check: NightlyCheck, text: Any, log_e: float) -> EProcess:
    """Raises: ValueError (or another) if the state is damaged: it has to give the log E that was recorded with it."""
    state = json.loads(require_text(text))
    require_int(state["most"], 1, MOST_STARTS)
    require_int(state["night"], len(state["starts"]))
    for start in state["starts"]:
        require_fields(start, weight=float, counts=list)
        for count in start["counts"]:
            require_int(count)
    for count in state["impossible"].values():
        require_int(count)
    process = EProcess.from_json(check.law, state)
    if not math.isclose(process.log_e, log_e, rel_tol=LOG_E_TOLERANCE, abs_tol=LOG_E_TOLERANCE):
        raise ValueError
    return process


def parse_number(text: Any) -> float:
    number = float(require_text(text))
    if math.isnan(number):
        raise ValueError
    return number


def parse_night(text: str) -> str:
    if not EARLIEST_NIGHT <= date.fromisoformat(text) <= LATEST_NIGHT:
        raise ValueError
    return text


def parse_json(text: Any) -> Any:
    return None if text is None else json.loads(require_text(text))


def require_int(number: Any, least: int = 0, most: float = math.inf) -> int:
    if type(number) is not int or not least <= number <= most:
        raise ValueError
    return number


def require_equal(expected: Any, value: Any) -> Any:
    if value != expected:
        raise ValueError
    return value


def require_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError
    return text


def require_fields(value: Any, **kinds: type) -> Any:
    """The value, if it is None or has these fields."""
    if value is not None and not all(isinstance(value[name], kind) for name, kind in kinds.items()):
        raise TypeError
    return value
