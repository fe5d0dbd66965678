"""A verdict stands, with its exit status and its report, whatever fails of what explains or draws it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from draftproof.reports.audits.engines import exact_texts
from draftproof.reports.audits.engines.audit import audit_engine, engine_from
from draftproof.reports.audits.functions import explanation
from draftproof.reports.commands.main import cli
from draftproof.reports.pages import junit, page, sarif, terminal

PLANTED = Path(__file__).parents[1] / "subjects" / "engines.py"
GOLDEN = Path(__file__).parent / "golden" / "wrong.json"
PROBLEM = '{"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
WRONG = "draftproof.verifiers.zoo.residual:replacement_from_target"


def fails(*_, **__):
    raise KeyError("planted")


@pytest.mark.parametrize(("module", "name"), [(explanation, "shrink"), (explanation, "diagnose")])
def test_a_function_stays_refuted_where_its_explanation_fails(module, name, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, fails)
    file = tmp_path / "report.json"
    done = CliRunner().invoke(cli, ["audit", WRONG, "--problem", PROBLEM, "--json", str(file)])
    report = json.loads(file.read_text())
    assert (done.exit_code, report["verdict"]) == (1, "refuted"), done.output
    assert [f["kind"] for f in report["findings"]] == ["not-explained"]


def test_the_smallest_witness_stays_where_it_cannot_be_said_where_its_law_departs(monkeypatch, tmp_path):
    monkeypatch.setattr(explanation, "where_it_departs", fails)
    file = tmp_path / "report.json"
    done = CliRunner().invoke(cli, ["audit", WRONG, "--problem", PROBLEM, "--json", str(file)])
    report = json.loads(file.read_text())
    witnesses = [item["witness"] for item in report["evidence"] if item.get("witness")]
    assert done.exit_code == 1 and any(witness.get("smallest") for witness in witnesses)
    assert [f["kind"] for f in report["findings"]] == ["not-explained"]


def test_an_engine_stays_refuted_where_its_diagnosis_fails(monkeypatch):
    monkeypatch.setattr(exact_texts, "behaves_as", fails)
    report = audit_engine(engine_from(f"{PLANTED}:replaced_by_the_target"), levels=("exact",), tokens=2)
    assert report.verdict == "refuted" and "KeyError: 'planted'" in report.findings["not-explained"]


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        (page, "page", "--html"),
        (sarif, "sarif", "--sarif"),
        (junit, "junit", "--junit"),
        (terminal, "show", "terminal"),
    ],
)
def test_a_command_ends_with_the_verdict_where_a_form_of_its_report_fails(module, name, says, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, fails)
    files = {form: tmp_path / f"report.{form}" for form in ("json", "html", "sarif", "junit")}
    options = [word for form, file in files.items() for word in (f"--{form}", str(file))]
    done = CliRunner().invoke(cli, ["report", "show", str(GOLDEN), *options])
    assert done.exit_code == 1, done.output
    assert f"{says}: could not be drawn (KeyError: 'planted'); the verdict stands" in done.stderr
    assert {form for form, file in files.items() if file.exists()} == {*files} - {says.strip("-")}
