"""The one store of what long commands have found so far: killed, changed, of other code, in an older form."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from draftproof.models import digests, store
from draftproof.models.digests import code_digest
from draftproof.models.errors import InputError
from draftproof.models.store import Store, StoredRow, stored_rows, stored_text

KILLED = """
import os, signal, sys
from draftproof.models.store import Store
store = Store(sys.argv[1], "squares", {"base": 2})
for k in range(5):
    store.put((k, "a"), k * k)
os.write(store._descriptor, b'{"key": [5')
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def file(tmp_path):
    with Store(tmp_path / "rows", "squares", {"base": 2}, valid_for="code") as kept:
        for k in (1, 2):
            kept.put((k, "a"), k * k)
    return tmp_path / "rows"


def opened(file, what="squares", settings=None, **more):
    return Store(file, what, {"base": 2} if settings is None else settings, **{"valid_for": "code", **more})


def test_rows_are_there_again_and_the_last_of_a_key_counts(file):
    with opened(file) as kept:
        assert kept.rows == {(1, "a"): 1, (2, "a"): 4}
        kept.put((1, "a"), "one")
    with opened(file) as kept:
        assert kept.rows == {(1, "a"): "one", (2, "a"): 4}
        kept.keep([(2, "a")])
    assert stored_rows(file, "squares") == [StoredRow((2, "a"), "code", 4)]
    assert Store(None, "squares").rows == {}


def test_a_killed_process_loses_only_the_line_that_it_was_writing_and_that_is_said(tmp_path, caplog):
    file = tmp_path / "rows"
    done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    with opened(file, valid_for="") as kept, caplog.at_level(logging.WARNING):
        assert kept.rows == {(k, "a"): k * k for k in range(5)}
    assert "its last line was cut off while it was written, and does not count" in caplog.text
    before = file.read_bytes()
    opened(file, valid_for="").close()
    assert file.read_bytes() == before and before.endswith(b"\n")


def test_rows_for_another_digest_do_not_count_and_stay(file):
    with opened(file, valid_for="other") as kept:
        assert (kept.rows, [row.row for row in kept.others]) == ({}, [1, 4])
        kept.put((1, "a"), 7)
    assert [row.row for row in stored_rows(file, "squares")] == [1, 4, 7]
    with opened(file) as kept:
        assert kept.rows == {(1, "a"): 1, (2, "a"): 4}


@pytest.mark.parametrize(
    ("what", "settings", "said"),
    [
        ("cubes", {"base": 2}, "no file of cubes"),
        ("squares", {"base": 3}, "was begun with base 2, and 3 is asked for"),
        ("squares", {"base": 2, "more": [1]}, "was begun with more None, and 1 is asked for"),
        ("squares", {}, "was begun with base 2, and None is asked for"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(file, what, settings, said):
    before = file.read_bytes()
    with pytest.raises(InputError, match=said):
        opened(file, what, settings)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"my thesis", b"my thesis\nchapter 1\n", b"[1, 2]\n", b'{"rows of": "squares"}\n', b"{" * 9999],
)
def test_what_is_no_such_file_is_refused_and_left_as_it_is(file, content):
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"rows: no file of squares; it was left as it is"):
        opened(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(("old", "new"), [("4", "5"), ('"a"', '"b"'), ("code", "c0de"), (": 4", ": NaN"), ("}", "")])
def test_a_line_that_was_changed_is_refused_by_its_number(file, old, new):
    head, first, second = file.read_text().splitlines()
    assert old in second
    file.write_text("\n".join((head, first, second.replace(old, new), "")))
    with pytest.raises(InputError, match="line 3 is not what was written there; it was left as it is"):
        opened(file)


def test_another_version_of_the_form_is_refused(file, monkeypatch):
    file.write_bytes(store._checked({"rows of": "squares", "version": 2, "settings": {}}))
    with pytest.raises(InputError, match="has version 2; this draftproof reads version 1"):
        opened(file)


def test_a_file_of_an_older_form_is_set_aside_and_that_is_said(tmp_path, caplog):
    (tmp_path / "rows").write_text('{"format": "old squares"}\nrows')
    older = ('{"format": "old squares"',)
    assert stored_rows(tmp_path / "rows", "squares", older) == []
    with Store(tmp_path / "rows", "squares", older=older) as kept:
        assert kept.rows == {}
    assert "was written by an older version; it is rows.old now, and begun anew" in caplog.text
    assert (tmp_path / "rows.old").read_text() == '{"format": "old squares"}\nrows'


def test_one_process_writes_at_a_time_and_others_read(file):
    other = "import sys; from draftproof.models.store import Store; Store(sys.argv[1], 'squares', {'base': 2})"
    with opened(file) as kept:
        done = subprocess.run([sys.executable, "-c", other, str(file)], capture_output=True, text=True, check=False)
        assert "another process writes to it; expected one at a time" in done.stderr
        assert len(stored_rows(file, "squares")) == 2
        kept.keep(kept.rows)
        done = subprocess.run([sys.executable, "-c", other, str(file)], capture_output=True, text=True, check=False)
        assert "another process writes to it" in done.stderr, "also after the file was replaced"
    assert subprocess.run([sys.executable, "-c", other, str(file)], check=False).returncode == 0


def test_a_file_that_is_let_go_of_is_opened(file, monkeypatch):
    """A process that is killed leaves its lock, for a moment, to a program that it was starting."""
    monkeypatch.setattr(store, "PATIENCE", 600.0)
    with opened(file) as kept:
        held = os.dup(kept._descriptor)
    assert not store._lock(os.open(file, os.O_RDWR)), "the lock outlives its process"
    letting_go = threading.Timer(0.3, os.close, [held])
    letting_go.start()
    with opened(file) as kept:
        assert len(kept.rows) == 2
    letting_go.join()


def test_a_full_disk_leaves_what_was_there(file, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    before = file.read_bytes()
    with opened(file) as kept, monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for write in (lambda: kept.put((3, "a"), 9), lambda: kept.keep([(1, "a")])):
            with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
                write()
        assert file.read_bytes() == before
        assert [path.name for path in file.parent.iterdir()] == ["rows"]
        patched.undo()
        kept.put((4, "a"), 16)
    assert [row.row for row in stored_rows(file, "squares")] == [1, 4, 16]


def test_what_is_replaced_again_and_again_does_not_fill_the_disk(tmp_path):
    with Store(tmp_path / "rows", "states", durable=False) as kept:
        for k in range(200):
            kept.put((), [k] * 10_000)
    assert (tmp_path / "rows").stat().st_size < 2 * store.SMALL
    with Store(tmp_path / "rows", "states") as kept:
        assert kept.rows == {(): [199] * 10_000}


def test_what_is_written_anew_keeps_its_mode_and_a_folder_that_refuses_new_files_loses_nothing(file, monkeypatch):
    def refuses(*names):
        raise PermissionError(13, "Permission denied")

    file.chmod(0o600)
    monkeypatch.setattr(store, "SMALL", 1)
    with opened(file) as kept:
        kept.keep([(1, "a")])
        assert file.stat().st_mode & 0o777 == 0o600
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", refuses)
            for k in range(20):
                kept.put((1, "a"), k)
            assert len(stored_rows(file, "squares")) == 21
        for k in range(200):
            kept.put((1, "a"), k)
    assert 1 <= len(stored_rows(file, "squares")) < 100 and stored_rows(file, "squares")[-1].row == 199


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere" / "rows"):
        with pytest.raises(InputError, match="cannot be used"):
            Store(place, "squares")


def test_the_text_of_rows_is_what_a_store_writes(file):
    with Store(file.with_name("plain"), "squares", valid_for="x") as kept:
        kept.put(("é",), {"b": [1.5, None]})
    assert stored_text("squares", [StoredRow(("é",), "x", {"b": [1.5, None]})]) == file.with_name("plain").read_bytes()
    assert json.loads(file.read_text().splitlines()[0])["settings"] == {"base": 2}


def test_an_edit_of_a_declared_source_is_other_code_and_one_elsewhere_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "ROOT", tmp_path)
    for name in ("models/a.py", "proofs/b.json", "reports/pages/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""Before."""')
    declared, kept = ("models/**/*.py", "proofs/*.json"), tmp_path / "rows"

    def known():
        with Store(kept, "squares", valid_for=code_digest(declared)) as rows:
            found = bool(rows.rows)
            rows.put((1,), 1)
        return found

    assert [known(), known()] == [False, True]
    (tmp_path / "reports/pages/c.py").write_text('"""After."""')
    assert known()
    for name in ("models/a.py", "proofs/b.json"):
        whole = code_digest()
        (tmp_path / name).write_text('"""After."""')
        assert not known() and known() and code_digest() != whole
    (tmp_path / "one.v").write_text("Before.")
    before = code_digest(declared, [tmp_path / "one.v"])
    (tmp_path / "one.v").write_text("After.")
    assert code_digest(declared) != before != code_digest(declared, [tmp_path / "one.v"])
