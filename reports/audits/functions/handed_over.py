"""An object handed over in Python: itself for the child process, and the name under which a command finds it again."""

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ....models.errors import InputError
from ....proofs.interception.by_value import by_value
from ....proofs.interception.loading import dotted_name

NAME_IT = "give it a name in a module, such as 'verify = ...' at the top level of mine.py, and pass mine.verify"
WRITE_IT = "put '%%writefile mine.py' first in its cell, run it, and audit 'mine.py:verify'"
"""Advice for a notebook, whose functions belong to no file."""


def name_of(subject: Callable) -> str:
    """Return the name, as on the command line, of an object that a module has under that name.

    Found by looking for the object itself, for what it says of itself may be copied from another (functools.wraps).
    Raises: InputError for what no module has under a name, or has no file: no command could show again what it does.
    """
    if isinstance(subject, type):
        raise InputError(
            f"{subject.__qualname__} is a class; expected a function, or a callable object of the class "
            f"('verify = {subject.__qualname__}(..)' at the top level of its module)"
        )
    if not callable(subject):
        raise InputError(f"{repr(subject)[:100]} is no subject; expected a function, or a name as on the command line")
    found = next(_names(subject), None)
    if found is None:
        raise InputError(f"{_described(subject)} cannot be found by name in a module with a file: {_way_out(subject)}")
    module, attribute = found
    return f"{_place(module)}:{attribute}"


def handed_over(subject: Callable) -> dict[str, Any]:
    """Pickle the object for a child process. Raises: InputError for what cannot be copied."""
    try:
        return by_value(subject)
    except TypeError as error:
        raise InputError(f"{_described(subject)} cannot be passed as an object ({error}): pass its name") from None


def _names(subject: Any) -> Iterator[tuple[types.ModuleType, str]]:
    """Modules with files, and the attribute that is the object; its own module first."""
    if isinstance(subject, (types.MethodType, types.BuiltinMethodType)) and not isinstance(
        subject.__self__, types.ModuleType
    ):
        for module, owner in _names(subject.__self__):
            attribute = f"{owner}.{subject.__name__}"
            if operator.attrgetter(attribute)(module) == subject:
                yield module, attribute
    qualified = getattr(subject, "__qualname__", "")
    for module in _modules(subject):
        if "<" not in qualified and _attribute(module, qualified) is subject:
            yield module, qualified
        for name, value in list(vars(module).items()):
            if value is subject and name.isidentifier():
                yield module, name


def _attribute(module: types.ModuleType, qualified: str) -> Any:
    try:
        return operator.attrgetter(qualified)(module)
    except Exception:  # a third-party class decides what its attributes do
        return None


def _modules(subject: Any) -> list[types.ModuleType]:
    function = subject.func if isinstance(subject, functools.partial) else subject
    globals_ = getattr(function, "__globals__", {})
    first = [globals_.get("__name__"), getattr(subject, "__module__", None), type(subject).__module__]
    every = [sys.modules.get(str(name)) for name in first] + list(sys.modules.values())
    modules = (m for m in every if isinstance(m, types.ModuleType))
    return [m for m in dict.fromkeys(modules) if str(getattr(m, "__file__", None)).endswith(".py")]


def _place(module: types.ModuleType) -> str:
    """Return its file if that says to which package it belongs, else its dotted name if it was found there."""
    file = Path(str(module.__file__)).absolute()
    name = getattr(module.__spec__, "name", None) or module.__name__
    folder, names = dotted_name(file)
    dots = name.count(".") + (file.stem == "__init__")
    if name != ".".join(names) and dots and len(file.parents) > dots:
        folder = file.parents[dots]
        if folder / Path(*name.split(".")) in (file.with_suffix(""), file.parent) and str(folder) in _searched():
            return name
    return str(file)


def _searched() -> set[str]:
    return {str(Path(folder).absolute()) for folder in sys.path}


def _way_out(subject: Any) -> str:
    in_file = str(getattr(sys.modules["__main__"], "__file__", "")).endswith(".py")
    return NAME_IT if in_file or getattr(subject, "__module__", None) != "__main__" else WRITE_IT


def _described(subject: Any) -> str:
    name = getattr(subject, "__qualname__", "") or type(subject).__qualname__
    if "<lambda>" in name:
        return "a lambda"
    if "<locals>" in name:
        return f"{name}, made inside another function,"
    return name if hasattr(subject, "__qualname__") else f"an object of class {name}"
