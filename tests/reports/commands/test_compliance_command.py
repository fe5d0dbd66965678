"""draftproof compliance: exit statuses, interruptions, and one line for what is wrong."""

import subprocess
import sys

import pytest

from draftproof.models.errors import RunFailed
from draftproof.reports.audits.compliance import running
from draftproof.reports.pages.compliance import folder, verification
from draftproof.tests.reports.audits.compliance.compliance_parts import plan_text
from draftproof.tests.reports.commands.in_process import draftproof

pytestmark = pytest.mark.needs("weasyprint")

RULES = {"rules": 'kind = "proofs"\nclaims = ["lemma-8"]'}
REQUIRED = {"R1": 'statement = "Lemma 8"\nclaim = "lemma-8"\nparts = ["rules"]'}
PLAN = plan_text(RULES | {"mine": 'kind = "audit"\nsubject = "mine.py:f"'}, REQUIRED)
NO_PDF = "missing     for the PDF: WeasyPrint is not installed; install draftproof[compliance] and Pango"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in a folder with a plan. What the part ``mine`` does is the test's; no PDF is drawn."""
    (tmp_path / "plan.toml").write_text(PLAN)
    for module in (folder, verification):
        monkeypatch.setattr(module, "pdf", lambda html: b"%PDF")

    def command(*words, mine=None):
        def part(job):
            if mine:
                raise mine
            return []

        monkeypatch.setitem(running.RUNNERS, "audit", part)
        return draftproof("compliance", *words, cwd=tmp_path)

    return command


def test_the_status_is_that_of_the_contract(run, tmp_path):
    assert run("run", "plan.toml", "--out", "out").status == 0
    failed = run("run", "plan.toml", "--out", "bad", mine=RunFailed("load", "no such file"))
    assert (failed.status, "mine: no such file" in failed.out) == (3, True)
    (tmp_path / "plan.toml").write_text(PLAN.replace('parts = ["rules"]', 'parts = ["mine"]'))
    decided = ("run", "plan.toml", "--out", "out", "--require-decision")
    assert [run(*words).status for words in (decided[:-1], decided)] == [0, 4]


def test_an_interruption_keeps_what_is_finished(run, tmp_path):
    done = run("run", "plan.toml", "--out", "out", mine=KeyboardInterrupt())
    assert (done.status, "1 of 2 parts are in out, and the same command resumes from there" in done.err) == (130, True)
    before = (tmp_path / "out" / "parts.jsonl").read_text().splitlines()
    assert run("run", "plan.toml", "--out", "out").status == 0
    assert (tmp_path / "out" / "parts.jsonl").read_text().splitlines()[:2] == before


def test_a_run_says_what_is_missing_and_which_parts_the_next_one_examines_again(run, tmp_path):
    said = run("run", "plan.toml", "--out", "out").out
    assert f"missing     mine: mine.py not found in {tmp_path}" in said
    assert (
        "  Not kept         mine: each run examines it again, since mine.py:f has no digest here; files = [...]" in said
    )
    (tmp_path / "mine.py").write_text("")
    assert "Not kept" not in run("run", "plan.toml", "--out", "out").out


def test_what_cannot_be_used_is_refused_in_a_line(run, tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.doc").write_text("")
    (tmp_path / "bad.toml").write_text("[plan]\n[[part]]\nid = 1\n")
    for words in (("run", "bad.toml", "--out", "out"), ("run", "plan.toml", "--out", "full"), ("verify", "nowhere")):
        refused = run(*words)
        assert (refused.status, len(refused.lines)) == (2, 1)
    assert not (tmp_path / "out").exists()
    assert run("init").out.splitlines()[1].startswith("next ")
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    assert run("init", "--out", "a.toml").out.splitlines()[1].split() == NO_PDF.split()
    assert [run("init", *words).status for words in (("--out", "-"), ())] == [0, 2]


def test_verify_says_what_is_refused(run, tmp_path):
    run("run", "plan.toml", "--out", "out")
    assert run("verify", "out").out.startswith("agrees   out: ")
    (tmp_path / "out" / "badge.svg").write_text("met")
    refused = run("verify", "out")
    assert (refused.status, "refused  badge.svg: line 1 has " in refused.out) == (1, True)


def test_a_plan_is_run_where_only_the_audits_own_packages_are_installed(tmp_path):
    """Everything else in a plan that needs more says so as a part that failed; without WeasyPrint there is no PDF."""
    (tmp_path / "plan.toml").write_text(plan_text(RULES | {"mine": 'kind = "nightly"\ndb = "n"'}, REQUIRED))
    absent = ("sqlalchemy", "weasyprint", "httpx2", "z3", "sybil", "dask", "ray")
    code = f"import sys; sys.modules |= dict.fromkeys({absent}); "
    code += "from draftproof.reports.commands.main import main; main()"
    words = [sys.executable, "-c", code, "compliance", "run", "plan.toml", "--out", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=3600)
    nightly = "mine: sqlalchemy not found; install draftproof[nightly]"
    assert done.stdout.startswith(f"{NO_PDF}\nmissing     {nightly}\n"), "before anything is run"
    assert (done.returncode, done.stderr.strip()) == (3, ""), done.stderr
    assert "Met              R1: Lemma 8" in done.stdout and f"Failed           {nightly}" in done.stdout
