"""A claim is one entry of one table: one that is registered here is found on every surface."""

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from draftproof.reports.audits.comparison.changes import WORSE, changes
from draftproof.reports.audits.comparison.states import states_of
from draftproof.reports.audits.compliance.plan import Requirement, all_claims
from draftproof.reports.audits.compliance.requirements import FAILED, judged
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.report_form import SCHEMA_FILE, report_schema, schema_text
from draftproof.reports.commands.list import command as list_command
from draftproof.reports.pages.glossary import glossary
from draftproof.reports.pages.junit import junit
from draftproof.reports.pages.page import page
from draftproof.reports.pages.sarif import sarif
from draftproof.reports.pages.terminal import show
from draftproof.tests.reports.audits.compliance.compliance_parts import got
from draftproof.tests.reports.report_parts import item
from draftproof.verifiers.claims import CLAIMS, FUNCTION, Claim
from draftproof.verifiers.evidence import REFUTED, Witness

pytestmark = pytest.mark.exact

POLITE = Claim(
    statement="no call waits for another",
    refuted="It makes others wait.",
    glossary="The claim that nobody is kept waiting.",
    runs=(FUNCTION,),
    level="note",
)


@pytest.fixture
def polite(monkeypatch):
    """The claim, for one test; and a report in which it is refuted."""
    monkeypatch.setitem(CLAIMS, "polite", POLITE)
    witness = Witness(sequence="0", expected="1/2", observed="1/3", problem={"vocabulary": 2})
    report = Report.begin("f.py:f", "f.py", ["float64"], 0, claims=("polite",))
    report.add([item(REFUTED, claim="polite", witness=witness)])
    return report


def test_a_new_claim_is_found_on_every_surface(polite):
    console = Console(file=io.StringIO(), width=200)
    show(polite, console)
    assert "f.py:f   REFUTED: polite does not hold" in console.file.getvalue() and "1 of 1" in console.file.getvalue()
    html = page(polite)
    assert POLITE.refuted in html and POLITE.glossary in html and 'href="#term-polite"' in html
    assert 'name="polite, float64' in junit(polite)
    (result,), rules = sarif(polite)["runs"][0]["results"], sarif(polite)["runs"][0]["tool"]["driver"]["rules"]
    assert result["ruleId"] == rules[result["ruleIndex"]]["id"] == "polite"
    assert rules[-1] == {
        "id": "polite",
        "shortDescription": {"text": POLITE.statement},
        "defaultConfiguration": {"level": "note"},
    }
    good = Report.begin("f.py:f", "f.py", ["float64"], 0, claims=("polite",))
    good.add([item(claim="polite")])
    old, new = (states_of(json.loads(report.text()), "r") for report in (good, polite))
    assert any((c.kind, c.what, c.after) == (WORSE, "polite, float64", "refuted") for c in changes(old, new))
    part = got(*polite.evidence, claims=("polite",))
    assert judged(Requirement("R1", "it is polite", "polite", ("a",)), [part]).verdict == FAILED
    assert all_claims()["polite"] == POLITE.statement and glossary()["polite"] == POLITE.glossary
    assert "polite" in report_schema()["$defs"]["Evidence"]["properties"]["claim"]["enum"]
    listed = CliRunner().invoke(list_command, ["claims"]).output
    assert any(line.split()[0] == "polite" and POLITE.statement in line for line in listed.splitlines())


def test_the_shipped_schema_is_that_of_the_types():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "python -m draftproof.reports.audits.report_form writes it"
    )
    assert "properties" in report_schema()["$defs"]["LawDetail"]
