"""The page of a history."""

import json

from markupsafe import escape

from draftproof.reports.pages.nightly.page import page
from draftproof.tests.reports.golden import golden

EVIL = "<script>alert(1)</script>"


def test_the_page_is_self_contained_escaped_and_the_same_for_the_same_history():
    report = golden("nightly")
    report["checks"][0] |= {"subject": EVIL, "impossible": {"sequence": f"ValueError: {EVIL}", "count": 3}}
    html = page(report)
    assert EVIL not in html and "&lt;script&gt;" in html
    assert "src=" not in html and 'href="http' not in html
    assert html.count("<svg") == 3 and page(json.loads(json.dumps(report))) == html


def test_the_page_tells_states_versions_witnesses():
    report = golden("nightly")
    html, replay = page(report), report["checks"][1]["witness"]["replay"]
    versions = [check["version"].removeprefix("sha256:")[:8] for check in report["checks"][:2]]
    for text in (
        '<div class="verdict alarm">alarm</div>', *versions, escape(replay),
        "The smallest witness, on fresh draws (vocabulary 2, gamma 1)", f"{report['checks'][2]['check']}: alarm",
    ):  # fmt: skip
        assert text in html
    assert "Nothing has been drawn yet" in page(report | {"checks": [], "scope": None})
