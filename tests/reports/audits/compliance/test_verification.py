"""The folder of a compliance run: reproducible, and refused by verification wherever something in it was changed."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from io import BytesIO

import pytest

from draftproof.models.digests import sha256_of
from draftproof.models.store import stored_text
from draftproof.reports.audits.compliance.collecting import PARTS_HOLD, collect
from draftproof.reports.audits.compliance.declared import declared_files
from draftproof.reports.audits.compliance.document import (
    ATTESTATION_FILE,
    PREDICATE_TYPE,
    SCHEMA_FILE,
    STATEMENT_TYPE,
    attestation,
    canonical,
    digests,
    schema_text,
    text,
    write_folder,
)
from draftproof.reports.audits.compliance.plan import Collected, Part, load_plan
from draftproof.reports.audits.compliance.said import Shown, differences, said_by_html, said_by_pdf
from draftproof.reports.audits.compliance.verification import against_code, contradictions, verified
from draftproof.reports.pages.compliance.page import RENDERING, page, pdf
from draftproof.reports.pages.page import badge
from draftproof.tests.reports.pages.test_page import Sources

pytestmark = pytest.mark.needs("weasyprint", "pypdf", "jsonschema")

EVIL = '<script>alert(1)</script> & ]]> \\" é'
PAPER = '{"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PLAN = f"""
[plan]
title = "{EVIL}"
[[part]]
id = "block"
kind = "audit"
subject = "block"
problems = ['{PAPER}']
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
statement = "Block verification is lossless on one problem {EVIL}"
claim = "lossless"
parts = ["block"]
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
    """The folder of a run, and its document; SOURCE_DATE_EPOCH says its date."""
    here = tmp_path_factory.mktemp("compliance")
    (here / "compliance.toml").write_text(PLAN, encoding="utf-8")
    plan = load_plan(here / "compliance.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        document, no_pdf = write_folder(here / "out", plan, [*collect(plan, here / "out")], RENDERING)
    assert no_pdf is None
    return here / "out", document


@pytest.fixture
def folder(run, tmp_path):
    """A copy, to be changed."""
    shutil.copytree(run[0], tmp_path / "out")
    return tmp_path / "out"


def refused(folder):
    return verified(folder, folder.parent, RENDERING)[0]


def sealed(folder):
    """With an attestation that has the digests of what is there now: what a forger would write."""
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(document, digests(folder))))
    return refused(folder)


def edit(file, old, new):
    before = file.read_text(encoding="utf-8")
    assert old in before
    file.write_text(before.replace(old, new), encoding="utf-8")


def test_the_folder_of_a_run_agrees_with_itself(run):
    wrong, here = verified(run[0], run[0].parent, RENDERING)
    assert wrong == []
    assert here.endswith("audited files are here; the PDF too")
    assert here.split()[0] == here.split()[2] != "0"
    assert [r["verdict"] for r in run[1]["requirements"]] == ["met", "open", "met"]
    assert [r["reading"] for r in run[1]["requirements"]][::2] == [
        "met on what was examined, not proved for all",
        "met, by proof",
    ]
    assert run[1]["date"] == "2023-11-14"


@pytest.mark.long
def test_another_process_writes_the_same_bytes(run):
    """Of everything: the PDF too has no times and no random numbers."""
    folder = run[0].parent / "again"
    words = [sys.executable, "-m", "draftproof.reports.commands.main", "compliance", "run", "compliance.toml"]
    folder.mkdir()
    shutil.copy(run[0] / "parts.jsonl", folder)
    done = subprocess.run([*words, "--out", "again"], cwd=run[0].parent, capture_output=True, text=True, timeout=3600,
                          env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000", "PYTHONHASHSEED": "7"})  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "R2          open" in done.stdout
    assert digests(folder) == digests(run[0])
    assert (folder / ATTESTATION_FILE).read_bytes() == (run[0] / ATTESTATION_FILE).read_bytes()


def test_control_characters_of_a_report_are_shown_nowhere_and_the_folder_agrees(tmp_path, capsys):
    from click.testing import CliRunner

    from draftproof.reports.audits.report import Report
    from draftproof.reports.commands.compliance import command
    from draftproof.reports.commands.report import command as reports
    from draftproof.verifiers.details import LawDetail
    from draftproof.verifiers.evidence import HOLDS, Evidence, Method, Strength

    evil = "\x1b[2J\x1b[32mmet\x9b\r"
    report = Report({"name": evil, "source": evil, "digest": "sha256:1", "dtypes": ["float64"], "convention": {}})
    report.add([Evidence(claim="lossless", method=Method.INTERCEPTION, verdict=HOLDS, problem=evil,
                         detail=LawDetail(dtype="float64", exactness=Strength.LATTICE))])  # fmt: skip
    report.findings = {"stateful": evil}
    report.failure = {"kind": "timeout", "message": evil}
    made = tmp_path / "report.json"
    made.write_text(json.dumps(report.as_json()))
    (tmp_path / "plan.toml").write_text(
        '[plan]\ntitle = "t"\n[[part]]\nid = "r"\nkind = "report"\nfile = "report.json"\n'
        '[[requirement]]\nid = "R1"\nstatement = "s"\nclaim = "lossless"\nparts = ["r"]\n'
    )
    invoke, out = CliRunner().invoke, str(tmp_path / "out")
    for group, words, status in (
        (command, ["run", str(tmp_path / "plan.toml"), "--out", out], 3),
        (command, ["verify", out, "--code", str(tmp_path)], 0),
        (reports, ["show", str(made)], 3),
        (reports, ["diff", str(made), str(made)], 0),
    ):
        done = invoke(group, words)
        assert done.exit_code == status, done.output
        assert "met" in done.output or words[0] in ("verify", "diff")
        assert all(c.isprintable() or c == "\n" for c in done.output), words


# ---------------------------------------------------------------- planted manipulations


def test_a_verdict_edited_in_the_page_is_refused(folder):
    verdict = '<span class="word {0}">{0}</span></td><td>The server'
    edit(folder / "report.html", verdict.format("open"), verdict.format("met"))
    assert "report.html: its digest is not the one in attestation.json" in refused(folder)
    assert sealed(folder) == ["report.html: does not say that R2 is open, as report.json does"]


def test_a_sentence_edited_in_the_page_is_refused(folder):
    edit(folder / "report.html", "not repeated here", "repeated here")
    (line,) = sealed(folder)
    assert line.startswith("report.html: says ")


@pytest.mark.long
def test_a_verdict_edited_in_the_pdf_is_refused(run, folder):
    html = page(run[1]).replace('<span class="word open">open</span>', '<span class="word met">met</span>')
    (folder / "report.pdf").write_bytes(pdf(html))
    assert "report.pdf: its digest is not the one in attestation.json" in refused(folder)
    assert "report.pdf: does not say that R2 is open, as report.json does" in sealed(folder)
    (folder / "report.pdf").write_bytes(b"%PDF-1.7 nothing")
    assert any(line.startswith("report.pdf: cannot be read as a PDF") for line in sealed(folder))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda d: d["requirements"][1].update(verdict="met"), "says that R2 is met, and its evidence gives open"),
        (lambda d: d["requirements"].pop(1), "requirement R2 of the plan is missing"),
        (lambda d: d["requirements"][0].update(statement="It is safe"),
         "statement of R1 is not what the plan and its evidence give"),
        (lambda d: d["requirements"][0].update(closing=["no"]),
         "closing of R1 is not what the plan and its evidence give"),
        (lambda d: d.update(verdict="met"), "verdict is not what the plan and the parts give"),
        (lambda d: d.update(title="Another"), "title is not what the plan and the parts give"),
        (lambda d: d["plan"].update(sha256="0" * 64), "plan is not what the plan and the parts give"),
        (lambda d: d["parts"][2].update(state="done", why=None),
         "parts.jsonl: has not what report.json has of part server"),
        (lambda d: d["parts"].pop(), "its parts are not the plan's"),
        (lambda d: d.update(format="other"), "not a compliance document"),
        (lambda d: d.update(seal="good"), "unknown field 'seal'"),
        (lambda d: d["parts"][0]["report"].pop("seed"), "the report of part block: $: 'seed' is a required property"),
    ],
)  # fmt: skip
def test_a_change_of_the_json_is_refused_also_by_an_attestation_that_was_made_anew(change, line, folder):
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    change(document)
    (folder / "report.json").write_text(text(document), encoding="utf-8")
    line = line if line.startswith("parts.jsonl") else f"report.json: {line}"
    assert line in refused(folder)
    if "field" not in line and "$" not in line and "document" not in line:
        assert line in sealed(folder)


def test_evidence_edited_in_the_json_and_its_part_is_refused_by_the_digests_alone(folder):
    """Nothing can show that a number was not measured: that is what the attestation is signed for."""
    data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    data["parts"][0]["report"]["evidence"][0]["bound"] = 0.5
    (folder / "report.json").write_text(json.dumps(data), encoding="utf-8")
    rows = [Collected.from_json(part).stored(data["draftproof"]["audits"]) for part in data["parts"]]
    (folder / "parts.jsonl").write_bytes(stored_text(PARTS_HOLD, rows))
    assert "parts.jsonl: its digest is not the one in attestation.json" in refused(folder)


def held(report):
    report["evidence"][0].update(verdict="holds", total_variation=0.7, bound=0.0)


CHECK = {
    "subject": "f", "version": "v", "check": "p", "current": True, "state": "quiet", "log_e": 9.0, "largest_log_e": 9.0,
    "alarm_at": 7.0, "watch_at": 4.0, "draws": 9, "detects": None, "witness": None, "impossible": None, "nights": [],
}  # fmt: skip
HISTORY = {"state": "quiet", "failures": [], "lifetime_alpha": 0.1, "checks": [CHECK]}


@pytest.mark.parametrize(
    ("at", "change", "words"),
    [
        (0, lambda part: held(part["report"]), "deviates by more than it allows"),
        (0, lambda part: part["report"].update(verdict="refuted"), "verdict is not what its evidence gives"),
        (0, lambda part: part["report"].update(not_examined=[]), "not_examined is not what its evidence gives"),
        (0, lambda part: part["report"]["subject"].update(name="token"), "is of token, the plan names block"),
        (0, lambda part: part["options"].update(dtypes=["float32"]), "is of other numbers than the plan names"),
        (1, lambda part: part.update(recorded=False), "the plan says not to run the proofs"),
        (1, lambda part: part["proofs"][0].update(method="coq"), "its proofs are not those on record"),
        (2, lambda part: part.update(history=HISTORY), "states are not"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_whoever_sealed_it(at, change, words, run):
    document = json.loads(json.dumps(run[1]))
    assert [*contradictions(document)] == []
    change(document["parts"][at])
    assert any(words in line for line in contradictions(document))


def test_a_file_that_no_run_writes_is_refused_though_the_attestation_names_it(folder):
    (folder / "certificate.txt").write_text("all requirements are met")
    assert sealed(folder) == ["certificate.txt: is no file that a run writes"]


def test_a_name_that_is_there_twice_is_refused(folder):
    """One reader takes the first, another the last: the JSON says two things."""
    edit(folder / "report.json", '"verdict": "open",\n "counts"', '"verdict": "met",\n "verdict": "open",\n "counts"')
    assert sealed(folder) == ['report.json: the key "verdict" is given twice']


def test_files_that_are_changed_missing_or_not_of_the_run_are_refused(folder):
    (folder / "badge.svg").write_text(badge("met", "2023-11-14"))
    (folder / "extra.txt").write_text("")
    (folder / "junit.xml").unlink()
    (folder / "attestation.json.sig").write_text("a signature is no part of the run")
    wrong = refused(folder)
    for line in (
        "badge.svg: its digest is not the one in attestation.json", "badge.svg: is not what report.json gives",
        "extra.txt: is not of the run that attestation.json speaks of",
        "junit.xml: is missing, and attestation.json names it",
    ):  # fmt: skip
        assert line in wrong
    assert not any("sig" in line for line in wrong)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<h2 id="requirements">', '<metadata>R2 is met</metadata><h2 id="requirements">'),
        ("</head>", "<script>document.body.textContent = 'met'</script></head>"),
        ("</style>", ".open { display: none } .open::before { content: 'met' }</style>"),
    ],
)
def test_a_page_that_shows_something_else_is_refused_though_its_text_agrees(old, new, folder):
    edit(folder / "report.html", old, new)
    assert sealed(folder) == [
        "report.html: says what report.json gives, and is not the page that it gives, byte for byte"
    ]


@pytest.mark.long
def test_a_pdf_that_shows_something_else_is_refused_though_its_text_agrees(folder):
    html = page(json.loads((folder / "report.json").read_text(encoding="utf-8")))
    (folder / "report.pdf").write_bytes(
        pdf(html.replace("</style>", ".open { color: white; background: white }</style>"))
    )
    assert sealed(folder) == ["report.pdf: says what report.json gives, and is not drawn as WeasyPrint draws that here"]


@pytest.mark.long
def test_of_a_pdf_that_is_not_there_or_cannot_be_made_here_nothing_is_said(folder, monkeypatch):
    from draftproof.reports.audits.compliance import said

    monkeypatch.setattr(said, "current_versions", lambda: {"weasyprint": "0.1"})
    (wrong, here) = verified(folder, folder.parent, RENDERING)
    assert (wrong, here.partition("; ")[2][:27]) == ([], "of the PDF the text alone: ")
    (folder / "report.pdf").unlink()
    assert sealed(folder) == []
    assert verified(folder, folder.parent, RENDERING)[1].endswith("; there is no PDF")


def test_what_no_run_writes_is_refused_whatever_its_name(folder):
    (folder / "attestation.json.html").write_text("met")
    (folder / "attestation.jsonX").mkdir()
    (folder / "attestation.jsonX" / "report.pdf").write_text("met")
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("/etc")
    (folder / "file").symlink_to("/etc/hostname")
    wrong = refused(folder)
    for name in ("attestation.json.html", "attestation.jsonX/report.pdf"):
        assert f"{name}: is not of the run that attestation.json speaks of" in wrong
    for name in ("attestation.jsonX", "empty", "link", "file"):
        assert f"{name}: is no plain file of a run" in wrong
    assert len(wrong) == 6


@pytest.mark.long
def test_the_attestation_of_another_run_is_refused(folder, run):
    other = json.loads(json.dumps(run[1]))
    other["requirements"][1]["verdict"] = "met"
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(other, digests(folder))))
    assert "attestation.json: result is not what report.json gives" in refused(folder)
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(run[1], digests(folder) | {"report.json": "0" * 64})))
    assert "report.json: its digest is not the one in attestation.json" in refused(folder)
    (folder / ATTESTATION_FILE).write_bytes(canonical(attestation(run[1], digests(folder))) + b"\n")
    assert refused(folder) == ["attestation.json: is not the attestation of this run"]
    (folder / ATTESTATION_FILE).write_text("[]")
    assert refused(folder) == ["attestation.json: cannot be read as an attestation"]


def test_code_that_changed_since_is_refused(run, tmp_path, monkeypatch):
    from draftproof.reports.audits.compliance import verification

    name = "draftproof/verifiers/block_verification.py"
    (tmp_path / "other.py").write_text("changed")
    only = lambda part, *others: {name: tmp_path / "other.py"} if part.id == "block" else {}  # noqa: E731
    monkeypatch.setattr(verification, "declared_files", only)
    wrong, here = verified(run[0], tmp_path, RENDERING)
    assert wrong == [f"{name}: is not the file that part block examined"]
    assert here.startswith("1 of ")


def test_a_declared_file_that_changed_or_came_since_is_refused(tmp_path):
    (tmp_path / "pkg").mkdir()
    for name in ("mine.py", "pkg/impl.py"):
        (tmp_path / name).write_text("")
    part = Part("mine", "audit", {"subject": "mine.py:f", "files": ["pkg"]})
    files = {name: sha256_of(file) for name, file in declared_files(part, tmp_path).items()}
    data = {"parts": [Collected(part, files=files).as_json()]}
    assert against_code(data, tmp_path) == ([], "2 of 2 audited files are here")
    (tmp_path / "beside.py").write_text("y = 1")
    assert against_code(data, tmp_path)[0] == []
    (tmp_path / "pkg" / "impl.py").write_text("y = 1")
    (tmp_path / "pkg" / "new.py").write_text("y = 1")
    assert against_code(data, tmp_path)[0] == [
        "pkg/impl.py: is not the file that part mine examined",
        "pkg/new.py: was not there when part mine was examined",
    ]


def test_the_schema_is_that_of_the_types():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "python -m draftproof.reports.audits.compliance.document writes it"
    )


# ---------------------------------------------------------------- the attestation, badge and JUnit


def test_the_attestation_is_an_in_toto_statement_and_open_is_never_passed(run):
    said = json.loads((run[0] / ATTESTATION_FILE).read_bytes())
    assert (said["_type"], said["predicateType"]) == (STATEMENT_TYPE, PREDICATE_TYPE)
    assert said["predicate"]["result"] == "WARNED"
    assert [name.partition(":")[0] for name in said["predicate"]["passedTests"]] == ["R1", "R3"]
    assert [name.partition(":")[0] for name in said["predicate"]["warnedTests"]] == ["R2"]
    assert all(len(entry["digest"]["sha256"]) == 64 for entry in said["subject"])
    assert "draftproof/verifiers/block_verification.py" in [entry["name"] for entry in said["subject"]]
    for verdicts, result in (
        (["met"], "PASSED"), (["met", "sampled only"], "WARNED"), (["open"], "WARNED"), (["met", "refuted"], "FAILED"),
    ):  # fmt: skip
        required = [{"id": "R", "statement": "s", "verdict": verdict} for verdict in verdicts]
        assert attestation(run[1] | {"requirements": required}, {})["predicate"]["result"] == result
    assert attestation(run[1] | {"requirements": []}, {})["predicate"]["result"] == "WARNED"


def test_junit_has_a_case_a_requirement_and_the_badge_the_verdict(run):
    suite = ET.parse(run[0] / "junit.xml").getroot()[0]
    assert [len(case) and case[0].tag for case in suite.iter("testcase")] == [0, "error", 0], (
        "what is open is not green"
    )
    assert suite.get("errors") == "1" and suite.get("name") == run[1]["title"]
    shown = ET.parse(run[0] / "badge.svg").getroot()
    assert shown.get("aria-label") == "draftproof: open, 2023-11-14"
    assert "<script>" not in badge(EVIL, "<b>")


def test_the_page_is_self_contained_and_escaped(run):
    html = (run[0] / "report.html").read_text(encoding="utf-8")
    sources = Sources()
    sources.feed(html)
    assert (sources.loads, sources.scripts) == ([], 0)
    assert "<script>" not in html


def test_the_pdf_has_contents_page_numbers_and_says_what_the_page_says(run):
    from pypdf import PdfReader

    content = (run[0] / "report.pdf").read_bytes()
    pages = PdfReader(run[0] / "report.pdf").pages
    assert f"page 1 of {len(pages)}" in pages[0].extract_text()
    assert "Contents" in pages[0].extract_text() + pages[1].extract_text()
    assert b"/Image" not in content, "figures are vectors"
    html = page(run[1])
    assert differences(run[1], Shown(html), said_by_pdf(content), "pdf") == []
    assert differences(run[1], Shown(html), said_by_html(html), "html") == []


def nearly_empty(content: bytes) -> list[int]:
    """Pages of a PDF, but for the last, whose text ends in the upper half."""
    from pypdf import PdfReader

    found = []
    for number, sheet in enumerate(PdfReader(BytesIO(content)).pages[:-1], 1):
        heights: list[float] = []

        def seen(text, outer, inner, *_, heights=heights):
            heights += [inner[5] * outer[3] + outer[5]] if text.strip() else []

        sheet.extract_text(visitor_text=seen)
        top = float(sheet.mediabox.height)
        if min((y for y in heights if y > 0.06 * top), default=top) > top / 2:  # the number of the page is below
            found.append(number)
    return found


def test_no_page_of_the_pdf_is_nearly_empty(run):
    assert nearly_empty((run[0] / "report.pdf").read_bytes()) == []
    text = "<style>@page { size: A4 } h2 { break-before: page }</style>"
    assert nearly_empty(pdf(f"{text}<h2>one</h2>{'<p>line</p>' * 20}<h2>two</h2><p>line</p><h2>three</h2>")) == [2]


def test_a_figure_whose_text_begins_like_anothers_is_told_apart():
    one, other = (
        "<svg><text>10</text><text>TV float64</text>" + more + "</svg>" for more in ("", "<text>bfloat16</text>")
    )
    document = {"requirements": []}
    for html in (f"<p>a</p>{one}<p>b</p>{other}<p>c</p>", f"<p>a</p>{other}<p>b</p>{one}<p>c</p>"):
        said = "".join(re.sub(r"<[^>]*>", "", html).split())  # a PDF has the figures' text in its place
        assert differences(document, Shown(html), said, "pdf") == []
        assert differences(document, Shown(html), said.replace("bfloat16", "", 1), "pdf")[0].startswith(
            "pdf: has no figure"
        )


def test_what_a_part_says_of_another_claim_does_not_stand_beside_a_refuted_one(run):
    """Its reading speaks of the claims that decide."""
    from draftproof.reports.audits.compliance.evidence_rows import evidence_rows
    from draftproof.reports.audits.compliance.plan import Requirement

    got = Collected.from_json(run[1]["parts"][0])
    shown = {
        claim: evidence_rows(Requirement("R", "s", claim, ("block",)), got)[0].shown
        for claim in ("lossless", "optimal")
    }
    assert shown["lossless"].startswith("holds: ") and "holds: " not in shown["optimal"]


def test_without_weasyprint_there_is_one_line_and_everything_else(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    plan = load_plan(run[0].parent / "compliance.toml")
    (tmp_path / "out").mkdir()
    shutil.copy(run[0] / "parts.jsonl", tmp_path / "out")
    _, no_pdf = write_folder(tmp_path / "out", plan, [*collect(plan, tmp_path / "out")], RENDERING)
    assert no_pdf == "no PDF: WeasyPrint is not installed; install draftproof[compliance] and Pango"
    assert not (tmp_path / "out" / "report.pdf").exists()
    assert verified(tmp_path / "out", run[0].parent, RENDERING)[0] == []


def test_of_a_damaged_pdf_nothing_is_said_but_that_it_cannot_be_read(caplog):
    with pytest.raises(ValueError, match="cannot be read as a PDF"):
        said_by_pdf(b"%PDF-1.7\n" + bytes(range(256)) * 4)
    assert not caplog.records
