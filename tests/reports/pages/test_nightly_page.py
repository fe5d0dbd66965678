"""The page of a history."""

import json

import numpy as np
import pytest
from markupsafe import escape

from draftproof.models.battery import drawn
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of
from draftproof.reports.audits.nightly.status import status
from draftproof.reports.pages.nightly.page import page
from draftproof.tests.reports.audits.nightly.parts import WRONG, a_check, drawn_by, night_of

pytestmark = pytest.mark.needs("sqlalchemy")


def test_the_page_is_self_contained_escaped_and_the_same_for_the_same_history(history):
    evil = "<script>alert(1)</script>"
    check = a_check()
    (number,) = history.enrol(evil, "sha256:00", [check])
    counted = CheckCounts(np.array([*np.full(16, 10), 3]), (f"ValueError: {evil}", 3))
    history.record(number, check, night_of(1), 1, counted)
    report = json.loads(json.dumps(status(history)))
    html = page(report)
    assert evil not in html
    assert "&lt;script&gt;" in html
    assert "src=" not in html
    assert 'href="http' not in html
    assert html.count("<svg") == 1
    assert page(json.loads(json.dumps(report))).encode() == html.encode()


def test_the_page_tells_states_versions_and_witnesses(history, file):
    drawn_by(history, file, 1)
    file.write_text(WRONG)
    report = drawn_by(history, file, 2)
    html = page(report)
    assert '<div class="verdict alarm">alarm</div>' in html
    for check in report["checks"]:
        assert check["version"].removeprefix("sha256:")[:8] in html
    assert "The smallest witness, on fresh draws (vocabulary 2, gamma 1)" in html
    assert "generic-V3-gamma2" in report["checks"][-1]["witness"]["replay"]
    assert escape(report["checks"][-1]["witness"]["replay"]) in html


def test_a_history_without_nights_has_a_page(history):
    assert "Nothing has been drawn yet" in page(status(history))


def test_many_quiet_checks_are_drawn_as_a_band_and_an_alarm_stands_out(history):
    checks = [check_of(drawn(2, 2, "generic", seed), False) for seed in range(15)]
    numbers = history.enrol("someone.py:f", "sha256:00", checks)
    rng = np.random.default_rng(1)
    for day in range(1, 4):
        for k, (number, check) in enumerate(zip(numbers, checks)):
            law = check.law if k or day < 3 else np.roll(check.law, 1)
            counted = CheckCounts(rng.multinomial(500, law), None)
            history.record(number, check, night_of(day), day, counted)
    html = page(status(history))
    assert "14 quiet checks" in html
    assert f"{checks[0].name}: alarm" in html
