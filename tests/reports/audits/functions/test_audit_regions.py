"""The regions of rows that an audit covers: by the battery and by problems of its seed, and said in the report."""

import pytest

from draftproof.models.battery import audit_battery, own_problems, toy
from draftproof.models.path_rows import path_battery
from draftproof.models.regions import cells
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.reports.pages.page import page
from draftproof.tests.reports.audited import audited
from draftproof.tests.reports.report_schema import validate

pytestmark = pytest.mark.interception

SUBJECTS = "draftproof.tests.subjects.regions"


def test_an_audit_adds_problems_of_its_seed_to_the_battery_and_only_to_it():
    def examined(**settings):
        return {e.problem for e in run_audit(subject_from("token"), AuditSettings(**settings)).evidence}

    assert {p.name for p in [*audit_battery(), *own_problems(7), *path_battery()]} == examined(seed=7)
    assert {p.name for p in [*audit_battery(), *own_problems(7)]} == examined(seed=7, quick=True)
    assert examined(seed=7, problems=[toy(1)]) == {toy(1).name}


def test_the_regions_that_were_covered_stand_in_the_report_and_on_its_page():
    few = audited(f"{SUBJECTS}:right", own_problems(1)[:2], explain=False, dtypes=["float64", "float32"])
    assert few.verdict == "holds"
    validate(few.as_json())
    fine, coarse = (few.regions[dtype] for dtype in ("float64", "float32"))
    assert fine["position"] == {"covered": 2, "of": 30}
    assert 0 < sum(r["covered"] for r in coarse.values()) < sum(r["covered"] for r in fine.values()) < 100
    assert any(" of 1820 in float64, " in one and " of 1820 in float32; " in one for one in few.not_examined)
    assert "<td>position</td><td>2 of 30</td><td>2 of 30</td>" in page(few)
    shares = [f"{sum(r['covered'] for r in by.values())} of {len(cells())} in {d}" for d, by in few.regions.items()]
    assert few.scope.says.endswith(f"; input regions covered: {', '.join(shares)}")
