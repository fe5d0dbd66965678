"""A folder is refused wherever it is not what its plan and its parts give."""

import json
import sys
from datetime import datetime, timedelta, timezone
from hashlib import sha256

import pytest

from draftproof.models.battery import audit_battery, own_problems
from draftproof.models.digests import sha256_of
from draftproof.models.path_rows import path_battery
from draftproof.models.store import stored, stored_text
from draftproof.reports.audits.compliance.collecting import PARTS_HOLD
from draftproof.reports.audits.compliance.contradictions import left_out
from draftproof.reports.audits.compliance.declared import declared_files
from draftproof.reports.audits.compliance.document import document
from draftproof.reports.audits.compliance.plan import Collected, Part, load_plan
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.compliance import verification
from draftproof.reports.pages.compliance.folder import ATTESTATION_FILE, attestation, contents, digests
from draftproof.reports.pages.compliance.page import pdf
from draftproof.reports.pages.compliance.verification import compare_code, contradictions, verified
from draftproof.tests.reports.audits.compliance.conftest import CODE, PLAN
from draftproof.tests.reports.report_parts import item

pytestmark = pytest.mark.needs("weasyprint")


def refused(folder, **options):
    return verified(folder, folder.parent, **options).wrong


def sealed(folder):
    """Refusals of a folder whose attestation has the digests of what is there now, as a forger would write it."""
    there = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (folder / ATTESTATION_FILE).write_bytes(attestation(there, digests(folder)))
    return refused(folder)


def forged(folder, change=lambda part: None, about=None):
    """Change a part; make everything else from it as a run makes it, and attest it."""
    kept = stored(folder / "parts.jsonl", PARTS_HOLD).rows
    change(kept[0].row)
    said = json.loads((folder / "report.json").read_text(encoding="utf-8")) | (about or {})
    plan, parts = load_plan(folder / "plan.toml"), [Collected.read(row.row) for row in kept]
    made = document(plan, parts, said["date"], said["draftproof"])
    files = contents(plan, parts, made) | {"parts.jsonl": stored_text(PARTS_HOLD, kept)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "report.pdf").unlink(missing_ok=True)
    (folder / ATTESTATION_FILE).write_bytes(attestation(made, digests(folder)))


def edit(file, old, new):
    before = file.read_text(encoding="utf-8")
    assert old in before
    file.write_text(before.replace(old, new), encoding="utf-8")


def test_the_folder_of_a_run_agrees_with_itself(run, made):
    result = verified(run / "out", run, load=True, agreed=run / "compliance.toml")
    assert result == ([], "1 of 1 audited files are here; the PDF too; 1 of 1 digests of loaded code were compared")
    assert [r["verdict"] for r in made["requirements"]] == ["met", "open", "met"]
    assert [r["reading"] for r in made["requirements"]][::2] == [
        "met on what was examined, not proved for all",
        "met, by proof",
    ]


def test_what_is_only_made_again_agrees(folder):
    forged(folder)
    assert verified(folder, folder.parent) == (
        [], "1 of 1 audited files are here; there is no PDF; 0 of 1 digests of loaded code were compared (--load)",
    )  # fmt: skip


OPEN = '<span class="word {0}">{0}</span></td><td>The server'
SERVER = '"statement": "The server is lossless"'


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        ("report.html", OPEN.format("open"), OPEN.format("met"), "line "),
        ("report.html", "</style>", ".open { display: none } .open::before { content: 'met' }</style>", "line "),
        ("badge.svg", "open", "met", "line "),
        ("junit.xml", "error", "skipped", "line "),
        ("report.json", '"state": "failed"', '"state": "done"', "line "),
        ("report.json", '\n "title"', ' "title"', "line "),
        ("report.json", '"verdict": "open",\n "counts"', '"verdict": "met",\n "counts"',
         "line 24 has ' \"verdict\": \"met\",' where the plan and its parts give ' \"verdict\": \"open\",'"),
        # two readers could read another verdict in the same bytes
        ("report.json", '"verdict": "open",\n "counts"', '"verdict": "met",\n "verdict": "open",\n "counts"',
         'the key "verdict" is given twice'),
        ("report.json", SERVER, f'{SERVER}, "remark": "safe"', "requirements[1]: unknown field 'remark'"),
        ("report.json", '"format": "draftproof-compliance-1"', '"format": "draftproof-compliance-2"', "format: "),
        ("report.json", '"format": "draftproof-compliance-1"', '"format": "x"', "not a compliance document"),
    ],
)  # fmt: skip
def test_a_file_that_is_edited_is_refused_though_the_attestation_is_made_anew(name, old, new, line, folder):
    edit(folder / name, old, new)
    for wrong in (refused(folder), sealed(folder)):
        assert any(said.startswith(f"{name}: {line}") for said in wrong), wrong


def test_files_that_no_run_writes_and_files_that_are_missing_are_refused(folder):
    (folder / "attestation.json.sig").write_text("a signature is no part of the run")
    assert refused(folder) == []
    (folder / "certificate.txt").write_text("all requirements are met")
    (folder / "attestation.jsonX").mkdir()
    (folder / "attestation.jsonX" / "report.pdf").write_text("met")
    (folder / "link").symlink_to("/etc")
    (folder / "file").symlink_to("/etc/hostname")
    (folder / "junit.xml").unlink()
    assert {line for line in sealed(folder) if not line.startswith("attestation.json: line")} == {
        *(f"{name}: is no file that a run writes" for name in ("attestation.jsonX/report.pdf", "certificate.txt")),
        *(f"{name}: is not a plain file of a run" for name in ("attestation.jsonX", "file", "link")),
        "junit.xml: is missing",
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda files, made: attestation(made | {"requirements": made["requirements"][::2]}, files),
        lambda files, made: attestation(made, files | {"report.json": "0" * 64}),
        lambda files, made: b"[]",
    ],
)
def test_another_attestation_is_refused(change, folder, made):
    (folder / ATTESTATION_FILE).write_bytes(change(digests(folder), made))
    assert [line.partition(" line")[0] for line in refused(folder)] == ["attestation.json:"]


def test_another_pdf_is_refused_and_one_of_other_versions_or_fonts_is_known_by_its_identifier_alone(
    folder, monkeypatch
):
    html, file = (folder / "report.html").read_bytes(), folder / "report.pdf"
    drawn, other_page = file.read_bytes(), "report.pdf: is not drawn from the page that the plan and its parts give"
    for content, line in (
        (drawn.replace(b"%%EOF", b"%met\n%%EOF"), "report.pdf: is not drawn as WeasyPrint draws the page here"),
        (drawn.replace(sha256(html).hexdigest().encode(), b"0" * 64), other_page),
        (b"%PDF-1.7 nothing", other_page),
    ):
        file.write_bytes(content)
        assert sealed(folder) == [line]
    by_identifier = "only the identifier of the PDF: it was drawn with other versions or fonts"
    file.write_bytes(drawn.replace(b"%%EOF", b"stream\n/BaseFont /ABCDEF+Elsewhere\nendstream\n%%EOF"))
    assert sealed(folder) == []
    assert verified(folder, folder.parent).compared.split("; ")[1] == by_identifier
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setattr(verification, "pdf", pdf)
    assert verified(folder, folder.parent).compared.split("; ")[1] == by_identifier


# ---------------------------------------------------------------- everything made again from a forged part


def without_evidence(part):
    part.report.update(evidence=[])
    del part.report["scope"], part.report["not_examined"]


def beyond(part):
    part.report["evidence"][0].update(verdict="holds", total_variation=0.7, bound=0.0)


HISTORY = {"state": "quiet", "failures": [], "lifetime_alpha": 0.1, "checks": [{
    "subject": "f", "version": "v", "check": "p", "current": True, "state": "quiet", "log_e": 9.0, "largest_log_e": 9.0,
    "alarm_at": 7.0, "watch_at": 4.0, "draws": 9, "detects": None, "witness": None, "impossible": None, "nights": [],
}]}  # fmt: skip


@pytest.mark.parametrize(
    ("at", "change", "words"),
    [
        (0, beyond, "holds on paper, and deviates by more than it allows"),
        (0, lambda part: part.report.update(verdict="refuted"), "verdict is not what its evidence gives"),
        (0, lambda part: part.report.update(not_examined=[]), "not_examined is not what its evidence gives"),
        (0, lambda part: part.report["subject"].update(name="token"), "is of token, the plan names mine.py:f"),
        (0, lambda part: part.options.update(dtypes=["float32"]), "is of other numbers than the plan names"),
        (0, without_evidence, "has no evidence on paper"),
        (0, lambda part: part.report["evidence"][0].update(remark="certified"), "evidence is not what its evidence"),
        (1, lambda part: setattr(part, "recorded", False), "the plan says not to run the proofs"),
        (1, lambda part: part.proofs[0].update(method="coq"), "its proofs are not those on record"),
        (2, lambda part: setattr(part, "history", HISTORY), "states are not"),
    ],
)
def test_what_contradicts_itself_is_refused_whoever_made_it(at, change, words, run):
    parts = [Collected.read(row.row) for row in stored(run / "out" / "parts.jsonl", PARTS_HOLD).rows]
    assert [*contradictions("2026-01-01", parts, True)] == []
    change(parts[at])
    assert any(words in line for line in contradictions("2026-01-01", parts, True))


def test_contradictions_are_refused_in_a_folder_that_is_made_again_from_a_forged_part(folder):
    forged(folder, lambda part: part["report"].update(evidence=[], scope=None))
    assert "report.json: part mine: has no evidence on paper" in refused(folder)
    tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).date().isoformat()
    for date in (tomorrow, "2023-02-30"):
        forged(folder, about={"date": date})
        line = f"report.json: its date, {date}, is in the future by the clock here, or is none"
        assert line in refused(folder)


def test_a_digest_that_is_not_that_of_the_code_is_refused_where_it_is_loaded_and_said_to_be_unseen_elsewhere(folder):
    forged(folder, lambda part: part["report"]["subject"].update(digest=f"sha256:{'0' * 64}"))
    wrong, said = verified(folder, folder.parent)
    assert (wrong, said.rpartition("; ")[2]) == ([], "0 of 1 digests of loaded code were compared (--load)")
    (line,) = refused(folder, load=True)
    assert f"part mine says that the digest of the loaded code is sha256:{'0' * 64}; here it is sha256:" in line


def test_the_digest_of_another_file_and_a_part_of_older_code_are_refused(folder):
    """A part's key has the digests of its files and of draftproof's code; a forged document has another."""
    forged(folder, lambda part: part.update(files={"mine.py": "0" * 64}))
    assert refused(folder)[0].startswith("parts.jsonl: line 2 has ")
    assert "mine.py: is not the file that part mine examined" in refused(folder)
    about = json.loads((folder / "report.json").read_text(encoding="utf-8"))["draftproof"]
    forged(folder, about={"draftproof": about | {"audits": "0" * 64}})
    assert refused(folder)[0].startswith("parts.jsonl: line 2 has ")


def test_another_plan_than_the_one_agreed_on_is_refused(folder, tmp_path):
    (tmp_path / "agreed.toml").write_text(PLAN.replace("R1", "R4"), encoding="utf-8")
    assert refused(folder, agreed=tmp_path / "agreed.toml") == [f"plan.toml: is not {tmp_path / 'agreed.toml'}"]
    (folder / "report.pdf").unlink()
    (folder / "plan.toml").write_text(PLAN.replace("Lemma 8", "Another"), encoding="utf-8")
    assert any(line.startswith("report.json: line ") for line in sealed(folder))
    (folder / "plan.toml").write_text(PLAN.replace('"mine.py:f"', '"mine.py:g"'), encoding="utf-8")
    assert "parts.jsonl: its parts are not the plan's" in sealed(folder)


def test_evidence_on_a_problem_of_every_audit_cannot_be_left_out():
    names = [problem.name for problem in [*audit_battery(), *own_problems(0), *path_battery()]]
    report = Report.begin("f.py:f", "f.py", ("float64", "float32"), 0, ("lossless",))
    for dtype, some in (("float64", names), ("float32", names[1:])):
        report.add(item(problem=name, detail={"dtype": dtype}) for name in some)
    assert left_out(report, {"subject": "f.py:f"}) == names[:1]
    report.add([item(problem=names[0], detail={"dtype": "float32"})])
    assert left_out(report, {"subject": "f.py:f"}) == []
    assert left_out(report, {"problems": ["a"]}) == ["one that the plan names"]


def test_a_declared_file_that_changed_or_came_since_is_refused(folder, tmp_path):
    (tmp_path / "pkg").mkdir()
    for name in ("mine.py", "pkg/impl.py"):
        (tmp_path / name).write_text("")
    part = Part("mine", "audit", {"subject": "mine.py:f", "files": ["pkg"]})
    digested = {name: sha256_of(file) for name, file in declared_files(part, tmp_path).items()}
    parts = [Collected.of(part, files=digested)]
    (tmp_path / "beside.py").write_text("y = 1")
    assert compare_code(parts, tmp_path) == ([], "2 of 2 audited files are here")
    (tmp_path / "pkg" / "impl.py").write_text("y = 1")
    (tmp_path / "pkg" / "new.py").write_text("y = 1")
    assert compare_code(parts, tmp_path).wrong == [
        "pkg/impl.py: is not the file that part mine examined",
        "pkg/new.py: was not there when part mine was examined",
    ]
    (folder.parent / "mine.py").write_text(CODE + "# changed")
    assert refused(folder) == ["mine.py: is not the file that part mine examined"]


def test_a_folder_of_other_versions_that_is_refused_says_so(folder, monkeypatch):
    monkeypatch.setattr(verification, "versions_in_use", lambda: {"draftproof": "9"})
    assert verified(folder, folder.parent).compared.endswith("it says that other code or versions wrote it")
    (folder / "junit.xml").unlink()
    assert refused(folder)[1].startswith("report.json: was written by other code or versions; verify it with those")
