"""The page: self-contained, escaped, the same bytes for the same report, and readable in a real browser."""

import json
from html.parser import HTMLParser

import pytest

from draftproof.models.errors import printable_data
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.figures import by_prefix
from draftproof.reports.pages.junit import junit
from draftproof.reports.pages.page import formulas, page
from draftproof.reports.pages.plain_words import plain_sentence, problem_rows
from draftproof.reports.pages.sarif import sarif
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.golden import golden, golden_report
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import Evidence, EvidenceVerdict, Method, Witness

EVIL = '<script>alert("x")</script>'
AUDITS = ("right", "wrong", "evil", "undecided", "broken", "block", "token")
OTHERS = ("compliance", "nightly")


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


def test_the_page_is_self_contained_escaped_and_the_same_for_the_same_report():
    """Of a function that raises a message made of markup on some problems, and is biased on others."""
    report = golden_report("evil")
    html = page(report)
    found = Sources()
    found.feed(html)
    assert (found.loads, found.scripts) == ([], 0)
    assert EVIL not in html and "&lt;script&gt;" in html
    assert page(Report.from_json(json.loads(report.text()))) == html


def test_the_page_has_its_parts_in_the_order_of_the_manual():
    same = {"mutant": "M11", "title": "t", "problems": ["a"], "ancestor": "x", "link": "y", "distance": 0.0}
    html = page(Report.from_json(golden("evil") | {"diagnosis": [same]}))
    parts = (
        '<div class="verdict refuted', "<strong>M11", "Speaks of", "Claims</h2>", "</a>: lossless, on",
        "draftproof audit", "Not examined</h2>",
        "Largest deviation and limit by precision and method.", "Deviation by problem</h2>",
        "All evidence</h2>", "Circumstances</h2>",
    )  # fmt: skip
    places = [html.index(part) for part in parts]
    assert places == sorted(places)
    assert "float64, exact on the lattice: largest" in html
    picture = by_prefix([("0", 0.5, 0.25)])
    assert picture and 'role="img" aria-label="Probability of each emitted prefix' in picture
    assert "0: 0.5 and 0.25." in picture


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("block", "No difference was found: on every problem examined"),
        ("broken", "cannot be imported (ZeroDivisionError"),
    ],
)
def test_the_page_says_the_verdict_in_plain_words_and_its_pictures_are_labelled(name, sentence):
    html = page(golden_report(name))
    assert sentence in html and html.count('<svg role="img" aria-label="') == html.count("<svg")


MARKOV = {"start": ["1", "0"], "after": {"0": ["1", "0"], "1": ["0", "1"]}}


@pytest.mark.parametrize(
    ("problem", "rows"),
    [
        ({"target": ["1/3", "2/3"], "draft": {"": ["1/2", "1/2"]}},
         [("target", "always", ["1/3", "2/3"]), ("draft", "at the start", ["1/2", "1/2"])]),
        ({"target": MARKOV}, [("target", "at the start", ["1", "0"]), ("target", "after 0", ["1", "0"]),
                              ("target", "after 1", ["0", "1"])]),
        ({"target": ["1/9"] * 9}, []),
        ({"wide": {"seed": 7}}, []),
    ],
)  # fmt: skip
def test_the_smallest_problem_is_shown_row_by_row(problem, rows):
    assert problem_rows(problem) == rows


@pytest.mark.parametrize(
    ("verdict", "claim", "detail", "said", "unsaid"),
    [
        ("holds", "lossless", {"dtype": "float64"}, "No difference was found: on every problem examined", "samples"),
        ("holds", "lossless", {"dtype": "float64"}, "up to rounding", "not decided here"),
        ("holds", "lossless", {}, "No difference was found", "up to rounding"),
        ("holds", "support", {}, "not decided here", "No difference"),
        ("no-evidence", "lossless", {}, "Undecided", "No difference"),
        ("refuted", "lossless", {}, "It changes the output", "samples"),
        ("refuted", "lossless", {"method": "chi-square"}, "This was seen in samples", "No difference"),
        ("refuted", "rows", {}, "It does not do what the claim says", "changes the output"),
    ],
)
def test_plain_sentences_are_no_stronger_than_the_evidence(verdict, claim, detail, said, unsaid):
    report = Report.begin("f", "f.py:f", ["float64"], 0, claims=(claim,))
    witness = Witness(sequence="0", expected="1/2", observed="1/3") if verdict == "refuted" else None
    method = Method(detail.get("method", "interception"))
    facts = {"verdict": EvidenceVerdict(verdict), "problem": "p", "witness": witness}
    known = {name: value for name, value in detail.items() if name != "method"}
    report.add([Evidence(claim=claim, method=method, detail=detail_by(method, **known), **facts)])
    assert said in plain_sentence(report) and unsaid not in plain_sentence(report)


@pytest.mark.parametrize(
    ("text", "set_as"),
    [
        ("X^tau, Y, follows M_b^{gamma+1}", "X<sup>τ</sup>, Y, follows <i>M</i><sub>b</sub><sup>γ+1</sup>"),
        ("Pr(tau >= i | X^i) = p_i(X^i)", "Pr(τ ≥ i | X<sup>i</sup>) = <i>p</i><sub>i</sub>(X<sup>i</sup>)"),
        ("sum_x min(p_{i-1}, 2^-53)", "Σ<sub>x</sub> min(<i>p</i><sub>i-1</sub>, 2<sup>-53</sup>)"),
        ("lemma_2, k_seq_law, sum_near: V 2", "lemma_2, k_seq_law, sum_near: V 2"),
        ("<b> & p_i", "&lt;b&gt; &amp; <i>p</i><sub>i</sub>"),
    ],
)
def test_indices_powers_and_letters_are_set_and_names_and_markup_are_not(text, set_as):
    assert formulas(text) == set_as


CONTROL = "\x1b[2J\x1b[32mholds\x9b\r" + EVIL


@pytest.mark.parametrize("name", long_unless([*AUDITS, *OTHERS], {"evil", "wrong", *OTHERS}))
def test_control_characters_and_markup_of_what_is_reported_reach_no_surface(name, tmp_path):
    data = golden(name)
    if name in AUDITS:
        data["subject"] |= {"name": CONTROL, "source": CONTROL}
        for evidence in data["evidence"][:1]:
            evidence["problem"] = CONTROL
        data["findings"].append({"kind": "prints", "what": "prints", "text": CONTROL})
    (tmp_path / "r.json").write_text(json.dumps(data))
    files = ("--junit", "j.xml", "--badge", "b.svg", "--date", "2026-01-01")
    shown = draftproof("report", "show", "r.json", *files, cwd=tmp_path)
    same = draftproof("report", "diff", "r.json", "r.json", cwd=tmp_path)
    assert (shown.status in (0, 1, 3), same.status) == (True, 0), shown.err
    written = [shown.out, shown.err, same.out]
    if name in AUDITS:
        report = Report.from_json(printable_data(data))
        written.append(json.dumps(sarif(report), ensure_ascii=False))
        assert EVIL not in page(report) + junit(report)
    assert [text for text in written if not all(c.isprintable() or c == "\n" for c in text)] == []
