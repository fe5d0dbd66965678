"""Which version of a third-party function was audited: a digest of its file, its package's version and what it carries.

What it carries (closures, bound arguments, the state of an object) is pickled, with code by its file and random
generators by their kind. ``looks`` writes the same for values that change from call to call.
"""

import contextvars
import copyreg
import functools
import hashlib
import inspect
import io
import os
import pickle
import sys
import sysconfig
import threading
import types
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

import numpy as np

UNKNOWN = "unknown"
"""The digest of what cannot be distinguished from another version of itself."""

ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...))
GENERATORS = {
    "random.Random", "numpy.random._generator.Generator", "numpy.random.mtrand.RandomState",
    "numpy.random.bit_generator.BitGenerator", "torch._C.Generator",
}  # fmt: skip
"""Random generators by name: those that are followed are of classes derived from these, in this package."""

HEAP_TYPE = 1 << 9
"""The flag of a class that was made while the program ran (CPython, Py_TPFLAGS_HEAPTYPE)."""

STANDARD_LIBRARY = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}

_slot_names: Callable[[type], list[str]] = vars(copyreg)["_slotnames"]


class Undigestible(Exception):
    """An error: there is neither source nor bytes to make a digest of."""


def digest_of(function: Any) -> str:
    """Return the SHA-256 of what a function is made of (of an adapter: the engine's), or UNKNOWN if a part is hidden.

    Guarantee: equal digests other than UNKNOWN are of equal code and values. What the code finds under a global name
    is covered by the file of its own module alone, options of ``torch.compile`` by the file that gives them.
    """
    function = getattr(function, "published", lambda: function)()
    try:
        return "sha256:" + content_digest(function)
    except Exception:  # third-party objects decide what happens when one looks at them
        return UNKNOWN


def content_digest(value: Any) -> str:
    """Return the digest of one value. Raises: whatever a third-party object raises when its state is asked for."""
    content = Content()
    content.dump(value)
    return sha256(content.written.getvalue())


class Content(pickle._Pickler):
    """A pickler whose bytes are equal for equal values: it remembers nothing by identity, but what contains itself."""

    def __init__(self) -> None:
        self.written = io.BytesIO()
        super().__init__(self.written, 4)
        self.fast, self._open = True, list[int]()

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if id(obj) in self._open:
            obj = "within itself", len(self._open) - self._open.index(id(obj))
        self._open.append(id(obj))
        try:
            super().save(obj)  # pyright: ignore[reportAttributeAccessIssue]
        finally:
            self._open.pop()

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in ATOMS or type(obj) in (tuple, list, dict):
            return NotImplemented
        parts = parts_of(obj)
        return NotImplemented if parts is None else (tuple, parts)


def parts_of(value: Any, digest: Callable[[Any], str] = content_digest) -> tuple[Any, ...] | None:
    """Return what stands for a value that is not pickled as it is, or None.

    digest: function for the members of a set, which have no order.
    """
    kind = type(value)
    if kind in (set, frozenset):
        return kind.__name__, *sorted(map(digest, value))
    if isinstance(value, types.MappingProxyType):
        return "mapping", {**value}
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.hasobject else value.tobytes()
        return "array", kind, str(value.dtype), value.shape, content, getattr(value, "__dict__", None)
    if _is_generator(kind):
        return _generator(value)
    if isinstance(value, types.ModuleType):
        return "module", _module(value.__name__)
    if inspect.isclass(value):
        return _class(value)
    if kind is functools._lru_cache_wrapper:
        if value.cache_info().currsize:
            raise Undigestible  # what it has stored may be of another function, and cannot be seen
        return "cache", value.cache_parameters(), value.__wrapped__
    if inspect.isfunction(value):
        return _function(value)
    if isinstance(value, (staticmethod, classmethod)):
        return kind.__name__, value.__func__
    if isinstance(value, property):
        return "property", value.fget, value.fset, value.fdel
    if isinstance(value, types.CodeType):
        return "code", value.co_code, value.co_consts, value.co_names, value.co_varnames, value.co_freevars
    if hasattr(value, "py_func"):  # compiled by numba
        return "compiled", _version("numba"), {**value.targetoptions}, value.py_func
    if kind.__module__.partition(".")[0] == "torch" and kind.__name__ in ("Tensor", "Parameter"):
        torch, plain = sys.modules["torch"], value.detach().cpu().resolve_conj().resolve_neg().flatten()
        flat = plain.clone(memory_format=torch.contiguous_format)
        bits = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return "tensor", str(value.dtype), tuple(value.shape), bits, getattr(value, "__dict__", None)
    if inspect.isroutine(value) or isinstance(value, np.ufunc):
        return _routine(value)
    return _suspended(value)


def _suspended(value: Any) -> tuple[Any, ...] | None:
    """Return what can be seen of things that are never pickled."""
    if isinstance(value, threading.local):
        return "of a thread", vars(value)
    if isinstance(value, contextvars.ContextVar):
        return "of a context", value.get(None)
    if inspect.isgenerator(value):
        frame = value.gi_frame
        return "suspended", value.gi_code, frame and frame.f_lasti, frame and {**frame.f_locals}
    return None


@functools.lru_cache(maxsize=4096)
def _is_generator(kind: type) -> bool:
    return not {name_of(c) for c in kind.__mro__}.isdisjoint(GENERATORS)


def _generator(value: Any) -> tuple[Any, ...]:
    """Return the kind without the state, which differs in each process; of a subclass its code and attributes, too."""
    kind = type(value)
    known = sorted({name_of(c) for c in kind.__mro__} & GENERATORS)
    bits = type(value.bit_generator).__qualname__ if hasattr(value, "bit_generator") else ""
    ours = kind.__module__.startswith((f"{__package__}.", "numpy.random.")) or "_renamed" in vars(kind)
    if ours or name_of(kind) in GENERATORS:
        return "generator", known, bits
    return "generator", known, bits, kind, *attributes_of(value)


def attributes_of(value: Any) -> tuple[Any, dict[str, Any]]:
    """Return the attributes of an object, and those that it keeps in slots."""
    slots = {name: getattr(value, name) for name in _slot_names(type(value)) if hasattr(value, name)}
    return getattr(value, "__dict__", None), slots


def _class(value: type) -> tuple[Any, ...]:
    """Return the names and files of a class and its bases, with the members that their sources need not give."""
    parts: list[Any] = []
    for one in value.__mro__:
        if one.__module__.startswith(f"{__package__}."):
            continue
        parts += [one.__qualname__, _module(one.__module__)]
        if not one.__flags__ & HEAP_TYPE or _is_not_python(one.__module__):
            continue
        whole = _by_name(one) is not one
        for name, member in sorted(vars(one).items()):
            if inspect.isfunction(member):
                parts += [name, member if whole else member.__code__]
            elif not name.startswith("__") and (
                type(member) in ATOMS or (whole and not inspect.isdatadescriptor(member))
            ):
                parts += [name, member]
    return "class", parts, None if type(value) is type else type(value).__qualname__


def _function(value: Any) -> tuple[Any, ...]:
    """Return a Python function's place, file and package, with what it carries beyond its source."""
    original = vars(value).get("_torchdynamo_orig_callable")
    if original is not None:
        return "compiled", _version("torch"), original
    code, module = value.__code__, str(value.__globals__.get("__name__"))
    place = code.co_name, code.co_firstlineno, file_digest(inspect.getsourcefile(value)), _version(module)
    return "function", place, code if "<" in code.co_name else None, *(v for _, v in carried(value))


def carried(function: Any) -> list[tuple[str, Any]]:
    """Return what a Python function has in addition to the file that defines it, by name."""
    wrapped = vars(function).get("__wrapped__")
    copied = getattr(wrapped, "__dict__", {})  # by functools.wraps: covered with the function that is wrapped
    own = [(n, v) for n, v in vars(function).items() if n != "__wrapped__" and (n not in copied or copied[n] is not v)]
    cells = [(name, content(cell)) for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())]
    made = "<locals>" in function.__qualname__ or "<lambda>" in function.__qualname__
    defaults = [("defaults", function.__defaults__), ("kwdefaults", function.__kwdefaults__)] if made else []
    return [*cells, *defaults, ("wrapped", wrapped), *own]


def content(cell: types.CellType) -> Any:
    """Return what a cell of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return "not set yet"


def _routine(value: Any) -> tuple[Any, ...]:
    """Return the name and file of a function without Python source, which its module has to have under that name."""
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return "method", value.__name__, owner
    if _by_name(value) is not value:
        raise Undigestible
    return "routine", getattr(value, "__qualname__", value.__name__), _module(_module_of(value))


def _module_of(value: Any) -> str:
    return getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "builtins")


def _by_name(value: Any) -> Any:
    """Return what the module of a class or a function has under its name."""
    member: Any = sys.modules.get(_module_of(value))
    for name in getattr(value, "__qualname__", value.__name__).split("."):
        member = getattr(member, name, None)
    return member


def name_of(kind: type) -> str:
    """Return the name of a class, with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _module(name: str) -> tuple[str, str]:
    """Return the digest of a module's file and its distribution's version; of Python's own library the name."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None and name in sys.builtin_module_names:
        return "python", name
    return file_digest(path), _version(name)


def _is_not_python(module: str) -> bool:
    """Check whether a module is of Python's own library, or an extension."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:
        return module in sys.builtin_module_names and module != "builtins"
    return path.endswith(tuple(EXTENSION_SUFFIXES)) or _is_standard(path)


@functools.lru_cache(maxsize=16384)
def _is_standard(file: str) -> bool:
    return is_standard(Path(file).resolve())


def is_standard(path: Path) -> bool:
    """Check whether a file is of Python's own library."""
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and any(path.is_relative_to(folder) for folder in STANDARD_LIBRARY)


@functools.cache
def _top_level() -> dict[str, list[Distribution]]:
    """Return the distributions by the packages that each brings.

    ``importlib.metadata.packages_distributions`` says the same, but makes a path of each installed file and reads every
    description: it took longer than all else that a child process does before its first call.
    """
    found: dict[str, list[Distribution]] = {}
    for one in distributions():
        top_level = {*(one.read_text("top_level.txt") or "").split()}
        if not top_level:
            files = [line.partition(",")[0] for line in (one.read_text("RECORD") or "").splitlines()]
            top_level = {file.partition("/")[0].removesuffix(".py") for file in files if file.endswith(".py")}
        for package in top_level:
            found.setdefault(package, []).append(one)
    return found


@functools.cache
def distributions_of(package: str) -> list[str]:
    """Return the names of the distributions that bring a package."""
    return sorted({one.metadata["Name"] for one in _top_level().get(package, ())})


def _version(module: str) -> str:
    return _version_of(module.partition(".")[0])


@functools.cache
def _version_of(package: str) -> str:
    return ",".join(f"{name} {number}" for name, number in _versions_of(package).items())


@functools.cache
def _versions_of(package: str) -> dict[str, str]:
    """Return the versions of the distributions that bring a package, by name."""
    return {name: version(name) for name in distributions_of(package)}


def loaded_parts() -> dict[str, str]:
    """Return what the code of this process was made of: files of modules by digest, distributions by version.

    Python's own library, and what is loaded later on, is not in it.
    """
    return _parts_of(len(sys.modules))


@functools.cache
def _parts_of(modules: int) -> dict[str, str]:
    parts, installed = {}, {"site-packages", "dist-packages"}
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not Path(file).is_file():
            continue
        if installed & {*Path(file).parts}:
            parts |= _versions_of(name.partition(".")[0])
        elif not _is_standard(file):
            parts[file] = file_digest(file)
    return parts


def changed_since(parts: Mapping[str, str]) -> list[str]:
    """Return the files and distributions among ``loaded_parts`` of an earlier process that have changed."""

    def now(part: str) -> str | None:
        try:
            return file_digest(part) if os.sep in part else version(part)
        except (OSError, PackageNotFoundError):
            return None

    return [part for part, was in parts.items() if now(part) != was]


def file_digest(path: str | None) -> str:
    """Return the digest of a file; of Python's own library its name."""
    if path is None:
        raise Undigestible
    return _file_digest(path, os.stat(path).st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _file_digest(path: str, written: int) -> str:
    file = Path(path).resolve()
    return sha256(f"python {file.name}".encode()) if is_standard(file) else sha256(file.read_bytes())


def sha256(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
