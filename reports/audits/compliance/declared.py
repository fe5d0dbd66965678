"""The files and packages that a part's result is valid for, as its plan names them, and what a part needs to be run.

Nothing is found by reading code.
"""

import os
import shlex
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from ....models.digests import ROOT, coq_sources, versions
from ....models.errors import InputError
from ....models.libraries import require
from ....proofs.statements import METHODS
from ....verifiers.adapters.registry import ADAPTERS, ENGINES, Adapter, Engine
from ....verifiers.registry import REFERENCES
from ..subject import subject_from
from .plan import Part, Plan

READ_AGAIN = ("server", "nightly", "report")
"""Kinds of parts that each run examines again: nothing of them has a digest beforehand."""

OF_CODE = ("audit", "engine", "campaign")
"""Kinds of parts that examine code, and whose reports state a digest of it as it was loaded."""

FILES = (".py", ".json", ".txt", ".jsonl")
"""Endings of names that can only be files."""

Files = dict[str, Path]


def declared_files(part: Part, folder: Path) -> Files:
    """Return name -> file for all that a part names: its code, problems, models, Coq's sources, and everything below
    what ``files`` has.

    folder: that of the plan. A name is relative to it where the file is in it; files of packages have the package's.
    """
    return dict(sorted((name, file) for files in _named(part, folder).values() for name, file in files.items()))


def declared_versions(part: Part, folder: Path) -> dict[str, str]:
    """Return the versions of the packages that a part names: its adapter's, and those among its ``files``."""
    entry = _entry(part)
    packages = [package.replace("_", "-") for package in entry.packages] if entry else []
    return versions(*packages, *(name for name in part.options.get("files", ()) if not (folder / name).exists()))


def undeclared(part: Part, folder: Path) -> list[str]:
    """Return what a part names that has no digest, so that each run examines it again."""
    named, further = _named(part, folder), part.options.get("files", ())
    linked = [name for name in further if any(p.is_symlink() and p.is_dir() for p in (folder / name).rglob("*"))]
    absent = [name for name, files in named.items() if not files and not (name in further and versions(name))]
    nothing = part.kind in READ_AGAIN or (part.kind in OF_CODE and not any(named.values()))
    return [*dict.fromkeys(linked + absent)] or ([part.what] if nothing else [])


def _named(part: Part, folder: Path) -> dict[str, Files]:
    """Return name -> its files for each thing that a part names; a name without files has no digest here."""
    options: dict[str, Any] = part.options
    named: dict[str, Files] = {}
    if (subject := options.get("subject", options.get("engine"))) is not None:
        named[subject] = dict(_of_subject(subject, folder))
    words = _words(part)
    if words and not Path(words[0]).name.startswith("python"):
        named[words[0]] = {}  # unless it is a file, it is somewhere on the path
    problems = [options["problem"]] if "problem" in options else options.get("problems", ())
    named |= {name: dict(_of_path(name, folder)) for name in (*words, *problems) if is_file(name, folder)}
    named |= {options["preset"]: {}} if "preset" in options else {}  # it is fetched from the Hub
    must = [options[name] for name in ("file", "prompts", "target", "draft") if name in options]
    named |= {name: dict(_of_path(name, folder)) for name in (*must, *options.get("files", ()))}
    if part.kind == "proofs" and options.get("run") and "coq" in options.get("methods", METHODS):
        named["coq"] = {f"draftproof/proofs/mechanized/{file.name}": file for file in coq_sources()}
    return named


def place(name: str, folder: Path) -> Path:
    """Return the path that a name of the plan has, if it is a file or a folder."""
    return folder / os.path.expanduser(name)


def is_file(name: str, folder: Path) -> bool:
    """Return whether a name is a file. A problem can stand in place of its file's name."""
    return os.path.isfile(place(name, folder))


def _words(part: Part) -> list[str]:
    command = part.options.get("exec", "")
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that is not closed: running the part says so
        return command.split()


def _entry(part: Part) -> Adapter | Engine | None:
    """Return the installed adapter or engine that a part names."""
    name = str(part.options.get("subject", part.options.get("engine")))
    return ADAPTERS.get(name) or ENGINES.get(name)


def _of_subject(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a subject: a file itself, draftproof's verifiers, or the modules of an adapter or engine."""
    if name in REFERENCES:
        yield from ((f"draftproof/{f.relative_to(ROOT).as_posix()}", f) for f in (ROOT / "verifiers").glob("*.py"))
    elif name in ADAPTERS:
        source, target = ADAPTERS[name].source, ADAPTERS[name].target
        yield from _of_modules(target.partition(":")[0], source.split(",")[0].rpartition(".")[0])
    elif name in ENGINES:
        yield from _of_modules(ENGINES[name].sample.partition(":")[0], *ENGINES[name].packages)
    elif (module := name.rpartition(":")[0]).endswith(".py"):
        yield from _of_path(module, folder)
    else:
        yield from _of_modules(module)


def _of_path(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield a file, or all files below a folder; nothing if the name is no path."""
    path = place(name, folder).resolve()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.parent.name != "__pycache__":
            yield (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix(), file


def _of_modules(*names: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of modules by name alone, since importing them would run third-party code."""
    for name in names:
        top, *rest = name.split(".")
        spec = PathFinder.find_spec(top) if top.isidentifier() else None
        inside = [str(ROOT)] if top == "draftproof" else spec.submodule_search_locations if spec else None
        places = [(Path(one).parent, Path(one).joinpath(*rest)) for one in inside or ()]
        found = [(at, file) for at, path in places for file in (path.with_suffix(".py"), path / "__init__.py")]
        if spec and spec.origin and not inside:
            found = [(Path(spec.origin).parent, Path(spec.origin))]
        yield from [(file.relative_to(at).as_posix(), file) for at, file in found if file.is_file()][:1]


def require_packages(part: Part) -> None:
    """Check that a part's packages are installed, beyond those of every audit.

    Raises: InputError that names what is not, and its extra.
    """
    options = part.options
    if entry := _entry(part):
        require(*entry.packages, extra=entry.extra)
    elif ":" in options.get("subject", ""):
        dtypes = (*options.get("dtypes", ()), options.get("dtype", "float64"))
        require(*["torch"] * subject_from(options["subject"], options.get("array"), dtypes).torch, extra="torch")
    elif part.kind == "nightly" and "db" in options:
        require("sqlalchemy", extra="nightly")
    elif part.kind == "proofs" and options.get("run"):
        require(*(package for package in ("sympy", "z3") if package in options.get("methods", METHODS)), extra="prove")
    elif part.kind == "server":
        require("httpx2", extra="servers")
    elif part.kind == "e2e":
        require("torch", "transformers", extra="transformers")


def lacking(plan: Plan) -> list[str]:
    """Return a line for each part that cannot be run, because a package or a file is missing."""
    lines = []
    for part in plan.parts:
        try:
            require_packages(part)
        except InputError as error:
            lines.append(f"{part.id}: {error}")
        options = part.options
        named = [options.get("file", ""), options.get("prompts", ""), options.get("subject", "").rpartition(":")[0]]
        absent = [name for name in named if name.endswith(FILES) and not place(name, plan.folder).exists()]
        lines += [f"{part.id}: {name} not found in {plan.folder}" for name in absent]
    return lines
