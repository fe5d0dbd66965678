"""Other surroundings for a child process: another time, host and environment, arrays with gaps; code that minds them
shows it. And what code keeps from call to call: values that change each time the very same calls are repeated.

Put in place before third-party code is imported, so that ``from time import time`` takes the moved clock. Another
process id comes by itself, another order of sets of strings by ``PYTHONHASHSEED``.
"""

import contextvars
import datetime
import inspect
import itertools
import os
import socket
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .digests import Parts

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


REPEATED = 3, 3, 1
"""Repetitions before each look: before the first as many as any cache takes to settle; then two numbers without a
common divisor, so that no ring comes back to where it was."""

Code = Mapping[types.CodeType, dict[str, Any]]


def changing(function: Any, code: Code, repetitions: Iterable[Callable[[], object]]) -> list[str]:
    """The names under which something is kept that changes with every repetition of one of these.

    function: the one under audit.
    code: what ran in it, with the globals of each.
    repetitions: each makes the same call again, or the same calls.
    """
    changed: set[str] = set()
    for repeat in repetitions:
        looks = []
        for times in REPEATED:
            for _ in range(times):
                repeat()
            looks.append({name: _digest(value) for name, value in _roots(function, code)})
        for before, after in itertools.pairwise(looks):
            changed |= {name for name, digest in after.items() if before.get(name) != digest}
    return sorted(changed)


def _roots(function: Any, code: Code) -> Iterator[tuple[str, Any]]:
    modules = {id(names): names for names in code.values()}
    for names in modules.values():
        module = names.get("__name__", "")
        for name, value in list(names.items()):
            if name.startswith("__") or isinstance(value, types.ModuleType):
                continue
            if inspect.isclass(value):
                if value.__module__ == module:
                    yield from ((f"{name}.{n}", v) for n, v in vars(value).items() if not n.startswith("__"))
            elif inspect.isfunction(value) and value.__module__ == module:
                yield from ((f"{name}.{n}", v) for n, v in _of_function(value))
            else:
                yield name, value
    for one, names in code.items():
        yield from _in_other_modules(one, names)
    yield from ((f"{getattr(function, '__name__', 'object')}.{n}", v) for n, v in _of_function(function))


def _in_other_modules(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The data that code names in modules that it names: ``counts.rejected``."""
    found = (names.get(name, sys.modules.get(name)) for name in code.co_names)
    modules = [value for value in found if isinstance(value, types.ModuleType)]
    for module in modules:  # and in theirs: counts.of.rejected
        for name in code.co_names:
            value = vars(module).get(name)
            if isinstance(value, types.ModuleType) and value not in modules:
                modules.append(value)
            elif name in vars(module) and not callable(value) and not isinstance(value, types.ModuleType):
                yield f"{module.__name__}.{name}", value


def _of_function(function: Any) -> Iterator[tuple[str, Any]]:
    while hasattr(function, "__wrapped__"):
        yield from _of_one(function)
        function = function.__wrapped__
    yield from _of_one(function)


def _of_one(function: Any) -> Iterator[tuple[str, Any]]:
    for cell, name in zip(getattr(function, "__closure__", None) or (), _free(function)):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue
    for name in ("__defaults__", "__kwdefaults__", "__self__", "func", "args", "keywords"):
        value = getattr(function, name, None)
        if value is not None and not isinstance(value, types.ModuleType):
            yield name.strip("_"), value
    attributes = getattr(function, "__dict__", {})
    yield from ((n, v) for n, v in dict(attributes).items() if n != "__wrapped__")


def _free(function: Any) -> tuple[str, ...]:
    return getattr(getattr(function, "__code__", None), "co_freevars", ())


def _digest(value: Any) -> str:
    try:
        if inspect.isfunction(value):
            return ",".join(f"{name}={Parts().of(v)}" for name, v in _of_one(value))
        if isinstance(value, threading.local):
            return Parts().of(vars(value))
        if isinstance(value, contextvars.ContextVar):
            return Parts().of(value.get(None))
        if inspect.isgenerator(value):
            return repr((value.gi_frame and value.gi_frame.f_lasti, value.gi_frame and value.gi_frame.f_locals))
        return Parts().of(value)
    except Exception:  # third-party objects decide what happens when one looks at them
        return "cannot be looked at"
