"""The folder of a run, altered and made consistent again with draftproof itself: what ``verify`` still notices."""

import json
import shutil
from datetime import datetime, timedelta, timezone

import pytest

from draftproof.models.battery import audit_battery, own_problems
from draftproof.models.store import stored_rows, stored_text
from draftproof.reports.audits.compliance.collecting import PARTS_HOLD, collect
from draftproof.reports.audits.compliance.document import (
    ATTESTATION_FILE,
    attestation,
    canonical,
    derived,
    digests,
    text,
    write_folder,
)
from draftproof.reports.audits.compliance.evidence_rows import left_out
from draftproof.reports.audits.compliance.plan import Collected, load_plan
from draftproof.reports.audits.compliance.verification import verified
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.compliance.page import RENDERING, page
from draftproof.reports.pages.junit import junit_of_requirements
from draftproof.reports.pages.page import badge
from draftproof.verifiers.details import Detail
from draftproof.verifiers.evidence import HOLDS, Evidence, Method

pytestmark = pytest.mark.needs("pypdf", "jsonschema")

CODE = """
def f(target_probs, draft_probs, draft_tokens, rng):
    x = draft_tokens[0]
    if rng.random() * draft_probs[0][x] < target_probs[0][x]:
        return [x, rng.choice(2, p=target_probs[1])]
    return [1 - x]
"""
PROBLEM = '{"name": "paper", "vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PLAN = f"""
[plan]
title = "A deployment"
[[part]]
id = "mine"
kind = "audit"
subject = "mine.py:f"
problems = ['{PROBLEM}']
[[requirement]]
id = "R1"
statement = "It is lossless"
claim = "lossless"
parts = ["mine"]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    here = tmp_path_factory.mktemp("forged")
    (here / "mine.py").write_text(CODE)
    (here / "compliance.toml").write_text(PLAN)
    plan = load_plan(here / "compliance.toml")
    document, _ = write_folder(here / "out", plan, [*collect(plan, here / "out")], RENDERING)
    assert document["verdict"] == "met"
    (here / "out" / "report.pdf").unlink(missing_ok=True)
    return here


@pytest.fixture
def folder(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    forged(tmp_path / "run" / "out")
    return tmp_path / "run" / "out"


def forged(folder, change=lambda part: None, about=None):
    """Change the part; everything else is made from it as a run makes it, and attested."""
    (kept,) = stored_rows(folder / "parts.jsonl", PARTS_HOLD)
    change(kept.row)
    before = json.loads((folder / "report.json").read_text())
    said, plan = before | (about or {}), load_plan(folder / "plan.toml")
    made = derived(plan, said["date"], said["draftproof"], [Collected.from_json(kept.row)])
    row = json.loads(json.dumps(Collected.from_json(kept.row).as_json()))
    (folder / "parts.jsonl").write_bytes(stored_text(PARTS_HOLD, [kept._replace(row=row)]))
    (folder / "report.json").write_text(text(made))
    (folder / "report.html").write_text(page(json.loads(text(made))))
    (folder / "badge.svg").write_text(badge(made["verdict"], made["date"]))
    (folder / "junit.xml").write_text(junit_of_requirements(made))
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(made, digests(folder))))


def refused(folder, **options):
    return verified(folder, folder.parent, RENDERING, **options)[0]


def test_what_is_only_made_again_agrees(folder):
    assert verified(folder, folder.parent, RENDERING, load=True, agreed=folder.parent / "compliance.toml") == (
        [], "1 of 1 audited files are here; there is no PDF; 1 of 1 digests of loaded code were compared",
    )  # fmt: skip


def test_a_date_in_the_future_or_that_is_none_is_refused(folder):
    tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).date().isoformat()
    for date in (tomorrow, "2023-02-30"):
        forged(folder, about={"date": date})
        assert refused(folder) == [f"report.json: its date, {date}, is in the future by the clock here, or is none"]


def test_a_digest_that_is_not_that_of_the_code_is_refused_where_it_is_loaded_and_said_to_be_unseen_elsewhere(folder):
    forged(folder, lambda part: part["report"]["subject"].update(digest=f"sha256:{'0' * 64}"))
    wrong, said = verified(folder, folder.parent, RENDERING)
    assert (wrong, said.rpartition("; ")[2]) == ([], "0 of 1 digests of loaded code were compared (--load)")
    (line,) = refused(folder, load=True)
    assert f"part mine says that the digest of the loaded code is sha256:{'0' * 64}; here it is sha256:" in line


def test_the_digest_of_another_file_and_a_part_of_older_code_are_refused(folder):
    other = {"mine.py": "0" * 64}
    forged(folder, lambda part: part.update(files=other))
    made_with_others = (
        "parts.jsonl: mine was made with other files, versions or code of draftproof than report.json says"
    )
    assert refused(folder)[0] == made_with_others
    assert "mine.py: is not the file that part mine examined" in refused(folder)


def test_a_part_of_an_older_run_is_refused(folder):
    """It was made by other code of draftproof, or with other versions: its key is not what the document gives."""
    about = json.loads((folder / "report.json").read_text())["draftproof"]
    forged(folder, about={"draftproof": about | {"audits": "0" * 64}})
    assert refused(folder)[0].startswith("parts.jsonl: mine was made with other files")
    forged(folder, about={"draftproof": about})
    assert refused(folder) == []


def without(problem):
    def change(part):
        report = part["report"]
        report["evidence"] = [e for e in report["evidence"] if e["problem"] != problem]
        del report["scope"], report["not_examined"]

    return change


def test_evidence_on_a_problem_that_the_plan_names_cannot_be_left_out(folder):
    forged(folder, without("paper"))
    assert any(line.endswith("part mine: has no evidence on paper") for line in refused(folder))


def test_evidence_on_a_problem_of_every_audit_cannot_be_left_out():
    names = [problem.name for problem in [*audit_battery(), *own_problems(0)]]
    report = Report.begin("f.py:f", "f.py", ("float64", "float32"), 0, ("lossless",))
    for dtype, some in (("float64", names), ("float32", names[1:])):
        report.add(
            Evidence(claim="lossless", method=Method.INTERCEPTION, verdict=HOLDS, problem=p, detail=Detail(dtype=dtype))
            for p in some
        )
    part = {"kind": "audit", "state": "done", "options": {"subject": "f.py:f"}, "report": report.as_json()}
    assert left_out(part) == names[:1]
    assert left_out({**part, "state": "failed"}) == left_out({**part, "kind": "engine"}) == []
    whole = report.as_json() | {"evidence": [e for e in report.as_json()["evidence"] if e["problem"] != names[0]]}
    assert left_out({**part, "options": {"problems": ["a"]}, "report": whole}) == ["one that the plan names"]


def test_another_plan_than_the_one_agreed_on_is_refused(folder, tmp_path):
    (tmp_path / "agreed.toml").write_text(PLAN.replace("R1", "R2"))
    assert refused(folder, agreed=tmp_path / "agreed.toml") == [f"plan.toml: is not {tmp_path / 'agreed.toml'}"]
