"""The files of every release of an engine's verifier, one by one out of its distributions on the package index.

A wheel is a zip archive: of one of 400 MB the few files that are wanted are read alone, by their place in it. Where a
release has no wheel its source distribution is read from its start until they have come. Commits of a git repository
are read in place of releases by ``commits``.
"""

import ast
import hashlib
import os
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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


HISTORIES = {
    history.name: history
    for history in msgspec.json.decode(
        Path(__file__).with_name("histories.json").read_bytes(), type=tuple[VerifierHistory, ...]
    )
}


SOURCES, GIT = ".tar.gz", "git:"
"""How the address of a source distribution ends, and how that of a commit begins."""


class Release(NamedTuple):
    """version; day: it was uploaded; url: of the wheel that is read, or else of the source
    distribution; empty if it has neither.

    others: the URLs of its other wheels. yanked: whether all its files are.
    """

    version: str
    day: str
    url: str
    others: tuple[str, ...] = ()
    yanked: bool = False


class UnreadableRelease(Exception):
    """Why the verifier of one release cannot be known: no file, a damaged one, wheels that differ, no Python."""


def releases(history: VerifierHistory) -> list[Release]:
    """Return the releases of a verifier, oldest first, yanked ones too, from the index of pip ($PIP_INDEX_URL).

    Raises: OSError.
    """
    from packaging.version import InvalidVersion, Version
    from pypi_simple import NoSuchProjectError, PyPISimple  # pyright: ignore[reportMissingImports]

    index = os.environ.get("PIP_INDEX_URL")
    try:
        with PyPISimple(index) if index else PyPISimple() as client:
            packages = client.get_project_page(history.package).packages
    except NoSuchProjectError:
        raise OSError("the index has no such package") from None
    files: dict[Version, list[Any]] = {}
    for package in packages:
        try:
            version = Version(package.version or "")
        except InvalidVersion:
            continue
        if version >= Version(history.since) and (history.prereleases or not version.is_prerelease):
            files.setdefault(version, []).append(package)
    return [_release(files[version]) for version in sorted(files)]


def _release(files: Sequence[Any]) -> Release:
    """One release of its files on the index: the wheel for any machine is read, or else that for x86-64 on Linux, or
    else the source distribution."""
    wheels = [file for file in files if file.package_type == "wheel"]
    wheels.sort(key=lambda file: ("-any" not in file.filename, "linux_x86_64" not in file.filename, file.filename))
    one = (wheels or files)[0]
    day = one.upload_time.date().isoformat() if one.upload_time else ""
    sources = [file for file in files if file.filename.endswith(SOURCES)]
    urls = [file.url for file in wheels or sources[:1]] or [""]
    return Release(one.version or "", day, urls[0], tuple(urls[1:]), all(file.is_yanked for file in files))


def commits(history: VerifierHistory, repository: Path, old: str, new: str) -> list[Release]:
    """Return two commits of a git repository and those between them that changed the verifier's files, oldest first.

    Along first parents: what came by a merge came with its commit.
    Raises: OSError that says what git says, or that old is not on the line to new.
    """
    first, last = (_git(repository, "rev-parse", "--verify", "--end-of-options", f"{at}^{{commit}}").strip()
                   for at in (old, new))  # fmt: skip
    if first not in _git(repository, "rev-list", "--first-parent", last).split():
        raise OSError(f"{old} is not on the line of first parents that ends in {new}")
    line = "log", "--first-parent", "--reverse", *SHORT, f"{first}..{last}", "--"
    between = _git(repository, *line, *(f":(glob)**/{file.path}" for file in history.files)).splitlines()
    ends = [_git(repository, "show", "--no-patch", *SHORT, at).strip() for at in (first, last)]
    lines = (line.split() for line in dict.fromkeys([ends[0], *between, ends[1]]))
    return [Release(version, day, f"{GIT}{repository.absolute()}") for version, day in lines]


SHORT = "--abbrev=12", "--format=%h %cs"


def _git(repository: Path, *arguments: str) -> str:
    try:
        run = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=True)
    except subprocess.CalledProcessError as error:
        raise OSError(f"git {arguments[0]}: {error.stderr.decode().strip().splitlines()[0]}") from None
    return run.stdout.decode(errors="replace")


def unpack(history: VerifierHistory, release: Release, folder: Path) -> Path | None:
    """Return the folder of engines of one release, with the verifier's files in it; None if it has no such verifier.

    What was unpacked before is not read again. Raises: OSError; UnreadableRelease.
    """
    root = folder / history.name / release.version
    made = root / history.engine
    if not release.url:
        raise UnreadableRelease("it has neither a wheel nor a source distribution")
    if not (made / "PKG-INFO").is_file():
        if release.url.startswith(GIT):
            wanted = _in_repository(Path(release.url[len(GIT) :]), release.version, history)
        else:
            wanted = _content(release.url, history)
        for url in release.others:
            other = _content(url, history, whole=False)
            same = other == {path: crc for path, (crc, _) in wanted.items()}
            if not same and _lines(_content(url, history)) != _lines(wanted):
                raise UnreadableRelease("its wheels have different verifiers")
        for path, (_, content) in wanted.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_bytes(content)
        made.mkdir(parents=True, exist_ok=True)  # what says that all of it is there comes last
        about = made / "PKG-INFO.part"
        about.write_text(f"Metadata-Version: 2.1\nVersion: {release.version}\n", encoding="utf-8")
        about.replace(made / "PKG-INFO")
    needed = [file for file in history.files if file.needed]
    return root if all((made / file.path).is_file() and text_of(made, file) for file in needed) else None


def _content(url: str, history: VerifierHistory, whole: bool = True) -> dict[str, Any]:
    """Return the CRC of each of the verifier's files in a distribution, and with ``whole`` its bytes.

    Raises: OSError; UnreadableRelease.
    """
    from requests import RequestException

    wanted = {file.path for file in history.files}
    try:
        found = (_in_sources if url.endswith(SOURCES) else _in_wheel)(url, wanted, whole)
    except RequestException as error:  # the network, and not the file; these are OSErrors
        raise OSError(str(error)) from None
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError) as error:
        raise UnreadableRelease(
            f"its {'source distribution' if url.endswith(SOURCES) else 'wheel'} cannot be read ({error})"
        ) from None
    return found


def _lines(content: dict[str, Any]) -> dict[str, list[bytes]]:
    """Return each file's lines, whatever ends them: some wheels for Windows have other ends."""
    return {path: text.splitlines() for path, (_, text) in content.items()}


def _in_wheel(url: str, wanted: set[str], whole: bool) -> dict[str, Any]:
    from remotezip import RemoteIOError, RemoteZip, RemoteZipError  # pyright: ignore[reportMissingImports]

    try:
        with RemoteZip(url) as archive:
            there = {*archive.namelist()} & wanted
            crcs = {path: archive.getinfo(path).CRC for path in sorted(there)}
            return {path: (crc, archive.read(path)) for path, crc in crcs.items()} if whole else crcs
    except RemoteIOError as error:
        raise OSError(str(error)) from None
    except RemoteZipError as error:
        raise zipfile.BadZipFile(str(error)) from None


def _in_sources(url: str, wanted: set[str], whole: bool) -> dict[str, Any]:
    import requests

    found: dict[str, Any] = {}
    with requests.get(url, stream=True, timeout=60) as answer:
        answer.raise_for_status()
        with tarfile.open(fileobj=answer.raw, mode="r|gz") as archive:
            for member in archive:
                path = member.name.partition("/")[2]
                if path in wanted and (file := archive.extractfile(member)):
                    content = file.read()
                    found[path] = (zlib.crc32(content), content) if whole else zlib.crc32(content)
                    if found.keys() == wanted:
                        break
    return found


def _in_repository(repository: Path, commit: str, history: VerifierHistory) -> dict[str, Any]:
    """Return the verifier's files at a commit, wherever its tree has a package's folder: the highest place counts."""
    there = ["/" + path for path in _git(repository, "ls-tree", "-r", "--name-only", commit).splitlines()]
    found: dict[str, Any] = {}
    for file in history.files:
        if places := sorted((path for path in there if path.endswith("/" + file.path)), key=len):
            found[file.path] = 0, _git(repository, "show", f"{commit}:{places[0][1:]}").encode()
    return found


def text_of(made: Path, file: File) -> str:
    """Return the definitions that are lifted, without comments and as one formatter writes them; "" if there are none.

    Raises: UnreadableRelease for a file that is no Python of this version.
    """
    try:
        body = ast.parse((made / file.path).read_text(encoding="utf-8")).body
    except FileNotFoundError:
        return ""
    except (SyntaxError, ValueError) as error:
        raise UnreadableRelease(f"{file.path} does not parse ({str(error).splitlines()[0]})") from None
    return "\n\n".join(
        ast.unparse(node) for node in body if not file.names or getattr(node, "name", None) in file.names
    )


def texts(history: VerifierHistory, root: Path) -> Iterator[tuple[str, str]]:
    """Path and text of each of its files in one release."""
    for file in history.files:
        yield file.path, text_of(root / history.engine, file)


def digest(history: VerifierHistory, root: Path) -> str:
    """Return the digest of the verifier's text: releases with the same one have the same verifier."""
    return hashlib.sha256("\0".join(text for _, text in texts(history, root)).encode()).hexdigest()[:12]
