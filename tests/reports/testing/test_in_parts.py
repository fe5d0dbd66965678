"""Tests run in parts: what is said to be all of them is all of them."""

import json
from types import SimpleNamespace

import pytest

from draftproof.tests import in_parts
from draftproof.tests.conftest import left_out
from draftproof.tests.in_parts import FAILED, PASSED, SKIPPED, Results, main, summary

TESTS = [f"a.py::test_{k}" for k in range(5)] + ["b.py::test_x[1-2]", "b.py::test_y"]


@pytest.fixture
def collection(monkeypatch):
    """Tests that are collected, to be changed; and the digest of the code."""
    given = {"tests": [*TESTS], "digest": "one"}
    monkeypatch.setattr(in_parts, "collected", lambda words: given["tests"])
    monkeypatch.setattr(in_parts, "digest", lambda: given["digest"])
    return given


def run(folder, outcomes, capsys):
    """Exit status, the last line, and how many parts ran. outcomes: part -> outcomes, or None for one that is ended."""
    ran = []

    def one(part, words, seconds):
        ran.append(part)
        return outcomes(part, len(ran)) or {}

    status = main(["-m", "gpu", "--out", str(folder)], one, 2)
    return status, capsys.readouterr().out.splitlines()[-1], len(ran)


def all_pass(part, count):
    return {test: [PASSED, ""] for test in part}


def test_what_was_ended_is_run_again_and_what_was_done_is_not(tmp_path, collection, capsys):
    status, line, ran = run(tmp_path, lambda part, count: all_pass(part, count) if count < 3 else None, capsys)
    assert (status, ran) == (3, 4)
    assert line == "7 tests collected: 4 passed, 0 failed, 0 skipped; 3 of them not run yet, the first a.py::test_4"
    status, line, ran = run(tmp_path, all_pass, capsys)
    assert (status, ran) == (0, 2)
    assert line == "7 tests collected: 7 passed, 0 failed, 0 skipped; that is all of them"
    assert run(tmp_path, all_pass, capsys)[2] == 0


def test_results_of_other_code_or_without_one_of_their_tests_count_for_nothing(tmp_path, collection, capsys):
    run(tmp_path, all_pass, capsys)
    collection["digest"] = "two"
    assert run(tmp_path, lambda *_: None, capsys)[0::2] == (3, 4)
    assert run(tmp_path, all_pass, capsys)[0::2] == (0, 4)
    collection["tests"].append("b.py::test_z")  # a test more than when it ran
    assert "1 of them not run yet, the first b.py::test_z" in run(tmp_path, lambda *_: None, capsys)[1]
    file = next(iter(tmp_path.glob("*.json")))
    data = json.loads(file.read_text())
    data["outcomes"].popitem()
    file.write_text(json.dumps(data))
    collection["tests"].pop()
    assert summary(collection["tests"], Results(tmp_path, "two"), 2)[1] == 3
    lost = run(tmp_path, lambda part, count: {**all_pass(part, count), "a.py::another": [PASSED, ""]}, capsys)
    assert lost[0] == 3, "a part that ran other tests than its own is not taken"


def test_a_failure_is_named_and_skipped_tests_are_not_said_to_have_run(tmp_path, collection, capsys):
    def one(kind):
        return lambda part, count: {test: [kind if test == TESTS[3] else PASSED, "no device"] for test in part}

    assert run(tmp_path / "f", one(FAILED), capsys)[0] == 1
    status, line, _ = run(tmp_path / "s", one(SKIPPED), capsys)
    assert (status, line) == (3, "7 tests collected: 6 passed, 0 failed, 1 skipped; that is all of them")
    collection["tests"] = []
    assert run(tmp_path / "none", all_pass, capsys)[0] == 3


def test_a_test_is_left_out_for_its_time_a_package_or_a_device_and_the_reason_is_said():
    def why(*marks, asked=""):
        item = SimpleNamespace(
            keywords={mark.name for mark in marks},
            get_closest_marker=lambda name: next((mark for mark in marks if mark.name == name), None),
            iter_markers=lambda name: [mark for mark in marks if mark.name == name],
        )
        return left_out(item, asked)

    mark = pytest.mark
    assert why(mark.needs("numpy").mark) is None
    assert (why(mark.long.mark), why(mark.long.mark, asked="long"), why(mark.exact.mark)) == ("make long", None, None)
    assert why(mark.skipif(True, reason="no device").mark) == "no device"
    assert why(mark.skipif(False, reason="no device").mark) is None
