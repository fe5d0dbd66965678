"""What a call reads that is neither argument nor random number: clocks, environment, files, processes.

A law that was measured holds for the surroundings in which it was measured. What third-party code reads of them
during a
call can decide what it emits, so a read withholds the claim of exactness, whether or not it was seen to matter.

| asked of | how it is seen | what remains |
|---|---|---|
| clocks, files, processes, threads, host, ... | profiler: calls from Python to C functions | C code that reads |
| os.environ, os.getenv, platform, threading | profiler: calls of their Python functions | environment read by C code |
| sys.argv, sys.modules, C libraries | global names and modules of the code that ran | another name for them |
| id(), hash() | called by the subject's own lines | the order of a set of strings |

What libraries read beneath the subject for purposes of their own (imports, source lines of warnings, logging, torch's
dispatch) is passed over; a file that NumPy or torch opens is read for the subject. Every path is watched once, in the
first of its rehearsals.
"""

import functools
import inspect
import os
import platform
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from .digests import STANDARD_LIBRARY

OURS = (
    "draftproof.proofs.",
    "draftproof.verifiers.adapters.calling_convention",
    "draftproof.verifiers.adapters.copies",
    "draftproof.verifiers.adapters.watermark_keys",
)
ASKED_OF = {
    "time": "the clock", "posix": "the operating system", "nt": "the operating system", "io": "a file", "_io": "a file",
    "_thread": "threads", "_signal": "signals", "signal": "signals", "_locale": "the locale", "_socket": "the network",
    "gc": "the garbage collector", "resource": "the processor's accounts", "_posixsubprocess": "processes",
    "select": "files", "fcntl": "files", "mmap": "files", "pwd": "the users", "grp": "the users",
    "sys": "the interpreter",
    "builtins": "the interpreter", "_uuid": "the clock", "numpy": "a file",
    "torch": "the hardware",
}  # fmt: skip
"""Modules of C functions that read what is no argument, and what they read."""

ONLY = {
    "builtins": {"id", "hash", "open", "input", "breakpoint"}, "numpy": {"fromfile", "memmap"},
    "torch": {"get_num_threads", "get_num_interop_threads"},
    "sys": {"_getframe", "_current_frames", "getrefcount", "gettrace", "getprofile", "setprofile", "settrace"},
}  # fmt: skip
"""Of modules with much else: what counts."""

HARMLESS = {
    "sleep", "mktime", "allocate_lock", "RLock", "fspath", "fsencode", "fsdecode", "strerror", "get_terminal_size",
    "write", "writelines", "flush", "close", "stack_size", "getvalue", "isenabled", "freeze", "acquire", "release",
}  # fmt: skip
BUILTINS = frozenset((max, min, abs, sum, len, pow, isinstance))
"""Functions that read nothing else than their arguments."""

OWN_LINES = {"id", "hash", "_getframe", "getrefcount", "gettrace", "getprofile", "get_ident"}
"""What Python's own library calls for good reasons: it counts where the subject's own line calls it."""

QUIET = {
    "numpy", "torch", "transformers", "scipy", "sympy", "triton", "numba", "llvmlite", "logging", "warnings",
    "linecache",
    "traceback", "inspect", "tokenize", "functools", "contextlib", "collections", "copy", "dataclasses", "enum",
    "typing",
    "reprlib", "re", "abc", "weakref", "importlib",
}  # fmt: skip
"""Libraries that read clocks, environment and the like for purposes of their own."""

QUIET_WITH_FILES = {"linecache", "traceback", "inspect", "tokenize", "warnings", "triton", "numba", "importlib"}
QUIET_FOLDERS = ("torch/_dynamo", "torch/_inductor", "torch/_functorch")
"""Those that also open files for purposes of their own: source lines, compiled code."""


CUDA = (
    "is_available",
    "device_count",
    "current_device",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
)


class Read(NamedTuple):
    """Something asked of the surroundings. what: the function or object; place: the line that asks; of: what it tells
    of."""

    what: str
    of: str
    place: str
    key: str | None = None


class Watch:
    """What was read during the calls that were watched; the code that ran in them."""

    def __init__(self):
        self.reads: dict[tuple[str, str | None], Read] = {}
        self.code: dict[types.CodeType, dict[str, Any]] = {}
        self._asked: dict[types.CodeType, tuple[str, str]] = {}
        self._seen: set[types.CodeType] = set()
        self._functions: dict[tuple[int, bool, str], tuple[Any, tuple[str, str] | None]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch one call."""
        asked = _python_functions("torch" in sys.modules)
        if asked is not self._asked:  # at first, and where torch has come since
            self._asked = asked
            self._seen -= asked.keys()
        seen, functions, module_or_type = self._seen, self._functions, (types.ModuleType, type)

        def noted(frame: types.FrameType, event: str, function: Any) -> None:
            """Some thousands of times a call, so what is known comes first."""
            if event == "call":
                if frame.f_code not in seen:
                    self._began(frame)
            elif event == "c_call":
                if function in BUILTINS:
                    return
                owner = function.__self__
                kind = owner if isinstance(owner, module_or_type) else type(owner)
                called = id(kind), kind is owner, function.__name__
                known = functions.get(called)
                if known is None:
                    known = functions[called] = kind, _asked(function)
                if known[1]:
                    self._notice(frame, *known[1])

        sys.setprofile(noted)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _began(self, frame: types.FrameType) -> None:
        """Note what a Python function asks, or code that has not run before."""
        code = frame.f_code
        if code in self._asked:
            key = frame.f_locals.get("key")
            if frame.f_back is not None and frame.f_back.f_code not in self._asked:
                what, of = self._asked[code]
                self._notice(frame.f_back, what, of, key if isinstance(key, str) else None)
            return
        self._seen.add(code)
        if _library(frame) is None and not _is_ours(frame):
            self.code[code] = frame.f_globals
            for what in _loaded(code, frame):
                place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
                self.reads.setdefault((what, None), Read(what, "the interpreter", place))

    def _notice(self, frame: types.FrameType | None, what: str, of: str, key: str | None = None) -> None:
        name, beneath = what.rpartition(".")[2], False
        while frame is not None:
            if _is_ours(frame):
                return
            library = _library(frame)
            if library is None:
                place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                self.reads.setdefault((what, key), Read(what, of, place, key))
                return
            if name in OWN_LINES or library in QUIET_WITH_FILES:
                return
            beneath = beneath or library in QUIET
            if beneath and not (of in ("a file", "files") or name in ("open", "stat", "lstat", "listdir", "scandir")):
                return
            if any(folder in frame.f_code.co_filename for folder in QUIET_FOLDERS):
                return
            frame = frame.f_back


def _codes(functions: Iterable[Any]) -> Iterator[types.CodeType]:
    yield from (f.__code__ for f in functions if isinstance(f, types.FunctionType))


@functools.cache
def _python_functions(with_torch: bool) -> dict[types.CodeType, tuple[str, str]]:
    """Functions written in Python that read surroundings: their names, and what they read."""
    asked = {
        **dict.fromkeys(_codes(vars(type(os.environ)).values()), ("os.environ", "the environment")),
        **dict.fromkeys(_codes((platform.uname, platform.node, platform.platform)), ("platform", "the host")),
        **dict.fromkeys(_codes(vars(threading).values()), ("threading", "threads")),
    }
    torch: Any = sys.modules["torch"] if with_torch else None
    for owner, names in ((torch.cuda, CUDA), (torch.backends.mps, ("is_available",))) if torch else ():
        for name in names:
            function = getattr(owner, name, None)
            codes = _codes([inspect.unwrap(function)] if callable(function) else [])
            asked |= dict.fromkeys(codes, (f"{owner.__name__}.{name}", "the hardware"))
    return asked


def _asked(function: Any) -> tuple[str, str] | None:
    """Name of a C function that reads its surroundings, and what it reads."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if isinstance(owner, types.ModuleType):
        module = owner.__name__.partition(".")[0]
        of = ASKED_OF.get(module)
        if of is None or name in HARMLESS or (module in ONLY and name not in ONLY[module]):
            return None
        return f"{ {'posix': 'os', '_io': 'io'}.get(module, module) }.{name}", of
    if isinstance(owner, type):
        clock = issubclass(owner, date) and name in ("now", "today", "utcnow")
        return (f"{owner.__name__}.{name}", "the clock") if clock else None
    module = type(owner).__module__
    if isinstance(owner, functools._lru_cache_wrapper) and name == "cache_info":
        return name, "how often a cache was asked"
    if owner is not None and module in ("_io", "_socket", "mmap") and name not in HARMLESS:
        return f"{type(owner).__name__}.{name}", ASKED_OF[module]
    return None


def _library(frame: types.FrameType) -> str | None:
    """The top package of a frame's code, if it is an installed one that is known or Python's own library; else None."""
    file = frame.f_code.co_filename
    if file.startswith("<"):
        named = file[8:-1] if file.startswith("<frozen ") else frame.f_globals.get("__name__", "")
        top = named.partition(".")[0]
        return top if top in QUIET or named == file[8:-1] else None
    return _library_of(file)


@functools.cache
def _library_of(file: str) -> str | None:
    path = Path(file).resolve()
    for at, part in enumerate(path.parts):
        if part in ("site-packages", "dist-packages"):
            top = path.parts[at + 1].removesuffix(".py")
            return top if top in QUIET else None
    folder = next((f for f in STANDARD_LIBRARY if path.is_relative_to(f)), None)
    return path.relative_to(folder).parts[0].removesuffix(".py") if folder else None


def _is_ours(frame: types.FrameType) -> bool:
    return frame.f_globals.get("__name__", "").startswith(OURS)


def _told() -> dict[int, str]:
    """Objects that tell of the surroundings without any call, by identity."""
    names = {id(getattr(sys, name)): f"sys.{name}" for name in ("argv", "orig_argv", "flags", "modules")}
    numpy = sys.modules.get("numpy")
    return names | ({id(numpy.datetime64): "numpy.datetime64"} if numpy else {})


def _loaded(code: types.CodeType, frame: types.FrameType) -> Iterator[str]:
    """What tells of the surroundings among the values that the code finds under global names, and in modules."""
    named = frame.f_globals | {name: v for name, v in frame.f_locals.items() if name in code.co_freevars}
    values = [named[name] for name in (*code.co_names, *code.co_freevars) if name in named]
    modules = [v for v in values if isinstance(v, types.ModuleType)]
    modules += [sys.modules[name] for name in code.co_names if name in sys.modules]  # imported within
    told = _told()
    for value in (*values, *(vars(m)[name] for m in modules for name in code.co_names if name in vars(m))):
        if id(value) in told:
            yield told[id(value)]
        elif type(value).__module__ in ("ctypes", "_ctypes"):
            yield "a C library by ctypes"
