"""Other surroundings for a child process: another time, host and environment, arrays with gaps; code that minds them
shows it.

Put in place before third-party code is imported, so that ``from time import time`` takes the moved clock. Another
process id comes by itself, another order of sets of strings by ``PYTHONHASHSEED``.
"""

import datetime
import os
import socket
import time
from typing import Any

import numpy as np

ELSEWHERE = "elsewhere"
"""The argument of a child process that is to run in other surroundings."""

OTHER_ENVIRONMENT: dict[str, str | None] = {"PYTHONHASHSEED": "1", "TZ": "Etc/GMT+7"}

LATER = 3 * 365 * 86_400 + 5 * 86_400 + 7 * 3_600 + 13 * 60 + 17.3
"""Seconds by which all clocks are ahead: another year, day of the week, hour, minute and second."""


def move() -> None:
    """Move the clocks of ``time`` and ``datetime``, and rename the host."""
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        _ahead(name, LATER)
        _ahead(f"{name}_ns", int(LATER * 10**9))
    _ahead("clock_gettime", LATER)
    _ahead("clock_gettime_ns", int(LATER * 10**9))
    for name in ("localtime", "gmtime", "ctime"):
        _by_default(name, lambda: time.time(), 0)
    _by_default("asctime", lambda: time.localtime(), 0)
    _by_default("strftime", lambda: time.localtime(), 1)
    _move_dates()
    system = os.uname()
    os.uname = lambda: os.uname_result((system[0], ELSEWHERE, *system[2:]))
    socket.gethostname = lambda: ELSEWHERE


def _ahead(name: str, seconds: float) -> None:
    plain = getattr(time, name)
    setattr(time, name, lambda *arguments: plain(*arguments) + seconds)


def _by_default(name: str, now: Any, at: int) -> None:
    """A function of ``time`` that takes the present moment where it is given none."""
    plain = getattr(time, name)
    setattr(
        time,
        name,
        lambda *given: plain(*(given if len(given) > at and given[at] is not None else (*given[:at], now()))),
    )


def _move_dates() -> None:
    plain_date, plain_datetime = datetime.date, datetime.datetime

    class OfAnyDate(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, plain[cls]) if cls in plain else type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, plain[cls]) if cls in plain else type.__subclasscheck__(cls, subclass)

    class Date(plain_date, metaclass=OfAnyDate):
        @classmethod
        def today(cls) -> Any:
            return plain_date.fromtimestamp(time.time())

    class DateTime(plain_datetime, metaclass=OfAnyDate):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return plain_datetime.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return plain_datetime.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    plain: dict[type, type] = {Date: plain_date, DateTime: plain_datetime}
    datetime.date, datetime.datetime = Date, DateTime


BETWEEN = 0.25
"""What lies between the entries of arrays with gaps: code that reads it by mistake is wrong, and does not raise."""


def with_gaps(value: Any) -> Any:
    """Arrays and tensors, or lists of them, with the same numbers and others between: they are not contiguous."""
    if isinstance(value, list):
        return [*map(with_gaps, value)]
    if not getattr(value, "ndim", 0):
        return value
    larger = tuple(2 * n for n in value.shape)
    filling = BETWEEN if "float" in str(value.dtype) else 0
    spread = np.full(larger, filling, value.dtype) if isinstance(value, np.ndarray) else value.new_full(larger, filling)
    view = spread[tuple(slice(None, None, 2) for _ in larger)]
    view[...] = value
    return view
