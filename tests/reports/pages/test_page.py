"""The page: self-contained, escaped, the same bytes for the same report, and readable in a real browser."""

import json
import re
from html.parser import HTMLParser

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.reports.audits.api import audit
from draftproof.reports.pages.page import page
from draftproof.tests.reports.browser import chromium, needs_chromium

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
    return audit(f"{file}:f", [toy(2), drawn(3, 2, "equal")]).as_json()


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
    again = json.loads(json.dumps(refuted))
    assert page(refuted).encode() == page(again).encode()


def test_the_page_tells_the_verdict_the_witness_and_the_replay(refuted):
    html = page(refuted)
    for text in ("refuted", "draftproof audit", "expected", "observed", "<svg"):
        assert text in html


def test_the_page_of_a_reference_verifier_has_its_pictures():
    html = page(audit("block", [toy(3)]).as_json())
    assert html.count("<svg") == 2
    assert "lossless" in html


def test_the_page_of_a_failed_audit_says_so(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    html = page(audit(f"{tmp_path / 'broken.py'}:f").as_json())
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
