"""The one store of what long commands have found so far: killed, changed, of other code, in an older form."""

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
from draftproof.models.store import Store, StoredRow, stored, stored_text

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
    assert stored(file, "squares").rows == [StoredRow((2, "a"), "code", 4)]
    assert Store(None, "squares").rows == {}
    with Store(file.with_name("plain"), "squares", valid_for="x") as kept:
        kept.put(("é",), {"b": [1.5, None]})
    assert stored_text("squares", [StoredRow(("é",), "x", {"b": [1.5, None]})]) == file.with_name("plain").read_bytes()


def test_a_killed_process_loses_only_the_line_that_it_was_writing_and_that_is_said(tmp_path, caplog):
    file = tmp_path / "rows"
    done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    with opened(file, valid_for="") as kept, caplog.at_level(logging.WARNING):
        assert kept.rows == {(k, "a"): k * k for k in range(5)}
    assert "its last line was cut off while it was written, and does not count" in caplog.text
    file.write_bytes(file.read_bytes()[:9])
    with opened(file) as kept:
        assert kept.rows == {}, "the first line is written again"
        kept.put((3, "a"), 9)
    assert stored(file, "squares").rows == [StoredRow((3, "a"), "code", 9)]


def test_rows_for_another_digest_do_not_count_and_stay(file):
    with opened(file, valid_for="other") as kept:
        assert (kept.rows, [row.row for row in kept.others]) == ({}, [1, 4])
        kept.put((1, "a"), 7)
    assert [row.row for row in stored(file, "squares").rows] == [1, 4, 7]
    with opened(file) as kept:
        assert kept.rows == {(1, "a"): 1, (2, "a"): 4}


def _changed_line(text):
    return text.replace('"row": 4', '"row": 5')


FOREIGN = [
    ("cubes", {"base": 2}, str, "no file of cubes, or of a version before 0.2; it was not changed"),
    ("squares", {"base": 3}, str, "was begun with base 2, and 3 is asked for"),
    ("squares", {"base": 2, "more": [1]}, str, "was begun with more None, and 1 is asked for"),
    ("squares", {"base": 2}, lambda _: "my thesis", "no file of squares, or of a version before 0.2; it was not"),
    ("squares", {"base": 2}, lambda _: "my thesis\nchapter 1\n", "no file of squares"),
    ("squares", {"base": 2}, lambda _: "[1, 2]\n", "no file of squares"),
    ("squares", {"base": 2}, lambda _: '{"rows of": "squares"}\n', "no file of squares"),
    ("squares", {"base": 2}, lambda _: "{" * 9999, "no file of squares"),
    ("squares", {"base": 2}, _changed_line, "line 3 is not what was written there; it was not changed"),
    ("squares", {"base": 2}, lambda text: text.replace('"b"', '"c"').replace("code", "c0de"), "line 2 is not what"),
    (
        "squares", {"base": 2},
        lambda _: store._checked({"rows of": "squares", "version": 2, "settings": {}}).decode(),
        "has version 2; expected version 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("what", "settings", "change", "said"), FOREIGN)
def test_a_file_of_something_else_or_changed_is_refused_and_left_as_it_is(file, what, settings, change, said):
    file.write_text(change(file.read_text()))
    before = file.read_bytes()
    with pytest.raises(InputError, match=said):
        opened(file, what, settings)
    assert file.read_bytes() == before


def test_one_process_writes_at_a_time_and_waits_a_moment_for_a_lock_that_outlives_its_process(file, monkeypatch):
    other = "import sys; from draftproof.models.store import Store; Store(sys.argv[1], 'squares', {'base': 2})"
    with opened(file) as kept:
        kept.keep(kept.rows)
        done = subprocess.run([sys.executable, "-c", other, str(file)], capture_output=True, text=True, check=False)
        assert "another process writes to it; expected one at a time" in done.stderr
        assert len(stored(file, "squares").rows) == 2
        held = os.dup(kept._descriptor)
    monkeypatch.setattr(store, "PATIENCE", 600.0)
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
    assert [row.row for row in stored(file, "squares").rows] == [1, 4, 16]
    for place in (file.parent, file.parent / "nowhere" / "rows"):
        with pytest.raises(InputError, match="cannot be used"):
            Store(place, "squares")


def test_what_is_replaced_again_and_again_is_written_anew_unless_the_folder_refuses(file, monkeypatch):
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
            assert len(stored(file, "squares").rows) == 21
        for k in range(200):
            kept.put((1, "a"), k)
    assert 1 <= len(stored(file, "squares").rows) < 100 and stored(file, "squares").rows[-1].row == 199


def test_an_edit_of_a_declared_source_is_other_code_and_one_elsewhere_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "ROOT", tmp_path)
    for name in ("models/a.py", "proofs/b.json", "reports/pages/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""Before."""')
    declared = ("models/**/*.py", "proofs/*.json")
    before = code_digest(declared)
    (tmp_path / "reports/pages/c.py").write_text('"""After."""')
    assert code_digest(declared) == before
    for name in ("models/a.py", "proofs/b.json"):
        (tmp_path / name).write_text('"""After."""')
        before, after = code_digest(declared), before
        assert before != after
    (tmp_path / "one.v").write_text("Before.")
    assert code_digest(declared, [tmp_path / "one.v"]) != before
