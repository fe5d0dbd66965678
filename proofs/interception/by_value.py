"""An object that goes from a process to its child by value: what the child calls is what was handed over.

cloudpickle copies the object with the code and the global values that it uses of its own module and of others that no
library has, as they are now; what a library has goes by name. Random generators of NumPy arrive as followed ones.
"""

import base64
import io
import pickle
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle
import numpy as np

from ...verifiers.adapters.calling_convention import NotASubject
from . import hook_numpy
from .digests import digest_of, is_standard
from .outcomes import readable

NO_FILE = "<dynamic-code>"
"""What cloudpickle says in place of the file that code is from."""


def by_value(subject: Any) -> dict[str, Any]:
    """Return the object as text ("content"), and the digest of what it is made of ("digest").

    "modules": [file, name] of its own module and of others of the user that it uses. "by_name": those of them that
    cannot be copied, so that the child imports them anew. "script": whether it belongs to the script that runs, which
    cannot be imported again.
    Raises: TypeError, with the reason, for what cannot be copied.
    """
    own = _module(subject)
    owned = [own] if own is not None else []
    modules = [m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType) and _is_users(m)]
    used, by_name = _used(own, modules), list[types.ModuleType]()
    try:
        content = _copied(subject, [*owned, *modules])
    except TypeError:
        content, by_name = _copied(subject, owned), used
    return {
        "content": base64.b64encode(content).decode(),
        "digest": digest_of(subject),
        "modules": [[m.__file__, m.__name__] for m in [*owned, *used] if getattr(m, "__file__", None)],
        "by_name": [m.__name__ for m in by_name],
        "script": own is not None and own.__name__ == "__main__",
    }


def _copied(subject: Any, modules: list[types.ModuleType]) -> bytes:
    """Pickle the object, with what it uses of these modules by value. Raises: TypeError for what cannot be copied."""
    registered = []
    try:
        for module in dict.fromkeys(modules):
            if sys.modules.get(module.__name__) is module:
                cloudpickle.register_pickle_by_value(module)
                registered.append(module)
        copy = io.BytesIO()
        _WithFiles(copy).dump(subject)
        return copy.getvalue()
    except Exception as error:  # third-party objects decide what happens when they are copied
        raise TypeError(readable(error)) from None
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _code_with_file(code: types.CodeType) -> tuple[Any, ...]:
    made: Any = cloudpickle.Pickler.dispatch_table[types.CodeType](code)
    make, arguments = made[:2]
    return make, tuple(code.co_filename if one == NO_FILE else one for one in arguments)


class _WithFiles(cloudpickle.Pickler):
    """Pickles code with the name of its file, which messages and reports show."""

    dispatch_table: ClassVar[Any] = {**cloudpickle.Pickler.dispatch_table, types.CodeType: _code_with_file}


def _used(own: types.ModuleType | None, modules: list[types.ModuleType]) -> list[types.ModuleType]:
    """Return the modules that a module has, or has something of."""
    values = list(vars(own).values()) if own is not None else []
    names = {v.__name__ if isinstance(v, types.ModuleType) else getattr(v, "__module__", None) for v in values}
    return sorted((m for m in modules if m is not own and m.__name__ in names), key=lambda m: m.__name__)


def received(content: str) -> Any:
    """Return the object in the child process. Raises: NotASubject in one line."""
    try:
        return _Received(io.BytesIO(base64.b64decode(content))).load()
    except BaseException as error:
        why = f"{type(error).__name__}: {readable(error)}"
        raise NotASubject(f"the object cannot be made in a child process ({why}): pass its name") from None


class _Received(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if not module.startswith("numpy.random"):
            return found
        if name == "__generator_ctor":
            return lambda *arguments: hook_numpy.followed_generator(found(*arguments))
        if name == "__randomstate_ctor":
            return lambda *arguments: hook_numpy.TracedRandomState(found(*arguments)._bit_generator)
        return getattr(np.random, name, found)


def _module(subject: Any) -> types.ModuleType | None:
    """Return the module that an object belongs to, unless that is a library's."""
    owner = getattr(subject, "func", None) or getattr(subject, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return _module(owner)
    names = getattr(subject, "__globals__", {}).get("__name__"), getattr(subject, "__module__", None)
    name = next((n for n in names if n), type(subject).__module__)
    module = sys.modules.get(str(name))
    return module if module is not None and _is_users(module) else None


def _is_users(module: types.ModuleType) -> bool:
    """Check whether a module is neither a library's nor this package's."""
    name, file = module.__name__, vars(module).get("__file__")
    if name == "draftproof" or (name.startswith("draftproof.") and not name.startswith("draftproof.tests.")):
        return False
    if not isinstance(file, str):
        return name == "__main__"
    path = Path(file).resolve()
    return not {"site-packages", "dist-packages"} & set(path.parts) and not is_standard(path)
