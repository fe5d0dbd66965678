"""Readers of what is kept in a history. What a nightly run does not write is a ValueError, a TypeError or a KeyError."""

import json
import math
from datetime import date
from typing import Any

from ....stattests.eprocess import EProcess
from .checks import Check

EARLIEST, LATEST = date(2000, 1, 1), date(2999, 12, 31)
"""The first and the last night that are taken for one."""

MOST_STARTS = 4096
"""Starts that the state of an e-process may ask for: what is more is damage, and would fill the memory."""

SAME = 1e-6
"""How far log E may be from what was recorded with the state that it comes from: rounding, in relative terms."""


def a_process(check: Check, text: str, log_e: float) -> EProcess:
    """Raises: ValueError (or another) if the state is damaged: it has to give the log E that was recorded with it."""
    state = json.loads(a_text(text))
    whole(state["most"], 1, MOST_STARTS)
    whole(state["night"], len(state["starts"]))
    for start in state["starts"]:
        having(start, weight=float, counts=list)
        for count in start["counts"]:
            whole(count)
    for count in state["impossible"].values():
        whole(count)
    process = EProcess.from_json(check.law, state)
    if not math.isclose(process.log_e, log_e, rel_tol=SAME, abs_tol=SAME):
        raise ValueError
    return process


def a_number(text: str) -> float:
    number = float(a_text(text))
    if math.isnan(number):
        raise ValueError
    return number


def whole(number: Any, least: int = 0, most: float = math.inf) -> int:
    if type(number) is not int or not least <= number <= most:
        raise ValueError
    return number


def some_draws(number: Any) -> int:
    return whole(number, 1)


def the_same(expected: Any, found: Any) -> Any:
    if found != expected:
        raise ValueError
    return found


def a_night(text: str) -> str:
    if not EARLIEST <= date.fromisoformat(text) <= LATEST:
        raise ValueError
    return text


def a_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError
    return text


def decoded(text: str | None) -> Any:
    return None if text is None else json.loads(a_text(text))


def having(told: Any, **parts: type) -> Any:
    """What was told, if it is nothing or has these parts."""
    if told is not None and not all(isinstance(told[name], kind) for name, kind in parts.items()):
        raise TypeError
    return told
