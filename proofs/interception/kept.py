"""What third-party code keeps from call to call: values that change each time the very same calls are repeated.

A cache settles: the second call with the same inputs and the same random numbers finds what the first has left. What
changes once more with every repetition counts calls, or draws random numbers of its own, and a law that was measured
says nothing of calls that were not made. Looked at are the globals and classes of all modules whose code ran, what
that code names in other modules, the function's own attributes, defaults, closure and object. Not seen: what is kept
by C code, in files, or by a running generator function.
"""

import contextvars
import inspect
import itertools
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .digests import Parts

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
