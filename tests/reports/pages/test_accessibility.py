"""The pages in a real browser: axe-core finds nothing serious, at two widths, light and dark; nothing is wider than
the window."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import draftproof
from draftproof.corpus.site import engines_page
from draftproof.corpus.site.engine_issues import FOLDER
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.compliance.page import page as compliance_page
from draftproof.reports.pages.nightly.page import page as nightly_page
from draftproof.reports.pages.page import page
from draftproof.tests.corpus.paper import tables_parts
from draftproof.tests.reports.browser import needs_chromium
from draftproof.tests.reports.golden import golden, golden_report
from draftproof_paper.pages.page import page as tables_page
from draftproof_paper.tables.report import tables_report

pytestmark = [pytest.mark.browser, pytest.mark.needs("axe_playwright_python"), needs_chromium]

SETTINGS = ((1280, "light"), (390, "light"), (1280, "dark"), (390, "dark"))
"""Width of the window in pixels, and the colours that the reader prefers."""
FEW = SETTINGS[::3]
"""Each width and each of the colours once: what a page of its own kind is looked at in; long tests take all."""
in_settings = pytest.mark.parametrize(
    "settings", [pytest.param(FEW, id="few"), pytest.param(SETTINGS, id="all", marks=pytest.mark.long)]
)

NEVER = 0
"""Milliseconds after which Playwright gives up."""

TOO_WIDE = """() => [
  ...(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['too-wide'] : []),
  ...[...(document.querySelector('article') || document.querySelector('main')).querySelectorAll('*')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && !e.closest('svg')
                 && getComputedStyle(e).overflowX != 'visible')
    .map(e => 'scrolls: ' + e.tagName + ' ' + e.textContent.trim().slice(0, 40))]"""
"""What is wider than the window, or than its column."""


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
        wide = tab.evaluate(TOO_WIDE)
    finally:
        tab.close()
    return [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] + wide


@in_settings
def test_nothing_serious_on_the_page_of_a_refuted_function(browser, refuted, settings):
    for width, colours in settings:
        assert serious(browser, refuted, width, colours) == []


def test_nothing_serious_on_the_page_of_a_reference_verifier(browser):
    assert serious(browser, page(golden_report("block")), 390, "dark") == []


KEPT = sorted((Path(draftproof.__file__).parent / "tests/reports/audits").glob("reports_*/*.json"))


@pytest.mark.long
@pytest.mark.parametrize("file", KEPT, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_nothing_serious_on_the_page_of_a_report_that_is_kept(browser, file):
    """An audit, a campaign and an end-to-end run of an earlier version."""
    html = page(Report.from_json(json.loads(file.read_text())))
    assert [serious(browser, html, *setting) for setting in SETTINGS] == [[]] * 4


@in_settings
def test_nothing_serious_on_the_page_of_a_nightly(browser, settings):
    html = nightly_page(golden("nightly"))
    assert "Something is wrong" in html
    for width, colours in settings:
        assert serious(browser, html, width, colours) == []


@in_settings
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the page is in the repository, not in the wheel")
def test_nothing_serious_on_the_page_of_engines(browser, settings):
    for width, colours in settings:
        assert serious(browser, engines_page.html(engines_page.kept_survey()), width, colours) == []


@pytest.mark.long
def test_nothing_serious_on_the_pages_of_tables_and_of_an_end_to_end_run(browser):
    plan = tables_parts.planted_plan(prompts=4)
    cells = tables_parts.planted(plan, data=("lm1b", "gsm8k"))
    tables = tables_page(
        tables_report(
            plan, {**plan.as_json(), "machine": "a machine", "torch": "2", "transformers": "5"}, cells, len(cells) + 1
        )
    )
    run = json.loads((Path(draftproof.__file__).parent / "tests/reports/audits/reports_1_0/e2e.json").read_text())
    for html in (tables, page(Report.from_json(run))):
        for width, colours in SETTINGS:
            assert serious(browser, html, width, colours) == []
    at = tables.index("</table>")
    assert "image-alt" in serious(browser, f'{tables[:at]}</table><img src="data:,">{tables[at:]}')


def built(source: Path, out: Path) -> Path:
    """The documentation of a folder, built."""
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(out)], check=True, timeout=3600
    )
    return out


DOCS = Path(draftproof.__file__).parent / "docs"
needs_docs = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in the wheel")


def browsed(browser, folder: Path, settings=SETTINGS) -> dict[tuple[str, int, str], list[str]]:
    """What is wrong with the pages in a folder, by page, width and colours."""
    every = [(file, *setting) for file in sorted(folder.rglob("*.html")) for setting in settings]
    found = {(file.stem, *setting): serious(browser, file, *setting) for file, *setting in every}
    return {where: broken for where, broken in found.items() if broken}


@needs_docs
@pytest.mark.needs("sphinx")
@pytest.mark.long
def test_nothing_serious_on_a_page_with_wide_tables_and_nothing_is_wider_than_its_column(browser, tmp_path):
    """The house's style on a page of its own; that of every page is looked at by the long test."""
    source = tmp_path / "docs"
    source.mkdir()
    for name in ("conf.py", "house.py", "glossary.md", "engines.md"):
        shutil.copy(DOCS / name, source / name)
    shutil.copytree(DOCS / "_static", source / "_static")
    (tmp_path / "reports").symlink_to(FOLDER.parent)
    (source / "index.md").write_text("# Page\n\n```{toctree}\nglossary\nengines\n```\n")
    pages = built(source, tmp_path / "out")
    for name in ("genindex", "search", "glossary", "index"):
        (pages / f"{name}.html").unlink()
    assert browsed(browser, pages, FEW) == {}
    (pages / "engines.html").write_text((pages / "engines.html").read_text().replace("house.css", "none.css"))
    assert "scrolls: DIV" in " ".join(serious(browser, pages / "engines.html", 390))


@needs_docs
@pytest.mark.long
@pytest.mark.needs("sphinx")
def test_nothing_serious_on_any_page_of_the_documentation(browser, tmp_path):
    pages = built(DOCS, tmp_path)
    assert len([*pages.rglob("*.html")]) > 30
    assert browsed(browser, pages) == {}
    bad = pages / "bad.html"
    bad.write_text((pages / "index.html").read_text().replace("</h1>", f"</h1>{''.join(PLANTED.values())}", 1))
    assert set(PLANTED) <= set(serious(browser, bad))


@in_settings
def test_nothing_serious_on_a_compliance_document(browser, settings):
    compliance = compliance_page(golden("compliance"))
    assert all(f'"word {verdict}"' in compliance for verdict in ("met", "open", "refuted"))
    for width, colours in settings:
        assert serious(browser, compliance, width, colours) == []


PLANTED = {
    "svg-img-alt": '<svg role="img" width="9" height="9"><path d="M0 0h9v9z"/></svg>',
    "color-contrast": '<p style="color: #bbbbbb; background: #ffffff">pale</p>',
    "link-name": '<a href="#words"></a>',
    "too-wide": '<div style="width: 3000px">wide</div>',
}


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
