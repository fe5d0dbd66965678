"""The folder of a compliance run: reproducible, and refused wherever it is not what its plan and its parts give."""

import json
import shutil
import sys
import xml.etree.ElementTree as ET
from datetime import datetime, timedelta, timezone
from functools import cache
from hashlib import sha256

import pytest

from draftproof.models.battery import audit_battery, own_problems
from draftproof.models.digests import sha256_of
from draftproof.models.store import stored_rows, stored_text
from draftproof.reports.audits.compliance import verification
from draftproof.reports.audits.compliance.collecting import PARTS_HOLD, collect
from draftproof.reports.audits.compliance.declared import declared_files
from draftproof.reports.audits.compliance.document import SCHEMA_FILE, document, schema_text, text
from draftproof.reports.audits.compliance.evidence_rows import left_out
from draftproof.reports.audits.compliance.folder import (
    ATTESTATION_FILE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    attestation,
    canonical,
    contents,
    digests,
    write_folder,
)
from draftproof.reports.audits.compliance.plan import Collected, Part, load_plan
from draftproof.reports.audits.compliance.verification import compare_code, contradictions, verified
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.compliance.page import RENDERING, page, pdf
from draftproof.reports.pages.page import badge
from draftproof.tests.reports.pages.test_page import Sources
from draftproof.verifiers.details import Detail
from draftproof.verifiers.evidence import HOLDS, Evidence, Method

pytestmark = pytest.mark.needs("weasyprint")

CODE = """
def f(target_probs, draft_probs, draft_tokens, rng):
    x = draft_tokens[0]
    if rng.random() * draft_probs[0][x] < target_probs[0][x]:
        return [x, rng.choice(2, p=target_probs[1])]
    return [1 - x]
"""
EVIL = '<script>alert(1)</script> & ]]> \\" é'
PROBLEM = '{"name": "paper", "vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PLAN = f"""
[plan]
title = "{EVIL}"
[[part]]
id = "mine"
kind = "audit"
subject = "mine.py:f"
problems = ['{PROBLEM}']
[[part]]
id = "rules"
kind = "proofs"
claims = ["lemma-8"]
[[part]]
id = "server"
kind = "server"
url = "http://{EVIL}"
target = "x"
[[requirement]]
id = "R1"
statement = "It is lossless on one problem {EVIL}"
claim = "lossless"
parts = ["mine"]
[[requirement]]
id = "R2"
statement = "The server is lossless"
claim = "lossless"
parts = ["server"]
[[requirement]]
id = "R3"
statement = "Lemma 8"
claim = "lemma-8"
parts = ["rules"]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a plan with its run in ``out``, whose date is that of SOURCE_DATE_EPOCH."""
    here = tmp_path_factory.mktemp("compliance")
    (here / "mine.py").write_text(CODE)
    (here / "compliance.toml").write_text(PLAN, encoding="utf-8")
    plan = load_plan(here / "compliance.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        assert write_folder(here / "out", plan, [*collect(plan, here / "out")], RENDERING).no_pdf is None
    return here


@pytest.fixture(scope="module")
def made(run):
    """The document of the run."""
    return json.loads((run / "out" / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(run, tmp_path):
    """A copy of the run's folder, to be changed."""
    shutil.copytree(run, tmp_path / "run")
    return tmp_path / "run" / "out"


@cache
def page_of(document):
    return RENDERING.page(json.loads(document))


CACHED = RENDERING._replace(page=lambda document: page_of(json.dumps(document)), pdf=cache(RENDERING.pdf))
"""The rendering, which draws equal pages and figures once for all tests."""


def refused(folder, **options):
    return verified(folder, folder.parent, CACHED, **options).wrong


def sealed(folder):
    """Refusals of a folder whose attestation has the digests of what is there now, as a forger would write it."""
    there = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(there, digests(folder))))
    return refused(folder)


def forged(folder, change=lambda part: None, about=None):
    """Change a part; make everything else from it as a run makes it, and attest it."""
    kept = stored_rows(folder / "parts.jsonl", PARTS_HOLD)
    change(kept[0].row)
    said = json.loads((folder / "report.json").read_text(encoding="utf-8")) | (about or {})
    plan, parts = load_plan(folder / "plan.toml"), [Collected.from_json(row.row) for row in kept]
    files = contents(plan, parts, document(plan, parts, said["date"], said["draftproof"]), CACHED)
    rows = [row._replace(row=one.stored("").row) for row, one in zip(kept, parts, strict=True)]
    for name, content in (files | {"parts.jsonl": stored_text(PARTS_HOLD, rows)}).items():
        (folder / name).write_bytes(content)
    (folder / "report.pdf").unlink(missing_ok=True)
    there = json.loads(files["report.json"])
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(there, digests(folder))))


def edit(file, old, new):
    before = file.read_text(encoding="utf-8")
    assert old in before
    file.write_text(before.replace(old, new), encoding="utf-8")


def test_the_folder_of_a_run_agrees_with_itself(run, made):
    result = verified(run / "out", run, RENDERING, load=True, agreed=run / "compliance.toml")
    assert result == (
        [], "1 of 1 audited files are here; the PDF too; 1 of 1 digests of loaded code were compared",
    )  # fmt: skip
    assert [r["verdict"] for r in made["requirements"]] == ["met", "open", "met"]
    assert [r["reading"] for r in made["requirements"]][::2] == [
        "met on what was examined, not proved for all",
        "met, by proof",
    ]
    assert made["date"] == "2023-11-14"


def test_what_is_only_made_again_agrees(folder):
    forged(folder)
    assert verified(folder, folder.parent, CACHED) == (
        [], "1 of 1 audited files are here; there is no PDF; 0 of 1 digests of loaded code were compared (--load)",
    )  # fmt: skip


@pytest.mark.long
def test_another_run_writes_the_same_bytes(run, tmp_path, monkeypatch):
    """The PDF too has no times and no random numbers."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (tmp_path / "again").mkdir()
    shutil.copy(run / "out" / "parts.jsonl", tmp_path / "again")
    plan = load_plan(run / "compliance.toml")
    write_folder(tmp_path / "again", plan, [*collect(plan, tmp_path / "again")], RENDERING)
    assert digests(tmp_path / "again") == digests(run / "out")
    assert (tmp_path / "again" / ATTESTATION_FILE).read_bytes() == (run / "out" / ATTESTATION_FILE).read_bytes()


# ---------------------------------------------------------------- planted manipulations

OPEN = '<span class="word {0}">{0}</span></td><td>The server'


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("report.html", OPEN.format("open"), OPEN.format("met")),
        ("report.html", "not repeated here", "repeated here"),
        ("report.html", '<h2 id="requirements">', '<metadata>R2 is met</metadata><h2 id="requirements">'),
        ("report.html", "</head>", "<script>document.body.textContent = 'met'</script></head>"),
        ("report.html", "</style>", ".open { display: none } .open::before { content: 'met' }</style>"),
        ("badge.svg", "open", "met"),
        ("junit.xml", "error", "skipped"),
        ("report.json", '"verdict": "open"', '"verdict": "met"'),
        ("report.json", '"statement": "Lemma 8"', '"statement": "It is safe"'),
        ("report.json", '"closing": []', '"closing": ["no"]'),
        ("report.json", '"title": "', '"title": "Another '),
        ("report.json", '"state": "failed"', '"state": "done"'),
        ("report.json", '\n "title"', ' "title"'),
    ],
)
def test_a_file_that_is_edited_is_refused_though_the_attestation_is_made_anew(name, old, new, folder):
    edit(folder / name, old, new)
    assert any(line.startswith(f"{name}: line ") for line in refused(folder))
    assert any(line.startswith(f"{name}: line ") for line in sealed(folder))


def test_a_refusal_shows_the_line_that_differs(folder):
    edit(folder / "report.json", '"verdict": "open",\n "counts"', '"verdict": "met",\n "counts"')
    assert refused(folder) == [
        'report.json: line 24 has \' "verdict": "met",\' where the plan and its parts give \' "verdict": "open",\''
    ]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda d: d["requirements"].pop(1), "report.json: line "),
        (lambda d: d["parts"].pop(), "report.json: line "),
        (lambda d: d["plan"].update(sha256="0" * 64), "report.json: line "),
        (lambda d: d.update(format="other"), "report.json: not a compliance document"),
        (lambda d: d.update(seal="good"), "report.json: unknown field 'seal'"),
        (lambda d: d["parts"][0]["report"].pop("seed"), "report.json: line "),
    ],
)
def test_a_document_that_is_changed_is_refused_though_the_attestation_is_made_anew(change, line, folder):
    changed = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    change(changed)
    (folder / "report.json").write_text(text(changed), encoding="utf-8")
    assert any(said.startswith(line) for said in sealed(folder)), sealed(folder)


def test_a_name_that_is_there_twice_is_refused(folder):
    """One reader takes the first, another the last: the JSON says two things."""
    edit(folder / "report.json", '"verdict": "open",\n "counts"', '"verdict": "met",\n "verdict": "open",\n "counts"')
    assert sealed(folder) == ['report.json: the key "verdict" is given twice']


def test_files_that_no_run_writes_and_files_that_are_missing_are_refused(folder):
    (folder / "attestation.json.sig").write_text("a signature is no part of the run")
    assert refused(folder) == []
    (folder / "certificate.txt").write_text("all requirements are met")
    (folder / "attestation.json.html").write_text("met")
    (folder / "attestation.jsonX").mkdir()
    (folder / "attestation.jsonX" / "report.pdf").write_text("met")
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("/etc")
    (folder / "file").symlink_to("/etc/hostname")
    (folder / "junit.xml").unlink()
    assert {line for line in sealed(folder) if not line.startswith("attestation.json: line")} == {
        *(f"{name}: is no file that a run writes" for name in (
            "attestation.json.html", "attestation.jsonX/report.pdf", "certificate.txt")),
        *(f"{name}: is no plain file of a run" for name in ("attestation.jsonX", "empty", "file", "link")),
        "junit.xml: is missing",
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda files, made: canonical(attestation(made | {"requirements": made["requirements"][::2]}, files)),
        lambda files, made: canonical(attestation(made, files | {"report.json": "0" * 64})),
        lambda files, made: canonical(attestation(made, files)) + b"\n",
        lambda files, made: b"[]",
    ],
)
def test_another_attestation_is_refused(change, folder, made):
    (folder / ATTESTATION_FILE).write_bytes(change(digests(folder), made))
    assert [line.partition(" line")[0] for line in refused(folder)] == ["attestation.json:"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('<span class="word open">open</span>', '<span class="word met">met</span>', "is not drawn from the page that"),
        ("</style>", ".open { color: white; background: white }</style>", "is not drawn from the page that"),
        ("", "", None),
    ],
)
@pytest.mark.long
def test_a_pdf_of_another_page_is_refused_though_the_attestation_is_made_anew(old, new, line, folder, made):
    (folder / "report.pdf").write_bytes(pdf(page(made).replace(old, new)))
    wrong = sealed(folder)
    assert [said.partition(": ")[2][: len(line or "")] for said in wrong] == ([line] if line else [])


def test_a_pdf_with_the_identifier_of_the_page_is_refused_where_it_is_drawn_otherwise(folder):
    html = (folder / "report.html").read_bytes()
    drawn = (folder / "report.pdf").read_bytes()
    identifier = sha256(html).hexdigest().encode()
    (folder / "report.pdf").write_bytes(drawn.replace(b"%%EOF", b"%met\n%%EOF"))
    assert sealed(folder) == ["report.pdf: is not drawn as WeasyPrint draws the page here"]
    (folder / "report.pdf").write_bytes(drawn.replace(identifier, b"0" * 64))
    assert sealed(folder) == ["report.pdf: is not drawn from the page that the plan and its parts give"]
    (folder / "report.pdf").write_bytes(b"%PDF-1.7 nothing")
    assert sealed(folder) == ["report.pdf: is not drawn from the page that the plan and its parts give"]


def test_a_pdf_that_cannot_be_drawn_here_is_said_to_be_known_by_its_identifier_alone(folder, monkeypatch):
    """With other fonts its bytes differ, and with another version it is not drawn at all."""
    drawn = (folder / "report.pdf").read_bytes()
    told = "of the PDF its identifier alone: it was drawn with other versions or fonts"
    in_other_fonts = drawn.replace(b"%%EOF", b"stream\n/BaseFont /ABCDEF+Elsewhere\nendstream\n%%EOF")
    (folder / "report.pdf").write_bytes(in_other_fonts)
    assert sealed(folder) == []
    assert verified(folder, folder.parent, CACHED).compared.split("; ")[1] == told
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    assert verified(folder, folder.parent, CACHED._replace(pdf=pdf)).compared.split("; ")[1] == told
    (folder / "report.pdf").unlink()
    assert sealed(folder) == []


# ---------------------------------------------------------------- everything made again from a forged part


def beyond(report):
    report["evidence"][0].update(verdict="holds", total_variation=0.7, bound=0.0)


def without_evidence(report):
    report.update(evidence=[])
    del report["scope"], report["not_examined"]


CHECK = {
    "subject": "f", "version": "v", "check": "p", "current": True, "state": "quiet", "log_e": 9.0, "largest_log_e": 9.0,
    "alarm_at": 7.0, "watch_at": 4.0, "draws": 9, "detects": None, "witness": None, "impossible": None, "nights": [],
}  # fmt: skip
HISTORY = {"state": "quiet", "failures": [], "lifetime_alpha": 0.1, "checks": [CHECK]}


@pytest.mark.parametrize(
    ("at", "change", "words"),
    [
        (0, lambda part: beyond(part["report"]), "holds on paper, and deviates by more than it allows"),
        (0, lambda part: part["report"].update(verdict="refuted"), "verdict is not what its evidence gives"),
        (0, lambda part: part["report"].update(not_examined=[]), "not_examined is not what its evidence gives"),
        (0, lambda part: part["report"]["subject"].update(name="token"), "is of token, the plan names mine.py:f"),
        (0, lambda part: part["options"].update(dtypes=["float32"]), "is of other numbers than the plan names"),
        (0, lambda part: without_evidence(part["report"]), "has no evidence on paper"),
        (0, lambda part: part["report"]["evidence"][0].update(remark="certified"), "evidence is not what its evidence"),
        (1, lambda part: part.update(recorded=False), "the plan says not to run the proofs"),
        (1, lambda part: part["proofs"][0].update(method="coq"), "its proofs are not those on record"),
        (2, lambda part: part.update(history=HISTORY), "states are not"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_whoever_made_it(at, change, words, made):
    forgery = json.loads(json.dumps(made))
    assert [*contradictions(forgery)] == []
    change(forgery["parts"][at])
    assert any(words in line for line in contradictions(forgery))


def test_contradictions_are_refused_in_a_folder_that_is_made_again_from_a_forged_part(folder):
    forged(folder, lambda part: without_evidence(part["report"]))
    assert "report.json: part mine: has no evidence on paper" in refused(folder)


def test_a_date_in_the_future_or_that_is_none_is_refused(folder):
    tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).date().isoformat()
    for date in (tomorrow, "2023-02-30"):
        forged(folder, about={"date": date})
        assert refused(folder) == [f"report.json: its date, {date}, is in the future by the clock here, or is none"]


def test_a_digest_that_is_not_that_of_the_code_is_refused_where_it_is_loaded_and_said_to_be_unseen_elsewhere(folder):
    forged(folder, lambda part: part["report"]["subject"].update(digest=f"sha256:{'0' * 64}"))
    wrong, said = verified(folder, folder.parent, CACHED)
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


def test_a_declared_file_that_changed_or_came_since_is_refused(folder, tmp_path, monkeypatch):
    (tmp_path / "pkg").mkdir()
    for name in ("mine.py", "pkg/impl.py"):
        (tmp_path / name).write_text("")
    part = Part("mine", "audit", {"subject": "mine.py:f", "files": ["pkg"]})
    files = {name: sha256_of(file) for name, file in declared_files(part, tmp_path).items()}
    data = {"parts": [Collected(part, files=files).as_json()]}
    assert compare_code(data, tmp_path) == ([], "2 of 2 audited files are here")
    (tmp_path / "beside.py").write_text("y = 1")
    assert compare_code(data, tmp_path).wrong == []
    (tmp_path / "pkg" / "impl.py").write_text("y = 1")
    (tmp_path / "pkg" / "new.py").write_text("y = 1")
    assert compare_code(data, tmp_path).wrong == [
        "pkg/impl.py: is not the file that part mine examined",
        "pkg/new.py: was not there when part mine was examined",
    ]
    (folder.parent / "mine.py").write_text(CODE + "# changed")
    assert refused(folder) == ["mine.py: is not the file that part mine examined"]


def test_a_folder_of_other_versions_that_is_refused_says_so(folder, monkeypatch):
    monkeypatch.setattr(verification, "versions_in_use", lambda: {"draftproof": "9"})
    assert verified(folder, folder.parent, CACHED).compared.endswith("it says that other code or versions wrote it")
    (folder / "junit.xml").unlink()
    assert refused(folder)[1].startswith("report.json: was written by other code or versions; verify it with those")


# ---------------------------------------------------------------- the schema, the attestation, badge, JUnit, page, PDF


def test_the_schema_is_that_of_the_types():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "python -m draftproof.reports.audits.compliance.document writes it"
    )


def test_the_attestation_is_an_in_toto_statement_and_open_is_never_passed(run, made):
    said = json.loads((run / "out" / ATTESTATION_FILE).read_bytes())
    assert (said["_type"], said["predicateType"]) == (STATEMENT_TYPE, PREDICATE_TYPE)
    assert said["predicate"]["result"] == "WARNED"
    assert [name.partition(":")[0] for name in said["predicate"]["passedTests"]] == ["R1", "R3"]
    assert [name.partition(":")[0] for name in said["predicate"]["warnedTests"]] == ["R2"]
    assert [entry["name"] for entry in said["subject"]] == ["mine.py", "mine.py:f, as part mine digests it"]
    for verdicts, result in (
        (["met"], "PASSED"), (["met", "sampled only"], "WARNED"), (["open"], "WARNED"), (["met", "refuted"], "FAILED"),
        ([], "WARNED"),
    ):  # fmt: skip
        required = [{"id": "R", "statement": "s", "verdict": verdict} for verdict in verdicts]
        assert attestation(made | {"requirements": required}, {})["predicate"]["result"] == result


def test_junit_has_a_case_a_requirement_and_the_badge_the_verdict(run, made):
    suite = ET.parse(run / "out" / "junit.xml").getroot()[0]
    outcomes = [len(case) and case[0].tag for case in suite.iter("testcase")]
    assert outcomes == [0, "error", 0], "what is open is not green"
    assert suite.get("errors") == "1" and suite.get("name") == made["title"]
    shown = ET.parse(run / "out" / "badge.svg").getroot()
    assert shown.get("aria-label") == "draftproof: open, 2023-11-14"
    assert "<script>" not in badge(EVIL, "<b>")


def test_the_page_is_self_contained_and_escaped(run):
    html = (run / "out" / "report.html").read_text(encoding="utf-8")
    sources = Sources()
    sources.feed(html)
    assert (sources.loads, sources.scripts) == ([], 0)
    assert "<script>" not in html


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


def test_without_weasyprint_there_is_one_line_and_everything_else(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    plan = load_plan(run / "compliance.toml")
    (tmp_path / "out").mkdir()
    shutil.copy(run / "out" / "parts.jsonl", tmp_path / "out")
    no_pdf = write_folder(tmp_path / "out", plan, [*collect(plan, tmp_path / "out")], RENDERING).no_pdf
    assert no_pdf == "no PDF: WeasyPrint is not installed; install draftproof[compliance] and Pango"
    assert not (tmp_path / "out" / "report.pdf").exists()
    assert verified(tmp_path / "out", run, RENDERING).wrong == []
