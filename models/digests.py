"""Digests of files: of those that a result depends on, and of draftproof's own sources."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .environment import environment, versions

ROOT = Path(__file__).resolve().parents[1]
"""The package draftproof."""

MECHANIZED = ROOT / "proofs" / "mechanized"
"""The Coq sources: in a clone and in the source distribution, not in a wheel."""


def coq_sources() -> list[Path]:
    """The files that Coq is given, none where there is no folder of them."""
    return sorted(file for kind in ("*.v", "Makefile", "_CoqProject") for file in MECHANIZED.glob(kind))


def sources(*rooms: str) -> tuple[str, ...]:
    """Patterns of the sources in folders of the package."""
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
    """The digest of sources of draftproof and of the versions in use.

    declared: patterns of the files in the package that a result depends on. others: files elsewhere, by name.
    """
    digest = hashlib.sha256(repr((environment(), versions("z3-solver", "scipy"))).encode())
    named = {str(path.relative_to(ROOT)): path for pattern in declared for path in ROOT.glob(pattern)}
    for name, path in sorted((named | {path.name: path for path in others}).items()):
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()
