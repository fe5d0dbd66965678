"""Loading of the third-party object that a name means, in the child process, as its own package would."""

import importlib
import importlib.util
import operator
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from ...verifiers.adapters.calling_convention import NotASubject
from .outcomes import readable

FORMS = "package.module:function or path/to/file.py:function"


def load(subject: str) -> Any:
    """Return the object named by ``path/to/file.py:attribute`` or ``package.module:attribute``.

    A file in a folder with ``__init__.py`` is imported as a module of that package, under its dotted name. Other files
    find their neighbours, as when run as a script.
    Raises: NotASubject in one line, whatever goes wrong while the module runs.
    """
    place, colon, attribute = subject.rpartition(":")
    if not colon or not place or not attribute:
        raise NotASubject(f"{subject!r} names no function; expected {FORMS}")
    try:
        module = _of_file(Path(place).absolute(), place) if place.endswith(".py") else _of_name(place)
    except NotASubject:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and Path(place).is_dir():
            raise NotASubject(f"{place} is a folder; expected path/to/file.py:function") from None
        raise NotASubject(f"{place} cannot be imported ({_why(error)})") from None
    try:
        return operator.attrgetter(attribute)(module)
    except AttributeError:
        close = get_close_matches(attribute, vars(module), 1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise NotASubject(f"{place} has no attribute {attribute!r}{meant}") from None


def search(folders: Sequence[str]) -> list[str]:
    """Search modules where the parent process does, in its order; return the folders that are new to this process."""
    wanted = [str(Path(folder).absolute()) for folder in folders]
    new = [folder for folder in wanted if folder not in sys.path]
    sys.path[:] = [*wanted, *(folder for folder in sys.path if folder not in wanted)]
    return new


def used(folders: Sequence[str], subject: str, copied: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the folders that a module was, or the subject's would be, imported from.

    copied: file and name of modules that came by value.
    The folder that loading the subject adds by itself is left out.
    """
    if not folders:  # a process of torch has thousands of modules
        return []
    place = subject.rpartition(":")[0]
    own = str(dotted_name(Path(place).absolute())[0]) if place.endswith(".py") else ""
    here, places, named = str(Path.cwd()), set(), None if place.endswith(".py") else importlib.util.find_spec(place)
    found = [(getattr(module, "__file__", None), getattr(module, "__name__", "")) for module in [*sys.modules.values()]]
    for file, name in [*found, *copied, *([(named.origin, named.name)] if named else [])]:
        if isinstance(file, str) and os.path.join(here, file).startswith(tuple(folders)):
            parents = Path(file).absolute().parents
            places.add(str(parents[min(name.count(".") + (Path(file).stem == "__init__"), len(parents) - 1)]))
    return [folder for folder in folders if folder in places and folder != own]


def dotted_name(file: Path) -> tuple[Path, list[str]]:
    """Return the folder to search and the parts of a file's dotted name, by the ``__init__.py`` in its folders."""
    folder, names = file.parent, [] if file.stem == "__init__" else [file.stem]
    while (folder / "__init__.py").is_file() and "." not in folder.name:
        folder, names = folder.parent, [folder.name, *names]
    return folder, names


def _of_name(name: str) -> ModuleType:
    sys.path.append(str(Path.cwd()))
    return importlib.import_module(name)


def _of_file(file: Path, given: str) -> ModuleType:
    if not file.is_file():
        raise NotASubject(f"{given}: no such file")
    folder, names = dotted_name(file)
    if len(names) == 1:
        return _script(file, names[0])
    known, taken = _imported_as(folder / names[0]), sys.modules.get(names[0])
    if known is None and taken is not None:
        raise NotASubject(
            f"{given} is {'.'.join(names)} by its folders, but {names[0]} is {getattr(taken, '__file__', 'another')}; "
            "expected a package of another name"
        )
    names[0] = known or names[0]
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    sys.path.append(str(file.parent))  # for neighbours that are imported as if it were a script
    module = importlib.import_module(".".join(names))
    if not _same(getattr(module, "__file__", None) or "", file):
        found = getattr(module, "__file__", "no file")
        raise NotASubject(f"{given} is {'.'.join(names)} by its folders, but importing that gives {found}")
    return module


def _imported_as(package: Path) -> str | None:
    """Return the name by which a package has been imported: its folder's, or a link's to it."""
    for name, module in list(sys.modules.items()):
        if "." not in name and any(_same(place, package) for place in getattr(module, "__path__", ())):
            return name
    return None


def _script(file: Path, stem: str) -> ModuleType:
    """Import a file that belongs to no package, under its own name or, if that is taken, another."""
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))  # so that the file finds its neighbours, as when run as a script
    taken = stem in sys.modules or stem in sys.stdlib_module_names
    spec = importlib.util.spec_from_file_location(f"subject_in_{stem}" if taken else stem, file)
    if spec is None or spec.loader is None:
        raise NotASubject(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _same(path: str, other: Path) -> bool:
    return bool(path) and Path(path).resolve() == other.resolve()


def _why(error: BaseException) -> str:
    why = ": ".join(filter(None, (type(error).__name__, readable(error))))
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        why += "; it imports relatively, but its folder has no __init__.py: name it as package.module:function, in the"
        why += " folder that holds the package"
    return why
