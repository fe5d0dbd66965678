"""The files that were audited, by digest: of the code that a subject names, and of the models."""

import hashlib
import shlex
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from ....verifiers.adapters.engines import ENGINES
from ....verifiers.adapters.registry import ADAPTERS
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


def code_files(part: Part, folder: Path) -> dict[str, Path]:
    """name -> file, of what a part audits: its code, its problems, its models; without importing anything.

    folder: that of the plan. A name is relative to it where the file is in it; files of packages are named from the package.
    """
    options = part.options
    files: dict[str, Path] = {}
    for value in (options.get("subject"), options.get("engine")):
        if value is not None:
            files |= dict(_of_subject(value, folder))
    for word in shlex.split(options["exec"]) if "exec" in options else ():
        files |= dict(_of_path(word, folder))
    named = [options[name] for name in ("file", "target", "draft", "prompts", "problem") if name in options]
    for value in [*named, *options.get("problems", ())]:
        files |= dict(_of_path(value, folder))
    return dict(sorted(files.items()))


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


def _of_path(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """A file, or the files directly in a folder; nothing if the name is no path."""
    try:
        path = (folder / Path(name).expanduser()).resolve()
        chosen = sorted(f for f in path.iterdir() if f.is_file()) if path.is_dir() else [path] if path.is_file() else []
    except (OSError, ValueError, RuntimeError):
        return
    for file in chosen:
        inside = file.is_relative_to(folder)
        yield (file.relative_to(folder) if inside else file).as_posix(), file


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


def neighbours(files: dict[str, Path]) -> list[Path]:
    """Python files beside those of the plan's folder: what a file may import, as far as that can be seen from outside."""
    folders = {
        file.parent for name, file in files.items() if file.suffix == ".py" and not name.startswith("draftproof/")
    }
    return sorted(other for folder in folders for other in folder.glob("*.py"))
