"""The code that an audited function was seen to import: files by their digest, installed packages by their version."""

import functools
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

from ....proofs.interception.digests import is_standard
from ....proofs.proof_checkpoint import is_source
from .code_files import name_of

INSTALLED = {"site-packages", "dist-packages"}
IMPORTABLE = {".py", ".pyc", ".so", ".pyd"}

_distributions = functools.cache(packages_distributions)


class ImportedCode(NamedTuple):
    """What the modules of a process came from, besides Python's own library and draftproof.

    files: of no installed package. packages: installed ones, by the names of their distributions.
    """

    files: tuple[str, ...]
    packages: tuple[str, ...]

    def beside(self, top: Path) -> dict[str, list[str]]:
        """What else could be imported from the folders of the files: a new name can take the place of another.

        top: what folders are named from, where they are in it.
        """
        folders = sorted({Path(file).parent for file in self.files})
        return {name_of(folder, top): importable(folder) for folder in folders}


def imported_code(modules: Iterable[str] | None) -> ImportedCode | None:
    """Of the files of modules; None where they are not known, or a module is in no file of its own (in an archive)."""
    if modules is None:
        return None
    files, packages = set(), set()
    for path in {Path(name).resolve() for name in modules}:
        if is_standard(path) or is_source(path):
            continue
        if distributions := _distributions().get(_top(path)):
            packages |= {*distributions}
        elif path.is_file():
            files.add(str(path))
        else:
            return None
    return ImportedCode(tuple(sorted(files)), tuple(sorted(packages)))


def _top(path: Path) -> str:
    """The top package of an installed file; empty for others."""
    at = next((k for k, part in enumerate(path.parts) if part in INSTALLED), len(path.parts))
    return path.parts[at + 1].partition(".")[0] if at + 1 < len(path.parts) else ""


def importable(folder: Path) -> list[str]:
    """The names of modules and packages in a folder."""
    return sorted(p.name for p in folder.iterdir() if p.suffix in IMPORTABLE or (p / "__init__.py").is_file())
