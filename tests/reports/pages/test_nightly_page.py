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
    assert EVIL not in html
    assert "&lt;script&gt;" in html
    assert "src=" not in html
    assert 'href="http' not in html
    assert html.count("<svg") == 3
    assert page(json.loads(json.dumps(report))).encode() == html.encode()


def test_the_page_tells_states_versions_witnesses_and_a_band_of_quiet_checks():
    report = golden("nightly")
    html = page(report)
    assert '<div class="verdict alarm">alarm</div>' in html
    for check in report["checks"][:2]:
        assert check["version"].removeprefix("sha256:")[:8] in html
    witness = report["checks"][1]["witness"]
    assert "The smallest witness, on fresh draws (vocabulary 2, gamma 1)" in html
    assert "generic-V3-gamma2" in witness["replay"] and escape(witness["replay"]) in html
    assert "14 quiet checks" in html and f"{report['checks'][2]['check']}: alarm" in html


def test_a_history_without_nights_has_a_page():
    assert "Nothing has been drawn yet" in page(golden("nightly") | {"checks": [], "scope": None})
