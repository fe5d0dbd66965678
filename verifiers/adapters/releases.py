"""The files of every release of an engine's verifier, one by one out of its distributions on the package index.

A wheel is a zip archive: of one of 400 MB the few files that are wanted are read alone, by their place in it.
"""

import ast
import hashlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

REMOTE = ("pypi_simple", "remotezip", "packaging")
"""What reading an index takes: the extra ``history``."""


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """path: in the distribution. names: of the definitions that are lifted from it; none: all of it.

    needed: whether a release without it has no such verifier.
    """

    path: str
    names: tuple[str, ...] = ()
    needed: bool = True


class VerifierHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verifier through the releases of its package.

    package: on the index. engine: the folder that the verifier is lifted from.
    verifier: "module:attribute" of the adapted function.
    says: what it is, in words. since: the first release that is looked at. prereleases: whether those count.
    triton: whether it runs under Triton's interpreter.
    known: public issues about it: what they say, where.
    """

    name: str
    package: str
    engine: str
    verifier: str
    says: str
    files: tuple[File, ...]
    since: str
    prereleases: bool = False
    triton: bool = False
    known: tuple[tuple[str, str], ...] = ()


HISTORIES = {
    history.name: history
    for history in msgspec.json.decode(
        Path(__file__).with_name("histories.json").read_bytes(), type=tuple[VerifierHistory, ...]
    )
}


class Release(NamedTuple):
    """version; day: it was uploaded; url: of the distribution that is read."""

    version: str
    day: str
    url: str


def releases(history: VerifierHistory) -> list[Release]:
    """Those of a verifier, oldest first, as the index that pip uses has them ($PIP_INDEX_URL). Raises: OSError."""
    from packaging.version import InvalidVersion, Version
    from pypi_simple import NoSuchProjectError, PyPISimple  # pyright: ignore[reportMissingImports]

    index = os.environ.get("PIP_INDEX_URL")
    try:
        with PyPISimple(index) if index else PyPISimple() as client:
            packages = client.get_project_page(history.package).packages
    except NoSuchProjectError:
        raise OSError("the index has no such package") from None
    found: dict[Version, Release] = {}
    for package in packages:
        try:
            version = Version(package.version or "")
        except InvalidVersion:
            continue
        wanted = version >= Version(history.since) and (history.prereleases or not version.is_prerelease)
        if wanted and package.package_type == "wheel":
            day = package.upload_time.date().isoformat() if package.upload_time else ""
            found.setdefault(version, Release(package.version or "", day, package.url))
    return [found[version] for version in sorted(found)]


def unpack(history: VerifierHistory, release: Release, folder: Path) -> Path | None:
    """The folder of engines of one release, with the verifier's files in it; None if it has no such verifier.

    What was unpacked before is not read again. Raises: OSError.
    """
    from remotezip import RemoteZip, RemoteZipError  # pyright: ignore[reportMissingImports]

    root = folder / history.name / release.version
    made = root / history.engine
    if not (made / "PKG-INFO").is_file():
        try:
            with RemoteZip(release.url) as archive:
                there = set(archive.namelist())
                for file in history.files:
                    if file.path in there:
                        (made / file.path).parent.mkdir(parents=True, exist_ok=True)
                        (made / file.path).write_bytes(archive.read(file.path))
        except (RemoteZipError, zipfile.BadZipFile) as error:
            raise OSError(f"{release.version}: {error}") from None
        made.mkdir(parents=True, exist_ok=True)
        (made / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nVersion: {release.version}\n", encoding="utf-8")
    return (
        root
        if all((made / file.path).is_file() and text_of(made, file) for file in history.files if file.needed)
        else None
    )


def text_of(made: Path, file: File) -> str:
    """The definitions that are lifted, without comments and as one formatter writes them; "" if there are none."""
    try:
        body = ast.parse((made / file.path).read_text(encoding="utf-8")).body
    except FileNotFoundError:
        return ""
    return "\n\n".join(
        ast.unparse(node) for node in body if not file.names or getattr(node, "name", None) in file.names
    )


def texts(history: VerifierHistory, root: Path) -> Iterator[tuple[str, str]]:
    """Path and text of each of its files in one release."""
    for file in history.files:
        yield file.path, text_of(root / history.engine, file)


def digest(history: VerifierHistory, root: Path) -> str:
    """Of the verifier's text: releases with the same one have the same verifier."""
    return hashlib.sha256("\0".join(text for _, text in texts(history, root)).encode()).hexdigest()[:12]
