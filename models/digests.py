"""What a result may depend on: versions, the machine, and files by their digests, of draftproof's own sources too."""

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of those packages that are installed, by name."""
    return {package: found for package in packages if (found := _version(package))}


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def environment() -> dict[str, str]:
    """Return the versions of draftproof, Python and the packages that a report can depend on, and the kind of
    machine.
    """
    own = {"draftproof": __version__, "python": platform.python_version(), "machine": platform.machine()}
    return own | versions("numpy", "sympy", "python-flint", "torch", "transformers")


def processor() -> str:
    """Return the processor's name, as far as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


ROOT = Path(__file__).resolve().parents[1]
"""The package draftproof."""

MECHANIZED = ROOT / "proofs" / "mechanized"
"""The Coq sources: in a clone and in the source distribution, not in a wheel."""


def coq_sources() -> list[Path]:
    """Return the files that Coq is given; none if there is no folder of them."""
    return sorted(file for kind in ("*.v", "Makefile", "_CoqProject") for file in MECHANIZED.glob(kind))


def sources(*rooms: str) -> tuple[str, ...]:
    """Return patterns of the sources in folders of the package."""
    return tuple(f"{room}/**/*.{ending}" for room in rooms for ending in ("py", "json", "j2"))


EXAMINING = sources("models", "proofs", "reports/audits", "stattests", "verifiers")
"""What the report of an audit depends on: not the pages and the command line."""

PRODUCT = ("*.py", "reports/*.py", *EXAMINING, *sources("reports/commands", "reports/pages", "reports/testing"))
"""Every source of the product; its tests are none."""


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def code_digest(declared: tuple[str, ...] = PRODUCT, others: Iterable[Path] = ()) -> str:
    """Return the digest of sources of draftproof and of the versions in use.

    declared: patterns of the files in the package that a result depends on. others: files elsewhere, by name.
    """
    digest = hashlib.sha256(repr((environment(), versions("z3-solver", "scipy"))).encode())
    named = {str(path.relative_to(ROOT)): path for pattern in declared for path in ROOT.glob(pattern)}
    for name, path in sorted((named | {path.name: path for path in others}).items()):
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()
