"""State that code keeps from call to call: values that change each time the very same calls are repeated.

A cache that settles is none of it. Looked at are the function, what the modules of the functions that it uses have
under global names, and data of other modules that their code names.
"""

import inspect
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .digests import ATOMS, carried
from .looks import Look
from .reads import is_library

REPEATED = 3, 3, 1
"""Repetitions before each look: before the first as many as any cache takes to settle; then two numbers without a
common divisor, so that no ring comes back to where it was."""

MOST_FUNCTIONS = 1000
"""Functions that are looked at, those nearest to the function under audit first."""


def changing(function: Any, repetitions: Iterable[Callable[[], object]]) -> list[str]:
    """Return the names under which something is kept that changes with every repetition of one of these.

    repetitions: each makes the same call again, or the same calls.
    """
    changed: set[str] = set()
    functions = used(function)
    for repeat in repetitions:
        looks = []
        for times in REPEATED:
            for _ in range(times):
                repeat()
            look = Look()
            looks.append([(name, _digest(value, look)) for name, value in _values(function, functions)])
        for before, after in itertools.pairwise(looks):
            changed |= {name for name, _ in {*after} - {*before}}
    return sorted(changed)


def used(function: Any) -> list[types.FunctionType]:
    """Return the Python functions that a function uses, as far as global names, closures and objects show them."""
    found: dict[types.FunctionType, None] = {}
    seen, waiting = set[int](), [function]
    while waiting and len(found) < MOST_FUNCTIONS:
        value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if inspect.isfunction(value) and not is_library(str(value.__globals__.get("__name__"))):
            found[value] = None
            waiting += [v for _, v in carried(value)]
            waiting += [v for v in value.__globals__.values() if not isinstance(v, types.ModuleType)]
        elif inspect.isclass(value) and not is_library(value.__module__):
            waiting += [getattr(member, "__func__", member) for member in vars(value).values()]
        elif not isinstance(value, (type, types.FunctionType, types.ModuleType)):
            waiting += [v for name in ("__wrapped__", "__func__", "func") if (v := getattr(value, name, None))]
            waiting += [type(value)]
    return [*found]


def _values(function: Any, functions: Iterable[types.FunctionType]) -> Iterator[tuple[str, Any]]:
    """Yield what may be kept, by name."""
    for one in functions:
        yield from ((f"{one.__name__}.{name}", v) for name, v in carried(one))
        yield from ((f"{one.__name__}.{n}", getattr(one, f"__{n}__")) for n in ("defaults", "kwdefaults"))
    for names in {id(one.__globals__): one.__globals__ for one in functions}.values():
        for name, value in [*names.items()]:
            if inspect.isclass(value) and value.__module__ == names.get("__name__"):
                yield from ((f"{name}.{n}", v) for n, v in vars(value).items() if not n.startswith("__"))
            elif not (name.startswith("__") or isinstance(value, types.ModuleType) or inspect.isroutine(value)):
                yield name, value
    for one in functions:
        yield from _in_other_modules(one)
    for name in ("__self__", "func", "args", "keywords", "__dict__"):
        yield f"{getattr(function, '__name__', 'object')}.{name.strip('_')}", getattr(function, name, None)


def _in_other_modules(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the data that a function's code names in modules that it names, such as ``counts.rejected``."""
    names = function.__code__.co_names
    for module in filter(inspect.ismodule, map(function.__globals__.get, names)):
        for name in names:
            value = vars(module).get(name)
            if not callable(value) and not isinstance(value, types.ModuleType):
                yield f"{module.__name__}.{name}", value
    if "cache_info" in names:  # a count that each cache keeps, but few ask for
        caches: list[Any] = [v for v in map(function.__globals__.get, names) if hasattr(v, "cache_info")]
        yield from ((f"{cache.__name__}.cache_info", tuple(cache.cache_info())) for cache in caches)


def _digest(value: Any, look: Look) -> str:
    if type(value) in ATOMS:
        return repr(value)
    try:
        return look.digest(value)
    except Exception:  # third-party objects decide what happens when one looks at them
        return "cannot be inspected"
