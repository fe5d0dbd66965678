"""The files that were audited, by digest: of the code that a subject names, and of the models."""

import ast
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from ....verifiers.adapters.engines import ENGINES
from ....verifiers.adapters.registry import ADAPTERS, OURS
from ....verifiers.registry import REFERENCES
from .plan import Part

ROOT = Path(__file__).parents[3]
"""The package draftproof."""


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def code_files(part: Part, folder: Path, imported: Sequence[str] | None = None) -> dict[str, Path]:
    """name -> file, of what a part audits: its code, its problems, its models; without importing anything.

    folder: that of the plan. A name is relative to it where the file is in it; files of packages are named from the package.
    imported: the files that its code was seen to import; where that is not known, of a Python file also those beside it, and
        those that the import statements of all these name.
    """
    options = part.options
    files: dict[str, Path] = {}
    for value in (options.get("subject"), options.get("engine")):
        if value is not None:
            files |= dict(_of_subject(value, folder))
    for word in _words(options.get("exec", "")):
        files |= dict(_of_path(word, folder))
    if imported is None:
        scripts = [file for name, file in files.items() if file.suffix == ".py" and name == name_of(file, folder)]
        seen = {file for script in scripts for file in _beside_and_imported(script)}
    else:
        seen = {Path(file) for file in imported} - {*files.values()}
    files |= {name_of(file, folder): file for file in seen if file.is_file()}
    named = [options[name] for name in ("file", "target", "draft", "prompts", "problem") if name in options]
    for value in [*named, *options.get("problems", ())]:
        files |= dict(_of_path(value, folder, deep=value in (options.get("target"), options.get("draft"))))
    for value in options.get("files", ()):
        files |= dict(_of_path(value, folder, deep=True))
    return dict(sorted(files.items()))


def all_files_are_known(part: Part, folder: Path, imports_are_known: bool = False) -> bool:
    """Whether whatever a part's result depends on is among its ``code_files``, or draftproof's code or an installed version.

    imports_are_known: whether its process said, after the calls, which modules it had imported. Third-party code can read
    other files besides: of those only the plan can say so, by ``files``. A URL has no digest.
    """
    options = part.options
    if part.kind in ("server", "nightly", "report"):
        return False
    models = [options.get(name) for name in ("target", "draft")] if part.kind == "e2e" else []
    if not all(name and (folder / Path(name).expanduser()).is_dir() for name in models):
        return False  # of the Hub
    if part.kind == "e2e" and "prompts" in options and not dict(_of_path(options["prompts"], folder)):
        return False
    program = (_words(options.get("exec", "")) or [""])[0]
    if program and not (dict(_of_path(program, folder)) or Path(program).name.startswith("python")):
        return False  # it is somewhere on the path
    if "files" in options:
        return all(_is_whole(name, folder) for name in options["files"])
    if program:
        return False
    name = options.get("subject")
    if imports_are_known and ":" in _loaded_from(name or options.get("engine", "")):
        return True
    adapted = any(adapter.name == name and not adapter.engines for adapter in OURS)
    return (name is None or name in REFERENCES or adapted) and options.get("engine", "transformers") in ENGINES


def _is_whole(name: str, folder: Path) -> bool:
    """Whether all that is below a name is among its files: there is something, and no linked folder."""
    links = (p for p in (folder / name).rglob("*") if p.is_symlink() and p.is_dir())
    return bool(dict(_of_path(name, folder, deep=True))) and next(links, None) is None


def _loaded_from(name: str) -> str:
    """What a name means to the child: its own form, or what an adapter that another distribution ships names."""
    shipped = name in ADAPTERS and ADAPTERS[name] not in OURS
    return ADAPTERS[name].target if shipped else name


def packages_of(part: Part) -> tuple[str, ...]:
    """The packages whose versions a part depends on, besides those that everything depends on."""
    name = str(part.options.get("subject", part.options.get("engine")))
    entry = ADAPTERS.get(name) or ENGINES.get(name)
    return tuple(package.replace("_", "-") for package in entry.packages) if entry else ()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that is not closed: running the part says so
        return command.split()


def _of_subject(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Of draftproof's own verifiers their package; of an adapter the engine's module; of a file itself."""
    if name in REFERENCES:
        yield from _own(ROOT / "verifiers")
        return
    source = ADAPTERS[name].source if name in ADAPTERS else ""
    engine = ENGINES.get(name)
    if name in ADAPTERS or engine:
        if source.startswith("draftproof."):
            yield from _own(ROOT / "verifiers" / "batched")
        target = ADAPTERS[name].target if name in ADAPTERS else (engine.sample if engine else "")
        yield from _of_module(target.partition(":")[0])
        for top in engine.packages if engine else ():
            yield from _of_module(top)
        yield from _of_module(source.split(",")[0].rpartition(".")[0])
        return
    place = name.rpartition(":")[0]
    yield from _of_path(place, folder) if place.endswith(".py") else _of_module(place)


def _own(package: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(package.glob("*.py")):
        yield f"draftproof/{file.relative_to(ROOT).as_posix()}", file


def _of_path(name: str, folder: Path, deep: bool = False) -> Iterator[tuple[str, Path]]:
    """A file, or the files directly in a folder (deep: also in those below it); nothing if the name is no path."""
    try:
        path = (folder / Path(name).expanduser()).resolve()
        there = path.rglob("*") if deep and path.is_dir() else path.iterdir() if path.is_dir() else [path]
        chosen = sorted(f for f in there if f.is_file() and f.parent.name != "__pycache__")
    except (OSError, ValueError, RuntimeError):
        return
    for file in chosen:
        yield name_of(file, folder), file


def name_of(file: Path, folder: Path) -> str:
    return (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix()


def _of_module(name: str) -> Iterator[tuple[str, Path]]:
    """The file of a module, found by name alone: importing it would run third-party code."""
    parts = name.split(".")
    spec = PathFinder.find_spec(parts[0]) if all(part.isidentifier() for part in parts) else None
    if spec is None:
        return
    locations = [Path(place) for place in spec.submodule_search_locations or ()]
    if not locations:
        if spec.origin and Path(spec.origin).is_file():
            yield Path(spec.origin).name, Path(spec.origin)
        return
    for place in locations:
        for file in (place.joinpath(*parts[1:]).with_suffix(".py"), place.joinpath(*parts[1:], "__init__.py")):
            if file.is_file():
                yield f"{parts[0]}/{file.relative_to(place).as_posix()}", file
                return


def _beside_and_imported(script: Path) -> set[Path]:
    """The Python files beside a script, and those below its folder that the import statements of all of them name."""
    known: set[Path] = set()
    new = {script, *script.parent.glob("*.py")}
    while new:
        known |= new
        new = {file for one in new for file in _imported(one, script.parent)} - known
    return known


def _imported(file: Path, top: Path) -> Iterator[Path]:
    """top: the folder in which a module without dots is looked for."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in nodes:
        names: list[tuple[Path, str]] = []
        if isinstance(node, ast.Import):
            names = [(top, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = file.parents[min(node.level, len(file.parents)) - 1] if node.level else top
            names = [(start, ".".join(filter(None, (node.module, alias.name)))) for alias in node.names]
        for start, name in names:
            parts = name.split(".")
            for k in range(1, len(parts) + 1):
                place = start.joinpath(*parts[:k])
                yield from (f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file())
