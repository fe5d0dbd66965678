"""What a result may depend on apart from its inputs: versions of draftproof, Python and packages, and the machine."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__


def versions(*packages: str) -> dict[str, str]:
    """The versions of those packages that are installed, by name."""
    return {package: found for package in packages if (found := _version(package))}


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def environment() -> dict[str, str]:
    """Versions of draftproof, Python and the packages that a report can depend on, and the kind of machine."""
    own = {"draftproof": __version__, "python": platform.python_version(), "machine": platform.machine()}
    return own | versions("numpy", "sympy", "python-flint", "torch", "transformers")


def processor() -> str:
    """The processor's name, as far as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
