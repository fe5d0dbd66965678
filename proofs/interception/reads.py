"""Reads of a call's surroundings: clocks, the environment, files, processes, threads, the host.

A law holds where it was measured, so a read withholds exactness, whether or not it was seen to matter. Functions that
ask are replaced once, before third-party code is imported: while calls are noted they note the line that asks, then do
what they did. C code that reads is not noted. The replay in moved surroundings (``surroundings``) may still show it.
"""

import functools
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ENVIRONMENT, FILES = "the environment", "a file"

ASKED = {
    "the clock": "time.time time.time_ns time.monotonic time.monotonic_ns time.perf_counter time.perf_counter_ns "
                 "time.process_time time.process_time_ns time.thread_time time.thread_time_ns time.clock_gettime "
                 "time.clock_gettime_ns time.localtime time.gmtime time.ctime time.asctime time.strftime os.times "
                 "uuid.uuid1 resource.getrusage",
    FILES: "builtins.open io.open os.open os.stat os.lstat os.listdir os.scandir os.access os.getcwd",
    "processes": "os.getpid os.getppid os.fork os.pipe os.cpu_count os.getloadavg os.chdir signal.alarm "
                 "signal.setitimer",
    "the system's randomness": "random._urandom",
    "threads": "threading.active_count threading.enumerate threading.get_ident threading._start_new_thread",
    "the host": "os.uname socket.gethostname socket.getfqdn socket.create_connection platform.uname platform.node "
                "platform.platform",
    "the interpreter": "gc.get_count gc.get_objects gc.disable signal.getsignal locale.getlocale "
                       "locale.setlocale sys.settrace sys.setprofile sys.gettrace sys.getprofile",
    "the hardware": "torch.cuda.is_available torch.cuda.device_count torch.cuda.current_device "
                    "torch.cuda.get_device_name torch.cuda.get_device_capability torch.cuda.get_device_properties "
                    "torch.get_num_threads torch.get_num_interop_threads",
}  # fmt: skip
"""Kinds of surroundings, each with the functions that tell of them."""

THROUGH = {
    "os", "collections", "posixpath", "genericpath", "pathlib", "glob", "shutil", "tempfile", "uuid", "platform",
    "random", "secrets", "subprocess", "threading", "concurrent", "multiprocessing",
}  # fmt: skip
"""Modules of Python's own library that ask for whoever called them."""

LIBRARIES = {"numpy", "torch", "transformers", "scipy", "sympy", "triton", "numba", "llvmlite"}
"""Installed packages that read clocks and the environment for purposes of their own."""

FOR_THE_CALLER = {"numpy", "scipy"}
"""Installed packages that open files for whoever called them."""

ARITHMETIC = {"numpy", "torch", "jax", "random", "fractions", "numbers"}
"""Packages that draw and compare random numbers for whoever called them."""

OURS = ("draftproof.proofs.", "draftproof.reports.", "draftproof.verifiers.adapters.calling_convention")


class Read(NamedTuple):
    """A read: one thing that was asked.

    what: the function or object. of: the kind of surroundings. place: the line that asks.
    key: which variable of the environment. installed: whether the line is an installed package's.
    """

    what: str
    of: str
    place: str
    key: str | None = None
    installed: bool = False


Reads = dict[tuple[str, str | None], Read]

_NOTED: list[Reads] = []
"""The place where reads go at the moment; empty outside calls that are noted."""


@contextmanager
def noting(reads: Reads) -> Iterator[None]:
    """Note what third-party code asks meanwhile."""
    _NOTED.append(reads)
    try:
        yield
    finally:
        _NOTED.pop()


def is_library(module: str) -> bool:
    """Check whether a module asks for purposes of its own: it is of this package, Python's library, or one of a few."""
    top = module.partition(".")[0]
    return top in LIBRARIES or top in sys.stdlib_module_names or module.startswith(OURS)


def asking_line() -> tuple[str, int]:
    """Return the file and the line in which third-party code asks, directly or through a library."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if name.partition(".")[0] not in ARITHMETIC and not name.startswith(OURS):
            break
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)


def _note(what: str, of: str, frame: types.FrameType | None, key: str | None = None) -> None:
    """Note a read if third-party code asks, directly or through Python's own library."""
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        top = name.partition(".")[0]
        if top not in THROUGH and not (of == FILES and top in FOR_THE_CALLER):
            break
        frame = frame.f_back
    else:
        return
    if is_library(name):
        return
    file = Path(frame.f_code.co_filename)
    installed = bool({"site-packages", "dist-packages"} & set(file.parts))
    _NOTED[-1].setdefault((what, key), Read(what, of, f"{file.name}:{frame.f_lineno}", key, installed))


class _NotingFunction:
    """A function of the surroundings that notes who asks. It stays equal to the plain one, which tables may hold."""

    def __init__(self, plain: Any, what: str, of: str):
        functools.update_wrapper(self, plain)
        self._plain, self._what, self._of = plain, what, of

    def __call__(self, *given: Any, **named: Any) -> Any:
        if _NOTED:
            _note(self._what, self._of, sys._getframe(1))
        return self._plain(*given, **named)

    def __eq__(self, other: object) -> bool:
        return other is self or other == self._plain

    def __hash__(self) -> int:
        return hash(self._plain)

    def __reduce__(self) -> str:
        return self._plain.__qualname__


class _NotingArguments(list):
    """A list of the interpreter's arguments that notes who looks at them."""


def _looking(plain: Any, what: str, of: str) -> Any:
    """Return a method that notes who looks into a container, and at which key."""

    def look(self: Any, *given: Any) -> Any:
        if _NOTED:
            _note(what, of, sys._getframe(1), next((key for key in given if isinstance(key, str)), None))
        return plain(self, *given)

    look.plain = plain  # pyright: ignore[reportFunctionMemberAccess]
    return look


for _name in ("__contains__", "__getitem__", "__iter__", "__len__", "__eq__", "index", "count"):
    setattr(_NotingArguments, _name, _looking(getattr(list, _name), "sys.argv", "the interpreter"))


def install() -> None:
    """Replace the functions of all modules that are loaded by now."""
    for of, names in ASKED.items():
        for what in names.split():
            module, _, name = what.rpartition(".")
            plain = getattr(sys.modules.get(module), name, None)
            if plain is not None and not isinstance(plain, _NotingFunction):
                setattr(sys.modules[module], name, _NotingFunction(plain, what.replace("builtins.", ""), of))
    if not isinstance(sys.argv, _NotingArguments):
        sys.argv = _NotingArguments(sys.argv)
    for name in ("__getitem__", "__iter__", "__len__"):
        plain = getattr(os._Environ, name)
        if not hasattr(plain, "plain"):
            setattr(os._Environ, name, _looking(plain, "os.environ", ENVIRONMENT))


def as_text(read: Read) -> str:
    """Name a read for a message."""
    name = f"{read.what}[{read.key!r}]" if read.key else read.what
    return f"{read.of} ({name} at {read.place})"
