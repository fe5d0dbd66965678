"""Files: written so that a crash leaves the old contents or the new; TOML that people wrote, read; where a cache is."""

import os
import re
import sys
import zlib
from pathlib import Path
from stat import S_IMODE
from typing import Any
from uuid import uuid4

from .errors import InputError

IN_PLACE = ("/dev", "/dev/fd", "/proc/self/fd")
"""Folders whose entries stand for something that is open already, such as /dev/stdout."""


def write_atomically(path: str | Path, data: str | bytes) -> None:
    """Replace the contents of a file, or create it.

    path: of the file; where it is a device or a pipe, or stands in a folder that cannot be written, it is written in
        place.
    data: text, written as UTF-8, or bytes.
    Guarantee: after a crash or a power cut the file has its old contents or the new ones, whole, unless written in
        place.
    Raises: OSError.
    """
    content = data.encode() if isinstance(data, str) else data
    file = Path(path).resolve()
    exists = os.path.exists(path)
    if str(Path(path).absolute().parent) in IN_PLACE or (exists and not file.is_file()):
        Path(path).write_bytes(content)
        return
    if exists:
        file.open("ab").close()  # a file that may not be written is not replaced either
    temporary = file.with_name(f".{uuid4().hex}")
    try:
        with temporary.open("xb") as stream:
            if exists:
                os.fchmod(stream.fileno(), S_IMODE(file.stat().st_mode))
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except PermissionError:  # the folder may refuse a new file where the file itself can be written
        temporary.unlink(missing_ok=True)
        if not exists:
            raise
        file.write_bytes(content)
        return
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


LONGEST_NAME = 80
"""Characters of a name that its file keeps."""


def file_name(name: str) -> str:
    """Return the name of a file or folder for what has a name of its own: a problem, a subject, an engine.

    Names come from others. What is no letter, digit, `_`, `-` or inner `.` becomes `-`, and a checksum is added, so
    that different names have different files on every system, and none is a path or a reserved word.
    """
    kept = re.sub("[^A-Za-z0-9_.-]+", "-", name)[:LONGEST_NAME].strip(".-")
    return f"{kept or 'name'}-{zlib.crc32(name.encode(errors='surrogatepass')):08x}"


def sync_folder(folder: Path) -> None:
    """Make new names in a folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file. Raises: InputError that says what is wrong with it."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # pyright: ignore[reportMissingImports]  # of draftproof[compliance]; pytest has it too
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})", "DP201") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{file}: not TOML ({error})", "DP202") from None


def cache_folder() -> Path:
    """Return XDG_CACHE_HOME/draftproof, or, if it is not set, ~/.cache/draftproof or what macOS and Windows have.

    A relative XDG_CACHE_HOME counts as not set, as its specification says.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if given.is_absolute():
        return given / "draftproof"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "draftproof" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "draftproof"
    return Path.home() / ".cache" / "draftproof"
