"""Checks in a test suite: what refuted the last time is tried first, and an audit ends with its first refutation."""

import json
import textwrap
from contextlib import nullcontext
from unittest import SkipTest

import pytest

import draftproof.reports.pages.terminal  # noqa: F401, imported here, not again in each run
from draftproof.reports.testing.checks import CheckFailed, checks_of
from draftproof.tests.reports.audits.functions.written import TOKEN
from draftproof.tests.reports.golden import golden_report
from draftproof.tests.reports.testing.test_plugin import LOADED, STRICT, WITHOUT

pytest_plugins = "pytester"

RIGHT = TOKEN
WRONG = TOKEN.replace("np.maximum(target_probs[i] - draft_probs[i], 0)", "target_probs[i]")

FILES = {
    "conftest.py": """
        import json

        from draftproof.models.battery import drawn
        from draftproof.reports.audits import api

        audit = api.audit

        def recorded(name, problems, **options):
            with open("asked.jsonl", "a") as file:
                file.write(json.dumps([len(problems), options["stop_at_first"]]) + "\\n")
            return audit(name, problems or [drawn(2, 1, "generic")], **{**options, "explain": False})

        api.audit = recorded
        """,
    "test_mine.py": """
        from draftproof import parametrize_with_checks

        @parametrize_with_checks(["mine.py:token"], dtypes=["float64"])
        def test_mine(check):
            check()
        """,
}


@pytest.fixture
def run(pytester, monkeypatch, brief_audits):
    """Write a verifier, run its checks with pytest's cache in this process, and return the exit status, what it
    printed, and the (number of problems, whether to stop) of each audit."""
    from draftproof.reports.audits import api
    from draftproof.reports.testing import checks

    pytester.plugins = []
    monkeypatch.setattr(api, "audit", api.audit)
    monkeypatch.setattr(checks, "IN_SETTINGS", {})
    for name, text in FILES.items():
        (pytester.path / name).write_text(textwrap.dedent(text))

    def run(source, *arguments):
        (pytester.path / "mine.py").write_text(source)
        asked = pytester.path / "asked.jsonl"
        asked.write_text("")
        checks._audits_of.cache_clear()
        api.audit = original
        done = pytester.runpytest_inprocess("-p", "no:xdist", *WITHOUT, *STRICT, *LOADED, *arguments)
        said = [json.loads(line) for line in asked.read_text().splitlines()]
        return int(done.ret), done.stdout.str() + done.stderr.str(), said

    original = api.audit
    run.cache = pytester.path / ".pytest_cache" / "v" / "draftproof"
    yield run
    checks._audits_of.cache_clear()


FIRST, WHOLE, AGAIN = [0, True], [0, False], [1, True]
"""Audits: one that ends with the first refutation, the whole, one of the problem that refuted the last time."""


@pytest.mark.interception
def test_what_refuted_is_tried_first_until_it_refutes_no_more(run):
    status, said, asked = run(WRONG)
    assert (status, asked) == (1, [FIRST]) and "1 failed, 2 skipped" in said, said
    assert "lossless is refuted, and the audit stopped there" in run(WRONG, "-rs")[1]
    status, said, asked = run(WRONG)
    assert (status, asked) == (1, [AGAIN]) and "1 failed, 2 skipped" in said
    status, said, asked = run(RIGHT)
    assert (status, asked) == (0, [AGAIN, FIRST]) and "3 passed" in said, "the whole audit went on"
    assert run(RIGHT)[2] == [FIRST], "the cache forgot it"
    status, said, asked = run(WRONG, "-k", "support")
    assert (status, asked) == (0, [FIRST, WHOLE]) and "1 passed" in said, "an audit that stopped is no proof"
    assert run(WRONG, "-o", "draftproof_stop_at_first=false")[2] == [WHOLE]


def test_a_cache_that_is_no_json_or_read_only_changes_no_verdict(run):
    run(WRONG, "-k", "lossless")
    (file,) = run.cache.iterdir()
    file.write_text("{")
    assert run(WRONG, "-k", "lossless")[::2] == (1, [FIRST])
    file.unlink()
    run.cache.rmdir()
    run.cache.write_text("a file where a folder is needed")
    assert [run(source, "-k", "lossless")[::2] for source in (WRONG, RIGHT)] == [(1, [FIRST]), (0, [FIRST])]


@pytest.mark.parametrize("first", [[1], {"vocabulary": 2}, "a problem", "mine.py", {"wide": 3}, 3, {}])
@pytest.mark.parametrize("name", ["right", "wrong"])
def test_a_cached_problem_that_is_none_changes_no_verdict(monkeypatch, name, first):
    asked = []
    made = lambda subject, problems=(), **_: asked.append([*problems]) or golden_report(name)  # noqa: E731
    monkeypatch.setattr("draftproof.reports.audits.api.audit", made)
    (check,) = checks_of(f"{len(str(first))}-{name}.py:f", ["lossless"])
    check.first = first
    with pytest.raises(CheckFailed) if name == "wrong" else nullcontext():
        check()
    assert asked == [[]]


def test_an_audit_that_stopped_decides_no_check_that_it_does_not_refute(monkeypatch):
    stops = []

    def audit(name, problems=(), **options):
        stops.append(options["stop_at_first"])
        return golden_report("wrong")

    monkeypatch.setattr("draftproof.reports.audits.api.audit", audit)
    lossless, support, pure = checks_of("one.py:f")
    support(), pure()
    assert stops == [True, False]
    with pytest.raises(CheckFailed):
        lossless()

    lossless, support, pure = checks_of("other.py:f")
    with pytest.raises(CheckFailed):
        lossless()
    for check in (support, pure):
        with pytest.raises(SkipTest, match="is not decided: lossless is refuted"):
            check()

    stops.clear()
    for check in (*checks_of("third.py:f", ["lossless"], stop_at_first=False),):
        with pytest.raises(CheckFailed):
            check()
    assert stops == [False]
