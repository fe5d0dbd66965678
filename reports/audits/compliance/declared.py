"""The files that a part's result is valid for, as its plan names them, and what a part needs to be run.

Nothing is found by reading code.
"""

import os
import shlex
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from ....models.digests import ROOT, coq_sources, versions
from ....models.errors import InputError
from ....models.libraries import require
from ....proofs.statements import METHODS
from ....verifiers.adapters.registry import ADAPTERS, ENGINES
from ....verifiers.registry import REFERENCES
from ..subject import subject_from
from .plan import Part, Plan


def declared_files(part: Part, folder: Path) -> dict[str, Path]:
    """Return name -> file for all that a part names: its code, problems, models, Coq's sources, and everything below
    what ``files`` has.

    folder: that of the plan. A name is relative to it where the file is in it; files of packages have the package's.
    """
    options, files = part.options, dict(_of_subject(part, folder))
    named = [options[name] for name in ("file", "prompts", "problem") if name in options]
    for name in [*_words(part), *named, *options.get("problems", ())]:
        if is_file(name, folder):
            files |= dict(_of_path(name, folder))
    for name in [*(options[n] for n in ("target", "draft") if n in options), *options.get("files", ())]:
        files |= dict(_of_path(name, folder))
    if part.kind == "proofs" and options.get("run") and "coq" in options.get("methods", METHODS):
        files |= {f"draftproof/proofs/mechanized/{file.name}": file for file in coq_sources()}
    return dict(sorted(files.items()))


def declared_versions(part: Part, folder: Path) -> dict[str, str]:
    """Return the versions of the packages that a part names: its adapter's, and those among its ``files``."""
    name = str(part.options.get("subject", part.options.get("engine")))
    entry = ADAPTERS.get(name) or ENGINES.get(name)
    packages = [package.replace("_", "-") for package in entry.packages] if entry else []
    return versions(*packages, *(name for name in part.options.get("files", ()) if not (folder / name).exists()))


def undeclared(part: Part, folder: Path) -> list[str]:
    """Return what a part names that has no digest, so that each run examines it again."""
    options, absent = part.options, []
    if part.kind in ("server", "nightly", "report"):
        return [part.what]
    if part.kind == "e2e":
        models = [options.get(name, part.what) for name in ("target", "draft")]
        absent += [name for name in dict.fromkeys(models) if not os.path.isdir(place(name, folder))]
        absent += [name for name in [options.get("prompts")] if name and not is_file(name, folder)]
    program = next(iter(_words(part)), "")
    if program and not is_file(program, folder) and not Path(program).name.startswith("python"):
        absent.append(program)  # it is somewhere on the path
    for name in options.get("files", ()):
        linked = (p for p in (folder / name).rglob("*") if p.is_symlink() and p.is_dir())
        if next(linked, None) or not (dict(_of_path(name, folder)) or versions(name)):
            absent.append(name)
    needs_code = part.kind in ("audit", "engine", "campaign") and not declared_files(part, folder)
    return absent or ([part.what] if needs_code else [])


def place(name: str, folder: Path) -> Path:
    """Return the path that a name of the plan has, if it is a file or a folder."""
    return folder / os.path.expanduser(name)


def is_file(name: str, folder: Path) -> bool:
    """Return whether a name is a file. A problem can stand in place of its file's name."""
    return os.path.isfile(place(name, folder))


def name_of(file: Path, folder: Path) -> str:
    return (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix()


def _words(part: Part) -> list[str]:
    command = part.options.get("exec", "")
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that is not closed: running the part says so
        return command.split()


def _of_subject(part: Part, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a subject: a file itself, draftproof's verifiers, or the modules of an adapter or engine."""
    name = part.options.get("subject", part.options.get("engine"))
    if name is None:
        return
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
            yield name_of(file, folder), file


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


PACKAGES = {
    "server": (("httpx2",), "servers"),
    "e2e": (("torch", "transformers"), "transformers"),
}
"""Packages that each kind of part needs, and the extra of draftproof that installs them."""

FILES = (".py", ".json", ".txt", ".jsonl")
"""Endings of names that can only be files."""


def packages_needed(part: Part) -> tuple[tuple[str, ...], str]:
    """Return the packages that a part needs beyond those of every audit, and the extra that installs them."""
    options = part.options
    name = str(options.get("subject", options.get("engine", "")))
    if entry := ADAPTERS.get(name) or ENGINES.get(name):
        return entry.packages, entry.extra
    if part.kind in ("audit", "campaign") and ":" in name:
        dtypes = (*options.get("dtypes", ()), options.get("dtype", "float64"))
        return (("torch",) if subject_from(name, options.get("array"), dtypes).torch else ()), "torch"
    if part.kind == "nightly" and "db" in options:
        return ("sqlalchemy",), "nightly"
    if part.kind == "proofs" and options.get("run"):
        return tuple(package for package in ("sympy", "z3") if package in options.get("methods", METHODS)), "prove"
    return PACKAGES.get(part.kind, ((), ""))


def require_packages(part: Part) -> None:
    """Check that a part's packages are installed. Raises: InputError that names what is not, and its extra."""
    packages, extra = packages_needed(part)
    require(*packages, extra=extra)


def lacking(plan: Plan) -> list[str]:
    """Return a line for each part that cannot be run, because a package or a file is missing."""
    lines = []
    for part in plan.parts:
        try:
            require_packages(part)
        except InputError as error:
            lines.append(f"{part.id}: {error}")
        named = [part.options[name] for name in ("file", "prompts") if name in part.options]
        subject = str(part.options.get("subject", "")).rpartition(":")[0]
        absent = [
            name
            for name in (*named, subject)
            if name.endswith(FILES) and not (plan.folder / Path(name).expanduser()).exists()
        ]
        lines += [f"{part.id}: {name} not found in {plan.folder}" for name in absent]
    return lines
