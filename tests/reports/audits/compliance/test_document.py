"""What a compliance run writes: its schema, attestation, JUnit, badge, page and PDF."""

import json
import shutil
import xml.etree.ElementTree as ET

import pytest

from draftproof.reports.audits.compliance.collecting import collect
from draftproof.reports.audits.compliance.document import SCHEMA_FILE, schema_text
from draftproof.reports.audits.compliance.plan import load_plan
from draftproof.reports.pages.compliance import folder as folder_of_run
from draftproof.reports.pages.compliance.folder import (
    ATTESTATION_FILE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    attestation,
    contents,
    digests,
    write_folder,
)
from draftproof.reports.pages.compliance.page import page, pdf
from draftproof.reports.pages.page import BADGE_COLOURS
from draftproof.tests.reports.audits.compliance.compliance_parts import plan_text
from draftproof.tests.reports.audits.compliance.conftest import PROBLEM
from draftproof.tests.reports.pages.test_page import Sources

pytestmark = pytest.mark.needs("weasyprint")


def again(run, folder, monkeypatch):
    """Write a folder from the parts of a run, drawing everything again."""
    monkeypatch.setattr(folder_of_run, "page", page)
    monkeypatch.setattr(folder_of_run, "pdf", pdf)
    folder.mkdir()
    shutil.copy(run / "out" / "parts.jsonl", folder)
    plan = load_plan(run / "compliance.toml")
    return write_folder(folder, plan, [*collect(plan, folder)])


@pytest.mark.long
def test_another_run_writes_the_same_bytes(run, tmp_path, monkeypatch):
    """The PDF too has no times and no random numbers."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    again(run, tmp_path / "again", monkeypatch)
    assert digests(tmp_path / "again") == digests(run / "out")
    assert (tmp_path / "again" / ATTESTATION_FILE).read_bytes() == (run / "out" / ATTESTATION_FILE).read_bytes()


def test_the_schema_is_that_of_the_types():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "python -m draftproof.reports.audits.compliance.document writes it"
    )


@pytest.mark.parametrize(
    ("verdicts", "result"),
    [
        (["met"], "PASSED"),
        (["met", "sampled only"], "WARNED"),
        (["open"], "WARNED"),
        (["met", "refuted"], "FAILED"),
        ([], "WARNED"),
    ],
)
def test_an_attestation_passes_only_what_is_met(verdicts, result, made):
    required = [{"id": "R", "statement": "s", "verdict": verdict} for verdict in verdicts]
    assert json.loads(attestation(made | {"requirements": required}, {}))["predicate"]["result"] == result


def test_the_attestation_is_an_in_toto_statement_on_the_audited_code(run):
    said = json.loads((run / "out" / ATTESTATION_FILE).read_bytes())
    assert (said["_type"], said["predicateType"]) == (STATEMENT_TYPE, PREDICATE_TYPE)
    named = {key: [name[:2] for name in said["predicate"][f"{key}Tests"]] for key in ("passed", "warned", "failed")}
    assert named == {"passed": ["R1", "R3"], "warned": ["R2"], "failed": []}
    assert [entry["name"] for entry in said["subject"]] == ["mine.py", "mine.py:f, as part mine digests it"]


def test_junit_has_a_case_a_requirement_and_the_badge_the_verdict_and_the_page_is_self_contained(run, made):
    suite = ET.parse(run / "out" / "junit.xml").getroot()[0]
    outcomes = [len(case) and case[0].tag for case in suite.iter("testcase")]
    assert outcomes == [0, "error", 0], "what is open is not green"
    assert suite.get("errors") == "1" and suite.get("name") == made["title"]
    shown = ET.parse(run / "out" / "badge.svg").getroot()
    assert shown.get("aria-label") == "draftproof: open, 2023-11-14"
    sources = Sources()
    sources.feed((run / "out" / "report.html").read_text(encoding="utf-8"))
    assert (sources.loads, sources.scripts) == ([], 0)


@pytest.mark.parametrize(
    ("problems", "says", "green"),
    [("", "draftproof: met", True), (f"problems = ['{PROBLEM}']", "draftproof: met on problems of its own", False)],
)
def test_a_badge_is_green_for_problems_of_draftproofs_choice_alone(problems, says, green, made, tmp_path):
    (tmp_path / "mine.py").write_text("")
    part = f'kind = "audit"\nsubject = "mine.py:f"\n{problems}'
    wanted = 'statement = "It is lossless"\nclaim = "lossless"\nparts = ["mine"]'
    (tmp_path / "plan.toml").write_text(plan_text({"mine": part}, {"R1": wanted}), encoding="utf-8")
    drawn = contents(load_plan(tmp_path / "plan.toml"), [], made | {"verdict": "met"})["badge.svg"].decode()
    assert says in drawn and (BADGE_COLOURS["met"] in drawn) == green


@pytest.mark.needs("pypdf")
def test_the_pdf_has_contents_page_numbers_and_figures_as_vectors_and_no_page_is_nearly_empty(run):
    from pypdf import PdfReader

    pages = PdfReader(run / "out" / "report.pdf").pages
    assert f"page 1 of {len(pages)}" in pages[0].extract_text()
    assert "Contents" in pages[0].extract_text() + pages[1].extract_text()
    assert b"/Image" not in (run / "out" / "report.pdf").read_bytes()
    for sheet in pages[:-1]:
        heights: list[float] = []

        def seen(text, outer, inner, *_, heights=heights):
            heights += [inner[5] * outer[3] + outer[5]] if text.strip() else []

        sheet.extract_text(visitor_text=seen)
        top = float(sheet.mediabox.height)
        assert min((y for y in heights if y > 0.06 * top), default=top) <= top / 2, "the number of the page is below"
