"""A sweep of concurrency: right servers pass, what goes wrong from three in a batch on is refuted at those levels."""

import numpy as np
import pytest
from scipy.special import gammaln

from draftproof.models.errors import InputError
from draftproof.reports.audits.drafts import of_levels
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.servers.settings import SweepSettings
from draftproof.reports.audits.servers.sweep import SETTINGS, audit_sweep, between, levels_to
from draftproof.reports.pages.page import page
from draftproof.stattests.eprocess import concentrations, log_evidence_of_rows
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.report_parts import fits_a_terminal
from draftproof.tests.reports.report_schema import validate

pytestmark = pytest.mark.needs("httpx2", "jsonschema")


IN_FLIGHT = "several prompts in one request, and {} requests in flight"


@pytest.fixture(scope="module")
def served(process_of):
    with process_of("batching_server.py") as server:
        yield server


@pytest.fixture
def swept(served):
    """Sweeps the server's loop of that name."""

    def run(loop, samples=60, at_once=4, **settings):
        given = {"patience": 600.0, "request_timeout": 600.0, "samples": samples, "at_once": at_once} | settings
        report = audit_sweep(f"{served[0]}/{loop}/v1", served[1], SweepSettings(**given))
        validate(report.as_json())
        fits_a_terminal(report)
        assert report.failure is None and Report.from_json(report.as_json()).reading == report.reading
        return report

    return run


def levels(report):
    """Requests in flight -> the verdict on that level."""
    return {level["in_flight"]: level["verdict"] for level in report.server["levels"]}


def test_a_right_server_passes_at_each_level_with_its_limits_and_its_drafts(swept):
    report = swept("right", samples=80)
    assert report.verdict == "inconclusive" and {*levels(report)} == {1, 2, 4}
    assert report.reading.startswith("inconclusive: not refuted with 1, 2, 4 requests in flight, by samples alone; ")
    assert all(0 < e.bound < 0.8 and len(e.detail.limits) == len(SETTINGS) for e in report.evidence)
    for level in report.server["levels"]:
        assert level["log_e"] < level["alarm"] and 1.5 < level["drafted"] / (level["tokens"] - level["kept"]) <= 2
    assert "requests in flight</" in page(report) and "how many of the requests in flight" in " ".join(
        report.not_examined
    )
    assert IN_FLIGHT.format("more than 4") in report.not_examined
    assert "3 requests in flight" in report.not_examined
    assert "several requests in one call" not in report.not_examined


def test_numbers_of_requests_between_the_levels_are_named():
    assert [levels_to(n) for n in (1, 2, 3, 4)] == [[1], [1, 2], [1, 2, 3], [1, 2, 4]]
    assert levels_to(7) == [1, 2, 4, 6, 7] and levels_to(64) == [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    assert between([1]) == between([1, 2, 3]) == []
    assert between(levels_to(8)) == ["3, 5, 7 requests in flight"]
    assert between(levels_to(12)) == ["3, 5, 7, 9 to 11 requests in flight"]
    assert between(levels_to(64)) == ["numbers of requests in flight between those that were asked with"]


def test_one_request_at_a_time_shows_nothing_of_several_in_flight(swept):
    report = swept("plain", samples=20, at_once=1)
    assert IN_FLIGHT.format("several") in report.not_examined


@pytest.mark.parametrize("loop", long_unless(["first-temperature", "swapped", "row-of-another"], {"row-of-another"}))
def test_what_goes_wrong_in_batches_of_three_is_refuted_at_those_levels_alone(loop, swept):
    report = swept(loop)
    assert report.verdict == "refuted"
    assert levels(report) == {1: "no-evidence", 2: "no-evidence", 4: "refuted"}
    assert report.reading == "refuted: with 4 requests in flight, not with 1, 2"
    shown = report.shown_refutation()
    assert shown.problem == "4 in flight" and " --sweep " in shown.replay and shown.witness.expected == "0"


@pytest.mark.long
def test_a_fault_without_impossible_outputs_is_refuted_by_evidence(swept, monkeypatch):
    monkeypatch.setattr("draftproof.reports.audits.servers.sweep.SETTINGS", SETTINGS[:3])
    report = swept("first-temperature", samples=300)
    assert levels(report) == {1: "no-evidence", 2: "no-evidence", 4: "refuted"}
    (last,) = (level for level in report.server["levels"] if level["in_flight"] == 4)
    assert last["impossible"] == 0 and last["log_e"] > last["alarm"]
    assert report.shown_refutation().witness.sequence.startswith("temperature ")


def test_drafts_are_counted_by_the_servers_metrics_and_nothing_drafted_is_said(swept):
    report = swept("counting", samples=20, at_once=2)
    said = report.server["speculation"]
    assert said["seen"] == "in the server's metrics" and 0 < said["accepted"] < said["drafted"]
    report = swept("plain", samples=20, at_once=2)
    assert report.verdict == "inconclusive" and "drafted" not in report.server["levels"][0]
    assert report.reading.endswith("by samples alone, but nothing shows that tokens were drafted")
    level = {"in_flight": 1, "verdict": "no-evidence", "missed": 0, "drafted": 9, "kept": 3}
    server = {"levels": [level, {**level, "in_flight": 2, "drafted": 0}],
              "speculation": {"seen": "", "drafted": 9, "accepted": 3}}  # fmt: skip
    assert of_levels("inconclusive", server).endswith("; 9 tokens drafted, 3 kept; none drafted with 2")


def test_a_level_with_answers_that_were_asked_for_again_is_undecided(swept):
    report = swept("busy", samples=80, at_once=2)
    assert report.verdict == "inconclusive" and any(level["missed"] for level in report.server["levels"])
    assert "undecided with" in report.reading
    assert all(e.bound is None for e, level in zip(report.evidence, report.server["levels"]) if level["missed"])


def test_settings_that_the_target_has_no_rows_for_are_left_out_and_few_samples_are_bad_input(served, target, swept):
    with pytest.raises(InputError, match="--samples 100: expected at least 128, twice the requests in flight"):
        swept("right", samples=100, at_once=64)
    done = draftproof("server", f"{served[0]}/right/v1", "--target", target, "--sweep", "--grid")
    assert done.status == 2 and "--sweep does not go with --grid" in done.err
    done = draftproof("server", f"{served[0]}/right/v1", "--target", target, "--sweep", "--at-once", "2",
                      "--samples", "40", "--scope")  # fmt: skip
    assert " temperature 0: " in done.out, "rows of this target have ties"


def test_the_evidence_of_rows_is_a_martingale_and_infinite_for_what_cannot_be():
    """E[E] = 1 over all sequences of three draws, where the second row is that of the first draw's context."""
    start, after = np.array([0.3, 0.7]), [np.array([0.5, 0.5]), np.array([0.9, 0.1])]
    total = 0.0
    for text in np.ndindex(2, 2, 2):
        rows = [start, after[text[0]], after[text[1]]]
        counts = {}
        for row, token in zip(rows, text):
            counts.setdefault(id(row), (np.zeros(2, int), row))[0][token] += 1
        total += np.prod([row[token] for row, token in zip(rows, text)]) * np.exp(
            log_evidence_of_rows([*counts.values()], 3)
        )
    assert total == pytest.approx(1.0, abs=1e-9)
    counts = np.array([40, 0])
    c = concentrations(2)
    alone = np.mean(np.exp(gammaln(c) - gammaln(c + 40) + gammaln(c / 2 + 40) - gammaln(c / 2) + 40 * np.log(2)))
    assert log_evidence_of_rows([(counts, after[0])], 1) == pytest.approx(np.log(alone), abs=1e-6)
    assert log_evidence_of_rows([(np.array([1, 1]), np.array([1.0, 0.0]))], 1) == np.inf


def test_a_right_server_is_seldom_refuted_and_a_limit_is_kept():
    """In 400 runs of a right row the evidence stays low; a row off by more than a limit is refuted each time."""
    from draftproof.stattests.anytime import min_detectable_sequential

    rng, row, n, alpha, contexts = np.random.default_rng(1), np.array([0.2, 0.5, 0.3]), 400, 1e-3, 6
    right = [log_evidence_of_rows([(rng.multinomial(n, row), row)], contexts) for _ in range(400)]
    assert np.mean(np.exp(right) >= 20) <= 0.05 and max(right) < np.log(1 / alpha)
    limit = min_detectable_sequential(n, dict(zip("abc", row)), alpha / (2 * contexts), 1e-6)
    off = row + np.array([limit, -limit, 0.0])
    wrong = [log_evidence_of_rows([(rng.multinomial(n, off), row)], contexts) for _ in range(400)]
    assert min(wrong) >= np.log(1 / alpha)
