"""Other surroundings for a child process: another time, host and environment, and arrays with gaps.

They are put in place before third-party code is imported, so that ``from time import time`` takes the moved clock.
Another process id comes by itself, another order of sets of strings by ``PYTHONHASHSEED``.
"""

import datetime
import os
import socket
import threading
import time
from typing import Any

import numpy as np

ELSEWHERE = "elsewhere"
"""The argument of a child process that is to run in other surroundings."""

OTHER_ENVIRONMENT: dict[str, str | None] = {"PYTHONHASHSEED": "1", "TZ": "Etc/GMT+7"}

HALF = 40 * 365 * 86_400 + 5 * 86_400 + 7 * 3_600 + 13 * 60 + 17.3
"""Seconds by which all clocks are ahead from the import on, and once more after it: another century, year, day of the
week, hour, minute and second."""

THREADS = 8
"""Threads more than there are."""

_AHEAD = [HALF]


def move() -> None:
    """Move the clocks of ``time`` and ``datetime``, rename the host, and count more threads."""
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        _ahead(name, 1)
        _ahead(f"{name}_ns", 10**9)
    _ahead("clock_gettime", 1)
    _ahead("clock_gettime_ns", 10**9)
    for name in ("localtime", "gmtime", "ctime"):
        _by_default(name, lambda: time.time(), 0)
    _by_default("asctime", lambda: time.localtime(), 0)
    _by_default("strftime", lambda: time.localtime(), 1)
    _move_dates()
    system, threads = os.uname(), threading.active_count
    os.uname = lambda: os.uname_result((system[0], ELSEWHERE, *system[2:]))
    socket.gethostname = lambda: ELSEWHERE
    threading.active_count = lambda: threads() + THREADS


def let_time_pass() -> None:
    """Move the clocks on, so that a time that was read at import is long ago."""
    _AHEAD[0] = 2 * HALF


def _ahead(name: str, unit: int) -> None:
    plain = getattr(time, name)
    kind = int if name.endswith("_ns") else float
    setattr(time, name, lambda *arguments: plain(*arguments) + kind(_AHEAD[0] * unit))


def _by_default(name: str, now: Any, at: int) -> None:
    """Move a function of ``time`` that takes the present moment where it is given none."""
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
"""Number between the entries of arrays with gaps: code that reads it by mistake is wrong, and does not raise."""


def with_gaps(value: Any) -> Any:
    """Return arrays and tensors, or lists of them, with the same numbers and others in the gaps between."""
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
