"""The page: self-contained, escaped, the same bytes for the same report, and readable in a real browser."""

import json
import re
from html.parser import HTMLParser

import pytest

from draftproof.models.errors import printable_data
from draftproof.reports.audits.report import Report
from draftproof.reports.commands.main import main
from draftproof.reports.pages.figures import by_prefix
from draftproof.reports.pages.junit import junit
from draftproof.reports.pages.page import page
from draftproof.reports.pages.plain_words import plain_sentence, problem_rows
from draftproof.reports.pages.sarif import sarif
from draftproof.tests.reports.browser import chromium, needs_chromium
from draftproof.tests.reports.golden import golden, golden_report
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import Evidence, EvidenceVerdict, Method, Witness

EVIL = '<script>alert("x")</script>'
AUDITS = ("right", "wrong", "evil", "undecided", "broken", "block", "token")
OTHERS = ("compliance", "nightly")


@pytest.fixture(scope="module")
def refuted():
    """The report on a function that raises a message made of markup on some problems, and is biased on others."""
    return golden_report("evil")


class Sources(HTMLParser):
    """Everything the page would load from elsewhere, and every script."""

    def __init__(self):
        super().__init__()
        self.loads, self.scripts = [], 0

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        for name, value in attributes:
            if name in ("src", "href", "xlink:href") and value and not value.startswith("#"):
                self.loads.append(value)


def test_the_page_is_self_contained_and_foreign_words_are_escaped(refuted):
    html = page(refuted)
    found = Sources()
    found.feed(html)
    assert found.loads == []
    assert found.scripts == 0
    assert EVIL not in html
    assert "&lt;script&gt;" in html


def test_equal_reports_give_equal_bytes(refuted):
    again = Report.from_json(json.loads(refuted.text()))
    assert page(refuted).encode() == page(again).encode()


def test_the_page_tells_the_verdict_the_witness_and_the_replay(refuted):
    html = page(refuted)
    for text in ("refuted", "draftproof audit", "expected", "observed", "<svg"):
        assert text in html


def test_the_diagnosis_stands_under_the_box_and_the_parts_in_the_order_of_the_manual(refuted):
    same = {"mutant": "M11", "title": "t", "problems": ["a"], "ancestor": "x", "link": "y", "distance": 0.0}
    named = Report.from_json(json.loads(refuted.text()) | {"diagnosis": [same]})
    html = page(named)
    parts = (
        '<div class="verdict',
        "<strong>M11",
        "Speaks of",
        "Claims</h2>",
        "</a>: lossless, on",
        "Not examined</h2>",
    )
    parts += ("Deviation by problem</h2>", "All evidence</h2>", "Circumstances</h2>")
    places = [html.index(part) for part in parts]
    assert places == sorted(places)


def test_the_page_of_a_reference_verifier_has_its_pictures():
    html = page(golden_report("block"))
    assert html.count('<svg role="img" aria-label="') == html.count("<svg") == 3
    assert "No difference was found: on every problem examined" in html and "it is no proof for all" in html


def test_figures_say_what_is_to_be_seen(refuted):
    html = page(refuted)
    assert "Largest deviation and limit by precision and method. float64, exact on the lattice: largest" in html
    picture = by_prefix([("0", 0.5, 0.25)])
    assert (
        picture
        and 'role="img" aria-label="Probability of each emitted prefix' in picture
        and "0: 0.5 and 0.25." in picture
    )


def test_the_smallest_problem_is_shown_row_by_row():
    problem = {"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": {"": ["1/2", "1/2"]}}
    assert problem_rows(problem) == [("target", "always", ["1/3", "2/3"]), ("draft", "at the start", ["1/2", "1/2"])]
    markov = {"start": ["1", "0"], "after": {"0": ["1", "0"], "1": ["0", "1"]}}
    assert [when for _, when, _ in problem_rows({"target": markov})] == ["at the start", "after 0", "after 1"]
    assert problem_rows({"target": ["1/9"] * 9}) == problem_rows({"wide": {"seed": 7}}) == problem_rows({}) == []


def test_plain_sentences_are_no_stronger_than_the_evidence():
    def sentence(verdict, claim="lossless", **detail):
        report = Report.begin("f", "f.py:f", ["float64"], 0, claims=(claim,))
        witness = Witness(sequence="0", expected="1/2", observed="1/3") if verdict == "refuted" else None
        method = Method(detail.pop("method", "interception"))
        facts = {"verdict": EvidenceVerdict(verdict), "problem": "p", "witness": witness}
        report.add([Evidence(claim=claim, method=method, detail=detail_by(method, **detail), **facts)])
        return plain_sentence(report)

    assert sentence("holds", dtype="float64").startswith("No difference was found: on every problem examined")
    assert "up to rounding" in sentence("holds", dtype="float64") and "up to rounding" not in sentence("holds")
    assert sentence("no-evidence").startswith("Undecided")
    assert "not decided here" in sentence("holds", "support")
    assert sentence("refuted").startswith("It changes the text") and "samples" not in sentence("refuted")
    assert "This was seen in samples" in sentence("refuted", method="chi-square")
    assert sentence("refuted", "rows").startswith("Something that it has to do, it does not do")


def test_the_page_of_a_failed_audit_says_so():
    assert "cannot be imported (ZeroDivisionError" in page(golden_report("broken"))


CONTROL = "\x1b[2J\x1b[32mholds\x9b\r" + EVIL


@pytest.mark.parametrize("name", [*AUDITS, *OTHERS])
def test_control_characters_and_markup_of_what_is_reported_reach_no_surface(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, written = golden(name), {}
    if name in AUDITS:
        data["subject"] |= {"name": CONTROL, "source": CONTROL}
        for evidence in data["evidence"][:1]:
            evidence["problem"] = CONTROL
        data["findings"].append({"kind": "prints", "what": "prints", "text": CONTROL})
    (tmp_path / "r.json").write_text(json.dumps(data))
    files = ("--junit", "j.xml", "--badge", "b.svg", "--date", "2026-01-01")
    for words in (("show", "r.json", *files), ("diff", "r.json", "r.json")):
        monkeypatch.setattr("sys.argv", ["draftproof", "report", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert ended.value.code in ((0, 1, 3) if words[0] == "show" else (0,)), shown.err
        written[words[0]] = shown.out + shown.err
    if name in AUDITS:
        report = Report.from_json(printable_data(data))
        written["sarif"] = json.dumps(sarif(report), ensure_ascii=False)
        assert EVIL not in page(report) + junit(report)
    assert {kind for kind, text in written.items() if not all(c.isprintable() or c == "\n" for c in text)} == set()


@pytest.mark.browser
@needs_chromium
def test_a_real_browser_shows_the_page(refuted, tmp_path):
    """Headless Chromium renders it, with the verdict in the text and a picture that is not blank."""
    file = tmp_path / "report.html"
    file.write_text(page(refuted), encoding="utf-8")
    assert re.search(r'class="verdict refuted">\s*refuted', chromium(file, "--dump-dom"))
    shot = tmp_path / "page.png"
    chromium(file, f"--screenshot={shot}", "--window-size=1000,1400")
    from matplotlib import image

    pixels = image.imread(shot)
    assert pixels.shape[0] >= 1000
    assert pixels.std() > 0.05
