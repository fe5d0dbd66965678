"""draftproof compliance: exit statuses, interruptions, and one line for what is wrong."""

import json
import subprocess
import sys

import pytest

from draftproof.reports.audits.compliance import running
from draftproof.reports.commands.main import main
from draftproof.reports.pages.compliance import page as written

pytestmark = pytest.mark.needs("weasyprint")

PLAN = """
[plan]
title = "t"
[[part]]
id = "rules"
kind = "proofs"
claims = ["lemma-8"]
[[part]]
id = "mine"
kind = "audit"
subject = "mine.py:f"
[[requirement]]
id = "R1"
statement = "Lemma 8"
claim = "lemma-8"
parts = ["rules"]
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command in a folder with a plan, whose part mine does as it is told; no PDF is set."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setattr(written, "RENDERING", written.RENDERING._replace(pdf=lambda html: b"%PDF"))

    def command(*words, mine=None):
        def part(got, folder, checkpoint, progress):
            got.proofs = []
            if mine:
                raise mine

        monkeypatch.setitem(running.RUNNERS, "audit", part)
        monkeypatch.setattr("sys.argv", ["draftproof", "compliance", *words])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        return status, capsys.readouterr()

    return command


def test_the_status_is_that_of_the_contract(run, tmp_path):
    from draftproof.models.errors import RunFailed

    assert run("run", "plan.toml", "--out", "out")[0] == 0
    status, shown = run("run", "plan.toml", "--out", "bad", mine=RunFailed("load", "no such file"))
    assert (status, "mine: no such file" in shown.out) == (3, True)
    (tmp_path / "plan.toml").write_text(PLAN.replace('parts = ["rules"]', 'parts = ["mine"]'))
    assert run("run", "plan.toml", "--out", "out")[0] == 0
    assert run("run", "plan.toml", "--out", "out", "--require-decision")[0] == 4


def test_init_says_what_the_document_needs_and_is_not_installed(run, monkeypatch):
    assert run("init")[1].out.splitlines()[1].startswith("next ")
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    assert run("init", "--out", "a.toml")[1].out.splitlines()[1] == (
        "missing  for the PDF: WeasyPrint is not installed; install draftproof[compliance] and Pango"
    )


def test_a_run_says_which_parts_the_next_one_examines_again(run, tmp_path):
    assert f"missing     mine: mine.py not found in {tmp_path}" in run("run", "plan.toml", "--out", "out")[1].out
    note = (
        "not kept    mine: each run examines it again, since mine.py:f has no digest here; files = [...] in the plan "
    )
    assert note in run("run", "plan.toml", "--out", "out")[1].out
    (tmp_path / "mine.py").write_text("")
    assert "not kept" not in run("run", "plan.toml", "--out", "out")[1].out


def test_an_interruption_keeps_what_is_finished(run, tmp_path):
    status, shown = run("run", "plan.toml", "--out", "out", mine=KeyboardInterrupt())
    assert status == 130
    assert "interrupted; 1 of 2 parts are in out, and the same command goes on from there" in shown.err
    before = (tmp_path / "out" / "parts.jsonl").read_text().splitlines()
    assert run("run", "plan.toml", "--out", "out")[0] == 0
    assert (tmp_path / "out" / "parts.jsonl").read_text().splitlines()[:2] == before


def test_what_cannot_be_used_is_refused_in_lines(run, tmp_path):
    (tmp_path / "plan.toml").write_text("[plan]\n[[part]]\nid = 1\n")
    status, shown = run("run", "plan.toml", "--out", "out")
    assert (status, shown.err.count("plan.toml: ")) == (2, 1)
    assert not (tmp_path / "out").exists()
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.doc").write_text("")
    assert run("run", "plan.toml", "--out", "full")[0] == 2
    assert run("verify", "nowhere")[0] == 2
    assert run("init")[0] == run("init", "--out", "-")[0] == 0
    assert run("init")[0] == 2


def test_verify_says_what_is_refused(run, tmp_path):
    run("run", "plan.toml", "--out", "out")
    data = json.loads((tmp_path / "out" / "report.json").read_text())
    data["requirements"][0]["verdict"] = "open"
    (tmp_path / "out" / "report.json").write_text(json.dumps(data))
    status, shown = run("verify", "out")
    assert status == 1
    assert "refused  report.json: line 1 has " in shown.out


def test_a_plan_is_run_where_only_the_audits_own_packages_are_installed(tmp_path):
    """Everything else in a plan that needs more says so as a part that failed; without WeasyPrint there is no PDF."""
    (tmp_path / "plan.toml").write_text(
        PLAN.replace('kind = "audit"\nsubject = "mine.py:f"', 'kind = "nightly"\ndb = "n"')
    )
    absent = ("sqlalchemy", "weasyprint", "httpx2", "z3", "sybil", "dask", "ray")
    code = (
        f"import sys; sys.modules |= dict.fromkeys({absent}); from draftproof.reports.commands.main import main; main()"
    )
    words = [sys.executable, "-c", code, "compliance", "run", "plan.toml", "--out", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=3600)
    assert done.stdout.startswith(  # before anything is run
        "missing     for the PDF: WeasyPrint is not installed; install draftproof[compliance] and Pango\n"
        "missing     mine: sqlalchemy not found; install draftproof[nightly]\n"
    )
    assert (done.returncode, done.stderr.strip()) == (3, ""), done.stderr
    assert "R1          met" in done.stdout and "install draftproof[compliance]" in done.stdout
    assert "mine: sqlalchemy not found; install draftproof[nightly]" in done.stdout
