"""Whether a child process loaded the object that was handed over in its parent: digests of both, part by part.

The parent finds a name for the object, the child loads it anew. What the two are made of has to be equal: the object
itself, and what its code, and the code that it calls, reads under global names. Library code is taken as it is installed,
except the module of a subject that is a library's own, and where something that is no library's stands under one of its
names, as patched by a test. What code finds in other ways, by globals()["name"] say, is not compared.
"""

import functools
import inspect
import os
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .digests import ATOMS, GENERATORS, UNKNOWN, Parts, content, digest_of, file_digest, is_standard, joined

Likeness = Mapping[str, str]
"""The label of each part, such as ``/path/mine.py:table``, and its digest; the object itself is ITSELF."""

ITSELF = ""

LIBRARY = "library"
"""The digest of every function, class and module of a library."""

MOST_PARTS = 20_000


def likeness(subject: Any) -> Likeness:
    """The parts of an object by name, each with its digest; UNKNOWN where a part has no content to compare."""
    return _Walk(subject).digests


def differences(handed_over: Likeness, loaded: Likeness) -> list[str]:
    """The labels of parts that are not alike and are known on both sides; those that only one side has where no other is.

    What one side has and the other has not is there a library's own, or belongs to another part that is not alike.
    """
    pairs = {label: (handed_over.get(label), loaded.get(label)) for label in {**handed_over, **loaded}}
    unlike = sorted(label for label, pair in pairs.items() if len(set(pair)) == 2 and UNKNOWN not in pair)
    return [label for label in unlike if None not in pairs[label]] or unlike


def unknown(handed_over: Likeness, loaded: Likeness) -> list[str]:
    """The labels of parts that cannot be compared."""
    return sorted(
        label for label in {**handed_over, **loaded} if UNKNOWN in (handed_over.get(label), loaded.get(label))
    )


def changed_since_import(subject: Any) -> str | None:
    """The first of an object's Python functions, and those it calls, that is not what its file has now: "name in file".

    Functions that pytest rewrote are not looked at.
    """
    compiled: dict[str, dict[tuple[str, int], list[types.CodeType]]] = {}
    for function in _Walk(subject).visited:
        code, file = function.__code__, function.__code__.co_filename
        if _names(code) & {"@pytest_ar", "@py_builtins"} or not Path(file).is_file():
            continue
        if file not in compiled:
            try:
                compiled[file] = _codes(compile(Path(file).read_bytes(), file, "exec", dont_inherit=True))
            except (OSError, SyntaxError, ValueError):
                return f"{code.co_name} in {file}"
        if code not in compiled[file].get((code.co_name, code.co_firstlineno), ()):
            return f"{code.co_name} in {file}"
    return None


class _Parts(Parts):
    """Digests that are equal in two processes of which one follows random numbers, and the other rewrote assertions.

    own: the module of the subject, which is no library here.
    """

    def __init__(self, own: str):
        super().__init__()
        self.own = own

    def looked_at(self, value: Any) -> str:
        return LIBRARY if _is_library(value, self.own) else super().looked_at(value)

    def code(self, code: types.CodeType) -> str:
        if "<" in code.co_name or not Path(code.co_filename).is_file():
            return super().code(code)
        return joined(code.co_name, str(code.co_firstlineno), file_digest(code.co_filename))

    def function(self, value: Any) -> str:
        return joined(super().function(value), self.of(value.__defaults__), self.of(value.__kwdefaults__))

    def one_class(self, value: type) -> list[str]:
        named = vars(value).items() if not _is_library(value, self.own) else ()
        values = [[name, v] for name, v in named if not callable(v) and not hasattr(type(v), "__get__")]
        return [*super().one_class(value), self.of([v for v in values if not v[0].startswith("__")])]


class _Walk:
    """The parts of an object: itself, and recursively what its functions find under global names.

    digests: by the label of a part. visited: the functions.
    """

    def __init__(self, subject: Any):
        self.digests: dict[str, str] = {}
        self.visited: list[types.FunctionType] = []
        self._seen: dict[int, Any] = {}
        self._own = str(getattr(subject, "__module__", ""))
        waiting = [(ITSELF, subject)]
        while waiting:
            label, value = waiting.pop()
            if label in self.digests or (label != ITSELF and _is_library(value, self._own)):
                continue
            if len(self.digests) >= MOST_PARTS:
                self.digests[f"more than {MOST_PARTS:,} parts"] = UNKNOWN
                break
            self.digests[label] = self._digest(value)
            for function in self._functions(value):
                names, place = _names(function.__code__), function.__globals__
                for name in names & place.keys():
                    waiting += _read(_label(place, name), place[name], names)

    def _functions(self, value: Any) -> Iterator[types.FunctionType]:
        """The Python functions that an object consists of, outside of libraries."""
        if type(value) in ATOMS or id(value) in self._seen or _is_library(value, self._own):
            return
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            self.visited.append(value)
            yield value
        for part in _inside(value):
            yield from self._functions(part)

    def _digest(self, value: Any) -> str:
        if _is_library(value, self._own):
            return digest_of(value)
        try:
            return _Parts(self._own).of(value)
        except Exception:  # third-party objects decide what happens when one looks at them
            return UNKNOWN


def _read(label: str, value: Any, names: set[str]) -> Iterator[tuple[str, Any]]:
    """A global value; of a module, those of its attributes that code with these names may read."""
    if not isinstance(value, types.ModuleType):
        yield label, value
        return
    library = _is_library(value)
    for name in names & vars(value).keys():
        member = vars(value)[name]
        if isinstance(member, types.ModuleType) or callable(member) or not library:
            yield from _read(_label(vars(value), name), member, names - {name})


def _label(module: Mapping[str, Any], name: str) -> str:
    """By the file, for a module's name may differ in another process; of a library by its name."""
    file, called = module.get("__file__"), str(module.get("__name__"))
    return f"{called}.{name}" if file is None or _of_library(called) else f"{Path(file).resolve()}:{name}"


def _inside(value: Any) -> list[Any]:
    """What an object holds that may be, or hold, a function."""
    if isinstance(value, types.FunctionType):
        return [
            *map(content, value.__closure__ or ()),
            *(value.__defaults__ or ()),
            *(value.__kwdefaults__ or {}).values(),
            *vars(value).values(),
        ]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (staticmethod, classmethod, types.MethodType)):
        return [value.__func__, getattr(value, "__self__", None)]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if inspect.isclass(value):
        return [member for c in value.__mro__ if not _is_library(c) for member in vars(c).values()]
    held = [value.func, value.args, value.keywords] if isinstance(value, functools.partial) else []
    if type(value).__module__.partition(".")[0] == "numba":
        held.append(getattr(value, "py_func", None))
    own = getattr(value, "__dict__", None)
    return [*held, type(value), *(own.values() if isinstance(own, dict) else ())]


def _names(code: types.CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _codes(code: types.CodeType) -> dict[tuple[str, int], list[types.CodeType]]:
    found: dict[tuple[str, int], list[types.CodeType]] = {}
    waiting = [code]
    while waiting:
        for constant in waiting.pop().co_consts:
            if isinstance(constant, types.CodeType):
                found.setdefault((constant.co_name, constant.co_firstlineno), []).append(constant)
                waiting.append(constant)
    return found


def _is_library(value: Any, own: str = "") -> bool:
    """Whether it is a module, a class or a function of an installed library, of Python, or of the interception.

    own: a module that is none.
    """
    if isinstance(value, types.ModuleType):
        return _of_library(value.__name__, own)
    owner = getattr(value, "__self__", None) if inspect.isroutine(value) else None
    if owner is not None and not isinstance(owner, types.ModuleType):
        return _is_generator(owner)
    if inspect.isclass(value) or inspect.isroutine(value):
        if isinstance(value, types.FunctionType):
            return _of_library(str(value.__globals__.get("__name__")), own)
        return _of_library(str(getattr(value, "__module__", None) or "builtins"), own)
    if isinstance(value, type(os.environ)):  # that of a child process differs from its parent's
        return True
    ufunc = callable(value) and type(value).__module__.partition(".")[0] == "numpy"
    return ufunc or (type(value).__module__.startswith(f"{__package__}.") and not _is_generator(value))


def _is_generator(value: Any) -> bool:
    return bool({f"{c.__module__}.{c.__qualname__}" for c in type(value).__mro__} & GENERATORS)


def _of_library(name: str, own: str = "") -> bool:
    if name == own:
        return False
    if name.startswith("draftproof.") and not name.startswith("draftproof.tests."):
        return True
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None:
        return name.partition(".")[0] in sys.stdlib_module_names
    file = Path(path)
    return bool({"site-packages", "dist-packages"} & set(file.parts)) or is_standard(file.resolve())
