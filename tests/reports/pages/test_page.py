"""The page: self-contained, escaped, the same bytes for the same report, and readable in a real browser."""

import json
import re
from html.parser import HTMLParser

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.figures import by_prefix
from draftproof.reports.pages.page import page
from draftproof.reports.pages.plain_words import plain_sentence, problem_rows
from draftproof.tests.reports.browser import chromium, needs_chromium
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import Evidence, EvidenceVerdict, Method, Witness

EVIL = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def refuted(tmp_path_factory):
    """The report on a function that raises a message made of markup on some problems, and is biased on others."""
    file = tmp_path_factory.mktemp("evil") / "evil.py"
    file.write_text(
        "def f(target_probs, draft_probs, draft_tokens, rng):\n"
        "    if (target_probs[0] == draft_probs[0]).all():\n"
        f"        raise ValueError({EVIL!r})\n"
        "    return [rng.choice(len(target_probs[0]), p=draft_probs[0])]\n"
    )
    return audit(f"{file}:f", [toy(2), drawn(3, 2, "equal")])


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
    html = page(audit("block", [toy(3)]))
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


def test_the_page_of_a_failed_audit_says_so(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    html = page(audit(f"{tmp_path / 'broken.py'}:f"))
    assert "cannot be imported (ZeroDivisionError" in html


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
