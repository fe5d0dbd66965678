"""Which version of a third-party function was audited: a digest of what it is made of."""

import copyreg
import functools
import hashlib
import inspect
import operator
import os
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, packages_distributions, version
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
"""By name, for those that are followed are of classes derived from these, in this package."""

IN_EVERY_CLASS = {"__dict__", "__weakref__", "_abc_impl"}
HEAP_TYPE = 1 << 9
"""The flag of a class that was made while the program ran (CPython, Py_TPFLAGS_HEAPTYPE)."""

STANDARD_LIBRARY = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}


_slot_names: Callable[[type], list[str]] = vars(copyreg)["_slotnames"]


class Undigestible(Exception):
    """There is neither source nor bytes to make a digest of."""


def digest_of(function: Any) -> str:
    """SHA-256 of what a function is made of (of an adapter: the engine's); UNKNOWN where a part of it has no content.

    A Python function: the file that defines it, its name and its line there (two lambdas on a line: their code). With
    it
    what is bound: arguments of a partial, the object of a method, closures and defaults of a function made by another,
    attributes, the classes of a callable object and its state as it is given for a copy. Of a class
    made by a function: all that it has. Of a function compiled from Python (numba, torch.compile, caches): that
    function, the options and the compiler's version; of TorchScript, the graph with all that it calls. Of an extension
    module: its file and the version of its distribution. Of a random generator: its kind, and what a subclass adds, not
    the state; of Python's own library: names.
    Guarantee: two digests other than UNKNOWN that are equal are of equal code and values, as far as said. What the code
    finds under a global name, in its module or another, is covered by the file of its own module alone.
    """
    function = getattr(function, "published", lambda: function)()
    try:
        return "sha256:" + Parts().of(function)
    except Exception:  # third-party objects decide what happens when one looks at them
        return UNKNOWN


class Parts:
    """Digests of values, each object looked at once, so that what contains itself has an end."""

    def __init__(self):
        self._seen: dict[int, tuple[Any, str]] = {}

    def of(self, value: Any) -> str:
        """Raises: Undigestible; or whatever a third-party object raises when its state is asked for."""
        if type(value) in ATOMS:
            return joined(type(value).__name__, repr(value))
        if id(value) not in self._seen:
            self._seen[id(value)] = value, f"within itself {len(self._seen)}"
            self._seen[id(value)] = value, self.looked_at(value)
        return self._seen[id(value)][1]

    def looked_at(self, value: Any) -> str:
        kind = type(value)
        if kind in (tuple, list):
            return joined(kind.__name__, *map(self.of, value))
        if kind in (set, frozenset):
            return joined(kind.__name__, *sorted(map(self.of, value)))
        if kind in (dict, types.MappingProxyType):
            return joined("dict", *sorted(self.of(k) + self.of(v) for k, v in value.items()))
        if kind is np.ndarray or (isinstance(value, np.generic) and kind.__module__ == "numpy"):
            return self._array(value)
        if {_name(c) for c in kind.__mro__} & GENERATORS:
            return self._generator(value)
        if isinstance(value, types.ModuleType):
            return _module(value.__name__)
        if inspect.isclass(value):
            return self._class(value)
        if kind is functools.partial:
            parts = operator.attrgetter("func", "args", "keywords", "__dict__")(value)
            return joined("partial", *map(self.of, parts))
        if inspect.ismethod(value):
            return joined("method", self.of(value.__func__), self.of(value.__self__))
        if compiled := self._compiled(value):
            return compiled
        if inspect.isfunction(value):
            return self.function(value)
        if isinstance(value, (staticmethod, classmethod)):
            return joined(kind.__name__, self.of(value.__func__))
        if isinstance(value, property):
            return joined("property", *map(self.of, (value.fget, value.fset, value.fdel)))
        if kind.__module__.partition(".")[0] == "torch":
            return self._of_torch(value)
        if hasattr(value, "__name__") and callable(value) and not _has_python_class(value):
            return self._routine(value)
        return self._instance(value)

    def _array(self, value: Any) -> str:
        content = self.of(value.tolist()) if value.dtype.hasobject else _hash(value.tobytes())
        return joined("array", str(value.dtype), str(value.shape), content)

    def _generator(self, value: Any) -> str:
        """Its kind, without its state, which is another one in each process; a subclass by its code and its
        attributes."""
        kind = type(value)
        parts = sorted({_name(c) for c in kind.__mro__} & GENERATORS)
        if hasattr(value, "bit_generator"):
            parts.append(type(value.bit_generator).__qualname__)
        if _name(kind) in GENERATORS or _is_ours(kind) or kind.__module__.startswith("numpy.random."):
            return joined("generator", *parts)
        return joined("generator", *parts, self.of(kind), self.of(_attributes(value)))

    def _class(self, value: type) -> str:
        return joined(
            *(part for c in value.__mro__ if not _is_ours(c) for part in self.one_class(c)),
            "" if type(value) is type else self.of(type(value)),
        )

    def one_class(self, value: type) -> list[str]:
        """Its file; of a class that its module has not under its name, all that it has; else what is not in its
        source."""
        parts = [value.__qualname__, _module(value.__module__)]
        if not value.__flags__ & HEAP_TYPE or _is_not_python(value.__module__):
            return parts
        whole = _by_name(value) is not value
        for name, member in sorted(vars(value).items()):
            if name in IN_EVERY_CLASS or isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                continue
            if type(member) in ATOMS or (whole and not callable(member)):
                wanted = not (name.startswith("__") and name.endswith("__")) or isinstance(
                    member, (staticmethod, classmethod, property)
                )
                parts += [name, self.of(member)] if wanted else []
            elif whole:
                parts += [name, self.of(member)]
            elif inspect.isfunction(member):
                parts += [name, self.code(member.__code__)]
        return parts

    def _compiled(self, value: Any) -> str | None:
        """What was made from a Python function by a compiler that is known, or is a cache of it."""
        kind, root = type(value), type(value).__module__.partition(".")[0]
        if kind is functools._lru_cache_wrapper:
            if value.cache_info().currsize:
                raise Undigestible  # what it has stored may be of another function, and cannot be seen
            others = {n: v for n, v in vars(value).items() if n not in ("__wrapped__", "cache_parameters")}
            return joined("cache", *map(self.of, (value.cache_parameters(), others, value.__wrapped__)))
        if root == "numba" and hasattr(value, "py_func"):
            options = self.of(value.targetoptions), self.of({str(k): str(v) for k, v in value.locals.items()})
            return joined("compiled", kind.__qualname__, _version(root), *options, self.of(value.py_func))
        if inspect.isfunction(value):
            cells = map(content, value.__closure__ or ())
            root = str(value.__globals__.get("__name__")).partition(".")[0]
        else:
            cells = [vars(value).get("dynamo_ctx")] if root == "torch" and hasattr(value, "__dict__") else []
        if root == "torch" and "_torchdynamo_orig_callable" in getattr(value, "__dict__", ()):
            (context,) = [cell for cell in cells if hasattr(cell, "callback")]
            settings = {name: v for name, v in vars(context).items() if type(v) in ATOMS and not name.endswith("_id")}
            backend = context.callback
            while (inner := getattr(backend, "_torchdynamo_orig_backend", None)) is not None:
                backend = inner
            parts = map(self.of, (settings, backend, vars(value)["_torchdynamo_orig_callable"]))
            return joined("compiled", kind.__qualname__, _version(root), *parts)
        return None

    def function(self, value: Any) -> str:
        code = value.__code__
        place = f"{code.co_name}:{code.co_firstlineno}", file_digest(inspect.getsourcefile(value))
        return joined(*place, self.code(code) if "<" in code.co_name else "", *map(self.of, _carried(value)))

    def code(self, code: types.CodeType) -> str:
        constants = [self.code(c) if isinstance(c, types.CodeType) else self.of(c) for c in code.co_consts]
        return joined(
            "code", *map(self.of, (code.co_code, code.co_names, code.co_varnames, code.co_freevars)), *constants
        )

    def _of_torch(self, value: Any) -> str:
        """A tensor, or a function of TorchScript that carries no constants."""
        if type(value).__name__ in ("Tensor", "Parameter"):
            torch = sys.modules["torch"]
            plain = value.detach().cpu().resolve_conj().resolve_neg().flatten()
            flat = plain.clone(memory_format=torch.contiguous_format)
            content = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
            shape = str(value.dtype), str(tuple(value.shape))
            return joined("tensor", *shape, _hash(content), self.of(_attributes(value)))
        if type(value).__name__ == "ScriptFunction":
            graph = re.sub(r" # [^\"\n]*:\d+:\d+$", "", str(value.inlined_graph), flags=re.MULTILINE)
            if "CONSTANTS" in value.code or re.search(r"value=<|\^|CallMethod", graph):
                raise Undigestible  # a part of it is elsewhere, and is only named
            return joined("script", value.code, graph, _version("torch"))
        return self._routine(value) if inspect.isroutine(value) else self._instance(value)

    def _routine(self, value: Any) -> str:
        """A function without Python source: it has to be what its module has under its name."""
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType) and value.__module__ is None:
            return joined("method", value.__name__, self.of(owner))
        if _by_name(value) is not value:
            raise Undigestible
        return joined(getattr(value, "__qualname__", value.__name__), _module(value.__module__))

    def _instance(self, value: Any) -> str:
        """By what it says of itself where it is to be copied; what hides its state says TypeError."""
        reduced, kind = value.__reduce_ex__(2), self.of(type(value))
        if isinstance(reduced, str):
            return joined("global", reduced, kind)
        make, arguments, *rest = reduced
        state, items, pairs = (*rest, None, None, None)[:3]
        parts = make, arguments, state, list(items or ()), dict(pairs or ())
        hidden = _attributes(value) if isinstance(value, np.ndarray) else None  # NumPy leaves them out
        return joined("object", kind, *map(self.of, (*parts, hidden)))


def _carried(function: Any) -> list[Any]:
    """What a Python function has in addition to the file that defines it."""
    wrapped = vars(function).get("__wrapped__")
    copied = getattr(wrapped, "__dict__", {})  # by functools.wraps: covered with the function that is wrapped
    own = {n: v for n, v in vars(function).items() if n != "__wrapped__" and (n not in copied or copied[n] is not v)}
    made = "<locals>" in function.__qualname__ or "<lambda>" in function.__qualname__
    defaults = [function.__defaults__, function.__kwdefaults__] if made else []
    return [[*map(content, function.__closure__ or ())], defaults, wrapped, own]


def content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "not set yet"


def _attributes(value: Any) -> dict[str, Any]:
    """What an object has in its dictionary and its slots."""
    slots = {name: getattr(value, name) for name in _slot_names(type(value)) if hasattr(value, name)}
    return {**getattr(value, "__dict__", {}), **slots}


def _by_name(value: Any) -> Any:
    """What the module of a class or a function has under its name."""
    member: Any = sys.modules.get(value.__module__)
    for name in getattr(value, "__qualname__", value.__name__).split("."):
        member = getattr(member, name, None)
    return member


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(f"{__package__}.") or "_renamed" in vars(kind)


def _has_python_class(value: Any) -> bool:
    """Whether its class was written in Python, so that it may keep something."""
    kind = type(value)
    path = getattr(sys.modules.get(kind.__module__), "__file__", None)
    from_python = kind.__flags__ & HEAP_TYPE and str(path).endswith(".py")
    return bool(from_python) or not isinstance(kind.__call__, types.WrapperDescriptorType)


def _module(name: str) -> str:
    """Of Python's own library the name; of an extension the file and its distribution's version; else the file."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None and name in sys.builtin_module_names:
        return joined("python", name)
    return joined(file_digest(path), _version(name) if str(path).endswith(tuple(EXTENSION_SUFFIXES)) else "")


def _is_not_python(module: str) -> bool:
    """Python's own library, or an extension."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:
        return module in sys.builtin_module_names and module != "builtins"
    return path.endswith(tuple(EXTENSION_SUFFIXES)) or is_standard(Path(path).resolve())


def is_standard(path: Path) -> bool:
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and any(path.is_relative_to(folder) for folder in STANDARD_LIBRARY)


_distributions = functools.cache(packages_distributions)


def _version(module: str) -> str:
    known = _distributions().get(module.partition(".")[0], ())
    return ",".join(f"{name} {version(name)}" for name in sorted(set(known)))


def loaded_parts() -> dict[str, str]:
    """What the code of this process was made of: files of modules by their digest, distributions by their version.

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
            parts |= {known: version(known) for known in _distributions().get(name.partition(".")[0], ())}
        elif not is_standard(Path(file).resolve()):
            parts[file] = file_digest(file)
    return parts


def changed_since(parts: Mapping[str, str]) -> list[str]:
    """The files and distributions among ``loaded_parts`` of an earlier process that are not what they were."""

    def now(part: str) -> str | None:
        try:
            return file_digest(part) if os.sep in part else version(part)
        except (OSError, PackageNotFoundError):
            return None

    return [part for part, was in parts.items() if now(part) != was]


def file_digest(path: str | None) -> str:
    if path is None:
        raise Undigestible
    file = Path(path).resolve()
    return joined("python", file.name) if is_standard(file) else _hash(file.read_bytes())


def joined(*parts: str) -> str:
    return _hash(repr(parts).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
