"""The pytest plugin in a project of its own: what fails, what is expected to, and what is left behind."""

import json
import subprocess
import sys
import textwrap
from datetime import date
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

import draftproof
import draftproof.reports.pages.page  # a run of pytest inside this one would forget matplotlib
from draftproof.models.errors import InputError
from draftproof.reports.testing.plugin import Known, load_known, out_of_date
from draftproof.tests.reports.golden import golden
from draftproof.tests.reports.report_schema import validate

pytest_plugins = "pytester"

PLUGIN = "draftproof.reports.testing.plugin"
INSTALLED = any(point.value == PLUGIN for point in entry_points(group="pytest11"))

FILES = {
    "mine.py": "def wrong(target_probs, draft_probs, draft_tokens, rng): ...\n",
    "conftest.py": """
        import json

        from draftproof.reports.audits import api
        from draftproof.tests.reports.golden import golden_report

        def audit(name, problems, quick, **options):
            with open("asked.jsonl", "a") as file:
                file.write(json.dumps([name, options]) + "\\n")
            report = golden_report({"mine.py:wrong": "wrong", "broken.py:f": "broken"}.get(name, name))
            report.subject["name"] = name
            return report

        api.audit = audit
        """,
    "test_mine.py": """
        from draftproof import parametrize_with_checks

        @parametrize_with_checks(["block", "token"], ["optimal"])
        def test_verifier(check):
            check()

        def test_other():
            pass
        """,
}
"""A project whose audits give the kept reports."""
WRONG = "test_mine.py::test_verifier[token-optimal]"
STRICT = ("-W", "error", "-W", "ignore:Module already imported so cannot be rewritten")
"""Of a clone's folder pytest takes __main__.py, listed in draftproof.egg-info, for the module that runs pytest."""
WITHOUT = ("-p", "no:hypothesispytest", "-p", "no:anyio")
"""Plugins that import themselves anew in each run of pytest in this process."""
LOADED = () if INSTALLED else ("-p", PLUGIN)


@pytest.fixture
def project(pytester, monkeypatch):
    """A project, and pytest run in it, in this process: its exit status and what it printed."""
    from draftproof.reports.audits import api
    from draftproof.reports.testing import checks

    pytester.plugins = []
    for name, text in FILES.items():
        (pytester.path / name).write_text(textwrap.dedent(text))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(api, "audit", api.audit)  # the project's own conftest changes it in this process
    monkeypatch.setattr(checks, "IN_SETTINGS", {})
    checks._audits_of.cache_clear()

    def run(*arguments):
        options = ("-p", "no:cacheprovider", "-p", "no:xdist", *WITHOUT, *STRICT, *LOADED)
        done = pytester.runpytest_inprocess(*options, *map(str, arguments))
        return int(done.ret), done.stdout.str() + done.stderr.str()

    run.folder = pytester.path
    yield run
    checks._audits_of.cache_clear()


def entry(test=WRONG, expires="2999-01-31", **other):
    fields = {"id": test, "reason": "token verification accepts less", "link": "https://example.org/1"} | other
    return "[[known]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in fields.items()) + f"expires = {expires}\n"


@pytest.mark.needs("xdist")
def test_checks_run_in_the_processes_of_xdist(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", *LOADED]
    command += ["--draftproof-subject", "mine.py:wrong", "-k", "lossless"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 1 and "INTERNALERROR" not in done.stdout
    assert "mine.py:wrong: lossless is refuted" in done.stdout


def test_failures_show_witness_and_replay_and_leave_reports_and_properties(project):
    tmp_path = project.folder
    status, said = project(
        "-q", "--draftproof-subject", "mine.py:wrong", "--draftproof-report", "out", "--junit-xml", "j.xml"
    )
    assert status == 1
    assert "2 failed, 2 passed, 2 skipped" in said, said
    (e,) = [e for e in golden("wrong")["evidence"] if e["witness"] and e["witness"].get("smallest")]
    failure = said.split("mine.py:wrong: lossless is refuted\n\n")[1].split("\n___")[0].split("\n===")[0].splitlines()
    assert len(failure) <= 13 and all(len(line) <= 80 or len(max(line.split(), key=len)) > 60 for line in failure)
    names = [name for line in failure if (name := line[2:18].strip())]
    assert names == ["Seen on", "Smallest case", "Looks like", "Where", "Reproduce"]
    assert "0        1/3       7/18" in said and "wrong.py:8 " in said
    assert e["replay"] in " ".join("\n".join(failure).split())
    assert "token: optimal is refuted" in said
    assert "checks.py" not in said
    assert "raise Refuted" not in said
    _, passed = said.split("what the passed checks speak of")
    (block,) = (line for line in passed.splitlines() if line.startswith("block: "))
    assert "over rationals; one request a call" in block
    reports = [json.loads(file.read_text()) for file in sorted((tmp_path / "out").glob("*.json"))]
    for report in reports:
        validate(report)
    verdicts = {"block": "holds", "mine.py:wrong": "refuted", "token": "refuted"}
    assert {r["subject"]["name"]: r["verdict"] for r in reports} == verdicts
    assert len([*(tmp_path / "out").glob("*.html")]) == len(reports) == 3
    cases = ElementTree.parse(tmp_path / "j.xml").getroot().iter("testcase")
    properties = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    mine = properties["lossless"]  # of the class draftproof.mine.py:wrong
    assert (mine["draftproof.verdict"], mine["draftproof.check"]) == ("refuted", "lossless")
    assert "gamma = 2" in mine["draftproof.scope"]
    assert properties["test_verifier[block-optimal]"]["draftproof.verdict"] == "holds"
    assert properties["test_other"] == {}


def test_a_known_failure_is_expected_and_one_that_is_mended_or_gone_or_expired_fails_the_run(project):
    known = project.folder / "known.toml"
    (project.folder / "pytest.ini").write_text("[pytest]\ndraftproof_known_failures = known.toml\n")
    known.write_text(entry())
    status, said = project("-rx")
    assert (status, "2 passed, 1 xfailed" in said) == (0, True), said
    assert "token verification accepts less (https://example.org/1, until 2999-01-31)" in said

    mended, gone = "test_mine.py::test_verifier[block-optimal]", "test_mine.py::test_verifier[greedy-optimal]"
    known.write_text(
        entry() + entry(mended) + entry(gone) + entry("test_mine.py::test_other") + entry("test_gone.py::test_it")
    )
    status, said = project("-k", "block")
    assert status == 1
    assert "XPASS(strict)" in said
    assert f"no such test: {gone} (https://example.org/1)" in said
    assert "no such test: test_gone.py::test_it" in said
    assert "no check of a verifier: test_mine.py::test_other" in said
    assert "2 failed, 2 deselected" in said

    known.write_text(entry(expires="2020-01-31"))
    status, said = project("test_mine.py::test_other")
    assert status == 1
    assert f"expired on 2020-01-31: {WRONG}" in said


def test_a_known_refutation_does_not_hide_that_nothing_could_be_audited(project):
    (project.folder / "known.toml").write_text(entry("draftproof::broken.py:f::lossless"))
    status, said = project(
        "--draftproof-subject", "broken.py:f", "--draftproof-known-failures", "known.toml", "-k", "lossless and broken"
    )
    assert status == 1
    assert "broken.py:f could not be audited: " in said
    assert "1 failed" in said


def test_wrong_use_is_one_line_before_any_test(project):
    (project.folder / "known.toml").write_text("[[known]]\nid = 1\n")
    for option, value, expected in (
        ("subject", "nothing", "--draftproof-subject: 'nothing' is not a subject; expected package.module:function"),
        ("known-failures", "known.toml", "known.toml: entry 1: has id; expected id, reason, link, expires"),
        ("report", "mine.py", "--draftproof-report mine.py: File exists"),
    ):
        status, said = project(f"--draftproof-{option}", value)
        assert status == 4, said
        assert f"ERROR: {expected}" in said.replace(f"{project.folder}/", "")
        assert "Traceback" not in said


BAD = ["[[known", "[other]\n", entry(reason=""), entry(link=3), entry(expires='"2027-01-01"'), entry(owner="me"),
       entry(expires="2027-01-01T00:00:00"), entry() + entry()]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_bad_entries_are_refused(text, tmp_path):
    (tmp_path / "known.toml").write_text(text)
    with pytest.raises(InputError, match=r"known\.toml") as refused:
        load_known(tmp_path / "known.toml")
    assert "\n" not in str(refused.value).removesuffix("\n")


def test_an_entry_of_tests_that_were_not_asked_for_is_not_judged(tmp_path):
    for file in ("test_b.py", "mine.py"):
        (tmp_path / file).touch()
    later = date(2999, 1, 1)

    def said(tests, collected, checks=(), whole=True):
        known = [Known(test, "r", "l", later) for test in tests]
        return [line.removesuffix(" (l)") for line in out_of_date(known, {collected}, {*checks}, whole, tmp_path)]

    mine, known = "draftproof::mine.py:f::lossless", ["test_a.py::x", "test_b.py::y"]
    assert said([*known, mine], "test_a.py::z") == ["no such test: test_a.py::x"]
    subjects = [f"draftproof::{subject}::lossless" for subject in ("gone.py:f", "package.module:f", "block")]
    gone = said(subjects, "test_a.py::z")
    assert gone == ["no such test: draftproof::gone.py:f::lossless"], "of a module or a name it is not known"
    (tmp_path / "test_a.py").touch()
    assert said(known[:1], "test_a.py::z", whole=False) == [], "only one test of the file was asked for"
    support = "draftproof::mine.py:f::support"
    assert said([mine], support, [support]) == [f"no such test: {mine}"]


def test_options_of_an_audit_are_taken_from_the_decorator_and_else_from_the_settings(project):
    (project.folder / "test_mine.py").write_text(
        "from draftproof import parametrize_with_checks\n"
        "@parametrize_with_checks(['block'], ['optimal'], dtypes=['float32'], array='list')\n"
        "def test_one(check): check()\n"
        "@parametrize_with_checks(['block'], ['optimal'])\n"
        "def test_other(check): check()\n"
    )
    (project.folder / "pytest.ini").write_text("[pytest]\ndraftproof_array = rows\ndraftproof_processor_time = 60\n")
    status, out = project()
    assert status == 0, out
    asked = [json.loads(line) for line in (project.folder / "asked.jsonl").read_text().splitlines()]
    assert asked == [
        ["block", {"array": "list", "processor_time": 60.0, "dtypes": ["float32"], "stop_at_first": True}],
        ["block", {"array": "rows", "processor_time": 60.0, "stop_at_first": True}],
    ]
    (project.folder / "pytest.ini").write_text("[pytest]\ndraftproof_processor_time = soon\n")
    status, out = project()
    assert status == 4 and "draftproof_processor_time: 'soon'; expected seconds" in out


def test_an_option_that_checks_do_not_take_is_refused():
    with pytest.raises(TypeError, match="checks take no option 'colour'; expected some of array, dtypes"):
        draftproof.parametrize_with_checks(["block"], colour="red")


def test_the_plugin_is_an_entry_point():
    file = Path(draftproof.__file__).parent / "pyproject.toml"
    if not file.is_file():
        assert INSTALLED, "in a wheel"
        return
    assert f'[project.entry-points.pytest11]\ndraftproof = "{PLUGIN}"\n' in file.read_text()
