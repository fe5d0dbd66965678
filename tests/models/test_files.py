"""Writing a file: whole or not at all; in place where nothing can be put beside it."""

import os
import re
import stat
import subprocess
import sys

import pytest

from draftproof.models import files
from draftproof.models.files import file_name, write_atomically


def test_a_file_is_created_or_replaced_and_nothing_is_left_beside_it(tmp_path):
    file = tmp_path / "out"
    write_atomically(file, "é\n")
    assert file.read_bytes() == "é\n".encode()
    file.chmod(0o640)
    write_atomically(str(file), b"\x00")
    assert file.read_bytes() == b"\x00" and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_failure_leaves_the_old_contents_and_nothing_beside_them(tmp_path, monkeypatch, name):
    file = tmp_path / "out"
    file.write_text("old")

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, name, fails)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, "new")
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


def test_a_link_is_followed(tmp_path):
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    for text in ("first", "second"):
        write_atomically(link, text)
        assert link.is_symlink() and file.read_text() == text


def test_a_file_in_a_folder_that_takes_no_new_files_is_written_in_place(tmp_path, monkeypatch):
    file = tmp_path / "out"
    file.write_text("old")

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.os, "replace", refused)  # as the folder would; root is refused nothing
    write_atomically(file, "new")
    assert file.read_text() == "new" and list(tmp_path.iterdir()) == [file]
    with pytest.raises(PermissionError):
        write_atomically(tmp_path / "other", "new")
    assert list(tmp_path.iterdir()) == [file]


def test_devices_and_pipes_are_written_in_place(tmp_path):
    start = "from draftproof.models.files import write_atomically; write_atomically('/dev/stdout', 'text\\n')"
    assert subprocess.run([sys.executable, "-c", start], capture_output=True, check=True).stdout == b"text\n"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", start], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "text\n" and len(list(tmp_path.iterdir())) == 1
    write_atomically(os.devnull, "text")
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, "text")


HOSTILE = (
    "../../x",
    "/etc/passwd",
    "a/b",
    "a\\b",
    ".",
    "..",
    "",
    "...",
    "\x00\n\x1b[31m",
    "x" * 300,
    "CON",
    "nul",
    "-rf",
    "é",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_others_chose_is_one_file_in_its_folder(name, tmp_path):
    made = tmp_path / file_name(name)
    made.write_text("")
    assert [*tmp_path.iterdir()] == [made] and made.resolve().parent == tmp_path.resolve()
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{8,99}", made.name) and made.stem.lower() not in ("con", "nul")


def test_different_names_have_different_files():
    assert len({file_name(name).lower() for name in (*HOSTILE, "a-b", "con", "A/b", "x" * 299)}) == len(HOSTILE) + 4
