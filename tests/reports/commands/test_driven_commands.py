"""Audits and laws of subjects that are driven, from the command line: verdicts, exit statuses, what is said."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from draftproof import audit
from draftproof.models.battery import drawn, toy
from draftproof.proofs.driven import laws
from draftproof.reports.audits.functions import session
from draftproof.reports.pages.summary import reasons, summaries
from draftproof.tests.reports.audited import audited
from draftproof.tests.reports.commands.in_process import PAPER, draftproof
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects import driven

SUBJECTS = Path(__file__).parents[2] / "subjects"


def program(how):
    return shlex.join([sys.executable, "-S", str(SUBJECTS / "programs.py"), how])


def test_an_audit_of_a_program_says_how_its_law_was_had_and_what_it_could_have_missed(tmp_path):
    file = tmp_path / "report.json"
    status, text, _ = draftproof("audit", "--exec", program(""), "--problem", PAPER, "--json", file, "--verbose")
    report = json.loads(file.read_text())
    validate(report)
    assert (status, report["verdict"]) == (0, "holds")
    assert "driven on the lattice" in text
    assert "to a resolution of TV 0.0012" in text
    assert f"decisions that {laws.CONFIRMATIONS:,} random requests a problem did not reach" in text
    item = report["evidence"][0]
    assert item["method"] == "driving" and item["bound"] > item["detail"]["missed"] > 0
    numbers = {"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 24}
    assert report["subject"]["convention"]["numbers"][0] == numbers


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("bits", '"random": [0].bits: expected int <= 53'),
        ("crashes", "on problem inline problem: the program ended (killed by SIGABRT)"),
        ("wrong id", "answers a request that was not asked"),
    ],
)
def test_a_program_that_cannot_be_audited_is_exit_status_3(how, text):
    status, output, err = draftproof("audit", "--exec", program(how), "--problem", PAPER)
    assert status == 3
    assert text in " ".join(output.split())
    assert "Traceback" not in output + err


def test_exec_says_itself_what_it_takes():
    for other in (("mine.py:f",), ("--dtype", "float32"), ("--array", "list")):
        refused = draftproof("audit", "--exec", "x", *other)
        assert (refused.status, "the program's first line says what it is" in refused.err) == (2, True)


def test_the_law_of_a_program_has_the_form_of_a_reference_verifiers():
    status, output, _ = draftproof("law", "--exec", program(""), "--problem", PAPER, "--json", "-")
    law = json.loads(output)
    assert status == 0
    assert (law["expected_accepted"], law["lossless"], law["how"]) == ("10/9", True, "driven on the lattice")
    assert law["acceptance_ccdf"][0] == "1"


def test_where_no_form_of_law_holds_an_audit_samples_and_law_says_why():
    report = audited(driven.two_rows, [toy(1)], explain=False, samples=500)
    assert report.verdict == "inconclusive"
    assert "driven, no distribution" in {row.how for row in summaries(report)}
    assert "more than one row of noise" in reasons(report)[0]
    assert draftproof("law", f"{SUBJECTS / 'driven.py'}:two_rows", "--problem", PAPER)[0] == 3


def test_a_quick_audit_confirms_laws_by_fewer_requests(monkeypatch):
    monkeypatch.setattr(session, "QUICK_REQUESTS", 4000)
    problems = [drawn(2, 1, "generic"), drawn(2, 2, "generic")]

    def found(name, quick):
        report = audit(f"{driven.__file__}:{name}", problems, quick=quick, dtypes=["float64"], explain=False)
        missed = max(e.detail.missed for e in report.evidence if e.claim == "lossless")
        return report.verdict, report.subject["calls"], missed

    (whole, calls, missed), (quick, fewer, more) = found("token", False), found("token", True)
    assert whole == quick == "holds" and fewer < calls / 2 and 0 < missed < more < 0.03
    assert found("no_residual", True)[0] == "refuted"
