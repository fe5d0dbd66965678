"""Which version of a foreign function was audited: a digest of what it is made of."""

import functools
import hashlib
import inspect
import sys
import sysconfig
import types
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np

UNKNOWN = "unknown"
"""The digest of what cannot be told from another version of itself."""

ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...))
GENERATORS = {
    "random.Random", "numpy.random._generator.Generator", "numpy.random.mtrand.RandomState",
    "numpy.random.bit_generator.BitGenerator", "torch._C.Generator",
}  # fmt: skip
"""By name, for those that are followed are of classes derived from these."""

STANDARD_LIBRARY = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}


class _Undigestible(Exception):
    """There is neither source nor bytes to tell it by."""


def digest_of(function: Any) -> str:
    """SHA-256 of what a function is made of (of an adapter: the engine's); UNKNOWN where a part of it has no content.

    A plain function: the file that defines it, as ``sha256sum`` would say. With it what is bound: arguments of a
    partial, the object of a method, closures and defaults of a function made by another, the classes and the state of
    a callable object. Of a function compiled from Python (numba, torch.compile, jax): that function, the options and
    the compiler's version. Of an extension module: its file and the version of its distribution. Of a random
    generator: its kind; of Python's own library: names.
    Guarantee: two digests other than UNKNOWN that are equal are of equal code and values. What the code calls in other
    modules is not covered.
    """
    function = getattr(function, "published", lambda: function)()
    try:
        parts = _Parts()
        plain = inspect.isfunction(function) and not _carried(function) and not _original(function)
        return "sha256:" + (_file(inspect.getsourcefile(function)) if plain else parts.of(function))
    except Exception:  # foreign objects decide what happens when one looks at them
        return UNKNOWN


class _Parts:
    """Digests of values, each object looked at once, so that what contains itself has an end."""

    def __init__(self):
        self._seen: dict[int, tuple[Any, str]] = {}

    def of(self, value: Any) -> str:
        """Raises: _Undigestible; or whatever a foreign object raises when its state is asked for."""
        if type(value) in ATOMS:
            return _joined(type(value).__name__, repr(value))
        if id(value) not in self._seen:
            self._seen[id(value)] = value, f"within itself {len(self._seen)}"
            self._seen[id(value)] = value, self._looked_at(value)
        return self._seen[id(value)][1]

    def _looked_at(self, value: Any) -> str:
        kind = type(value)
        if kind in (tuple, list):
            return _joined(kind.__name__, *map(self.of, value))
        if kind in (set, frozenset):
            return _joined(kind.__name__, *sorted(map(self.of, value)))
        if kind in (dict, types.MappingProxyType):
            return _joined("dict", *sorted(self.of(k) + self.of(v) for k, v in value.items()))
        if isinstance(value, (np.ndarray, np.generic)):
            content = self.of(value.tolist()) if value.dtype.hasobject else _hash(value.tobytes())
            return _joined("array", str(value.dtype), str(value.shape), content)
        generator = {f"{c.__module__}.{c.__qualname__}" for c in kind.__mro__} & GENERATORS
        if generator:
            return _joined("generator", *generator)
        if isinstance(value, types.ModuleType):
            return _module(value.__name__)
        if inspect.isclass(value):
            return _joined(*(part for c in value.__mro__ for part in (c.__qualname__, _module(c.__module__))))
        if isinstance(value, functools.partial):
            return _joined("partial", *map(self.of, (value.func, value.args, value.keywords)))
        if inspect.ismethod(value):
            return _joined("method", self.of(value.__func__), self.of(value.__self__))
        if _original(value):
            options = self.of(getattr(value, "targetoptions", None))
            return _joined("compiled", kind.__qualname__, _version(kind.__module__), options, self.of(_original(value)))
        if inspect.isfunction(value):
            place = f"{value.__qualname__}:{value.__code__.co_firstlineno}"
            return _joined(place, _file(inspect.getsourcefile(value)), *map(self.of, _carried(value)))
        if kind.__module__.partition(".")[0] == "torch":
            return self._of_torch(value)
        if hasattr(value, "__name__") and callable(value):
            return self._routine(value)
        return self._instance(value)

    def _of_torch(self, value: Any) -> str:
        """A tensor, or a function of TorchScript that carries no constants."""
        if hasattr(value, "detach"):
            flat = value.detach().cpu().contiguous().flatten()
            content = flat.view(sys.modules["torch"].uint8).numpy().tobytes() if flat.numel() else b""
            return _joined("tensor", str(value.dtype), str(tuple(value.shape)), _hash(content))
        code = getattr(value, "code", None)
        if isinstance(code, str) and "CONSTANTS" not in code and not hasattr(value, "state_dict"):
            return _joined("script", code, _version("torch"))
        return self._routine(value) if inspect.isroutine(value) else self._instance(value)

    def _routine(self, value: Any) -> str:
        """A function without Python source: it has to be what its module has under its name."""
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType) and value.__module__ is None:
            return _joined("method", value.__name__, self.of(owner))
        found: Any = sys.modules.get(value.__module__)
        for name in getattr(value, "__qualname__", value.__name__).split("."):
            found = getattr(found, name, None)
        if found is not value:
            raise _Undigestible
        return _joined(value.__name__, _module(value.__module__))

    def _instance(self, value: Any) -> str:
        """By what it says of itself where it is to be copied; what hides its state says TypeError."""
        told = value.__reduce_ex__(2)
        if isinstance(told, str):
            return _joined("global", told, self.of(type(value)))
        make, arguments, *rest = told
        state, items, pairs = (*rest, None, None, None)[:3]
        return _joined("object", *map(self.of, (make, arguments, state, list(items or ()), dict(pairs or ()))))


def _original(value: Any) -> Any:
    """The Python function that something was compiled from or is a cache of; of numba, torch.compile, and what wraps."""
    names = ["py_func", "_torchdynamo_orig_callable", *(() if inspect.isfunction(value) else ("__wrapped__",))]
    return next((f for f in (getattr(value, name, None) for name in names) if callable(f)), None)


def _carried(function: Callable) -> list[Any]:
    """What a Python function has besides the file that defines it."""
    carried = [*map(_content, function.__closure__ or ())]
    if "<locals>" in function.__qualname__:
        carried += [function.__defaults__, function.__kwdefaults__]
    carried.append(getattr(function, "__wrapped__", None))
    return [value for value in carried if value is not None]


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "not set yet"


def _module(name: str) -> str:
    """Of Python's own library the name; of an extension the file and its distribution's version; else the file."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None and name in sys.builtin_module_names:
        return _joined("python", name)
    return _joined(_file(path), _version(name) if str(path).endswith(tuple(EXTENSION_SUFFIXES)) else "")


def _is_standard(path: Path) -> bool:
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and any(path.is_relative_to(folder) for folder in STANDARD_LIBRARY)


def _version(module: str) -> str:
    known = packages_distributions().get(module.partition(".")[0], ())
    return ",".join(f"{name} {version(name)}" for name in sorted(set(known)))


def _file(path: str | None) -> str:
    if path is None:
        raise _Undigestible
    found = Path(path).resolve()
    return _joined("python", found.name) if _is_standard(found) else _hash(found.read_bytes())


def _joined(*parts: str) -> str:
    return _hash(repr(parts).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
