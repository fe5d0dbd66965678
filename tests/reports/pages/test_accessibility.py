"""The pages in a real browser: axe-core finds nothing serious, at two widths, light and dark; nothing is wider than
the window."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import draftproof
from draftproof.corpus.site import engines_page
from draftproof.corpus.site.engine_issues import FOLDER
from draftproof.reports.pages.compliance.page import page as compliance_page
from draftproof.reports.pages.nightly.page import page as nightly_page
from draftproof.reports.pages.page import page
from draftproof.tests.reports.golden import golden, golden_report

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Debian's chromium: apt-get install chromium"
)
pytestmark = [pytest.mark.browser, pytest.mark.needs("axe_playwright_python"), needs_chromium]

SETTINGS = ((1280, "light"), (390, "light"), (1280, "dark"), (390, "dark"))
"""Width of the window in pixels, and the colours that the reader prefers."""
DOCS = Path(draftproof.__file__).parent / "docs"

NEVER = 0
"""Milliseconds after which Playwright gives up."""

TOO_WIDE = """() => [
  ...(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['too-wide'] : []),
  ...[...(document.querySelector('article') || document.querySelector('main')).querySelectorAll('*')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && !e.closest('svg') && e.tagName != 'PRE'
                 && getComputedStyle(e).overflowX != 'visible')
    .map(e => 'scrolls: ' + e.tagName + ' ' + e.textContent.trim().slice(0, 40))]"""
"""What is wider than the window, or than its column. Code scrolls sideways."""

CUT = r"""() => {
  const cut = [], range = document.createRange();
  for (const cell of document.querySelectorAll('td, th')) {
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) for (const word of node.data.matchAll(/[\p{L}\p{N}]+/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
      if (lines.size > 1) cut.push('cut: ' + word[0]);
    }
  }
  return cut;
}"""
"""Words in cells of tables that begin on one line and end on another."""


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"], timeout=NEVER
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def refuted():
    """The page of a refuted function, with a witness, figures and findings."""
    return page(golden_report("evil"))


def serious(browser, html: str | Path, width: int = 1280, colours: str = "light") -> list[str]:
    """Rules of axe-core that a page, or the page in a file, breaks, of serious or critical impact, and what
    is too wide."""
    from axe_playwright_python.sync_playwright import Axe

    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours, bypass_csp=True)
    tab.set_default_timeout(NEVER)
    try:
        tab.goto(html.as_uri()) if isinstance(html, Path) else tab.set_content(html)
        found = Axe().run(tab).response["violations"]
        wide = tab.evaluate(TOO_WIDE) + (tab.evaluate(CUT) if isinstance(html, Path) else [])
    finally:
        tab.close()
    return [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] + wide


PAGES = {
    "evil": lambda: page(golden_report("evil")),
    "nightly": lambda: nightly_page(golden("nightly")),
    "compliance": lambda: compliance_page(golden("compliance")),
    "block": lambda: page(golden_report("block")),
}
OFTEN = {"evil": SETTINGS[3:], "nightly": SETTINGS[:1], "compliance": SETTINGS[1:2]}
"""Pages that are looked at in ``make test``, and in which window; the others are much like them."""
if FOLDER.is_dir():  # the page is in the repository, not in the wheel
    PAGES["engines"] = lambda: engines_page.html(engines_page.kept_survey())


@pytest.mark.parametrize(
    ("name", "settings"), [*OFTEN.items(), *(pytest.param(name, SETTINGS, marks=pytest.mark.long) for name in PAGES)]
)
def test_nothing_serious_on_a_page(browser, name, settings):
    html = PAGES[name]()
    assert {setting: found for setting in settings if (found := serious(browser, html, *setting))} == {}


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in the wheel")
@pytest.mark.needs("sphinx")
@pytest.mark.long
def test_nothing_serious_on_any_page_of_the_documentation_and_nothing_is_wider_than_its_column(browser, tmp_path):
    words = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    subprocess.run(words, check=True, timeout=3600)
    files = sorted(tmp_path.rglob("*.html"))
    assert len(files) > 30
    every = [(file, *setting) for file in files for setting in SETTINGS]
    assert {str(one): found for one in every if (found := serious(browser, *one))} == {}
    bad = tmp_path / "bad.html"
    planted = f"</h1>{''.join(PLANTED.values())}{CUT_WORD}"
    bad.write_text((tmp_path / "index.html").read_text().replace("</h1>", planted, 1))
    assert {*PLANTED, "cut: inconclusive"} <= set(serious(browser, bad))
    (tmp_path / "engines.html").write_text((tmp_path / "engines.html").read_text().replace("house.css", "none.css"))
    assert "scrolls: DIV" in " ".join(serious(browser, tmp_path / "engines.html", 390))


PLANTED = {
    "svg-img-alt": '<svg role="img" width="9" height="9"><path d="M0 0h9v9z"/></svg>',
    "color-contrast": '<p style="color: #bbbbbb; background: #ffffff">pale</p>',
    "link-name": '<a href="#words"></a>',
    "too-wide": '<div style="width: 3000px">wide</div>',
}
CUT_WORD = '<table><tr><td style="width: 9px; overflow-wrap: anywhere">inconclusive</td></tr></table>'


def test_what_is_planted_is_noticed(browser, refuted):
    """An unlabelled figure, pale text, a link without a name, something wider than the window."""
    html = refuted.replace("<h2>Claims</h2>", "".join(PLANTED.values()))
    assert html != refuted
    assert set(PLANTED) <= set(serious(browser, html))


def test_the_page_works_by_keyboard_and_without_scripts(browser, refuted):
    """Tab reaches links, tables that scroll and summaries; Enter on a word leads to its sentence."""
    context = browser.new_context(java_script_enabled=False)
    try:
        tab = context.new_page()
        tab.set_default_timeout(NEVER)
        tab.set_content(refuted)
        tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        tab.wait_for_url(lambda url: url.endswith("#term-speculative-decoding"))
        assert tab.locator("#term-speculative-decoding").is_visible()
        summary = tab.locator("summary").last
        summary.focus()
        tab.keyboard.press("Enter")
        tab.locator("details").last.locator("xpath=self::*[@open]").wait_for(state="attached")
    finally:
        context.close()


def test_every_word_that_a_page_links_to_is_explained_there(refuted):
    linked = set(re.findall(r'href="#([^"]+)"', refuted))
    assert linked and linked <= set(re.findall(r' id="([^"]+)"', refuted))
