"""What an end-to-end run may conclude: of drift, ties, agreement at temperature 0, and other loops."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from draftproof.models.errors import InputError
from draftproof.reports.audits.loops import forged_law, session
from draftproof.reports.audits.loops.block_inputs import BlockInputs
from draftproof.reports.audits.loops.drift import DriftMeasurement
from draftproof.reports.audits.loops.forward_passes import Drift
from draftproof.reports.audits.loops.model_inputs import RowPlace
from draftproof.reports.audits.loops.observed_loop import RowDistance
from draftproof.reports.audits.loops.options import LoopOptions
from draftproof.reports.audits.loops.run import CACHES_OF_FORGED
from draftproof.reports.audits.loops.session import open_session
from draftproof.reports.audits.loops.written_texts import SampledTexts
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.summary import summaries
from draftproof.tests.models import generating_parts as parts
from draftproof.tests.reports.audits.loops.e2e_parts import briefly, command, examined, refuted, words_of
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.wrong_loops import Raises, wrong_loop
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED

pytestmark = pytest.mark.engine
brief = pytest.fixture(autouse=True)(briefly)
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)


@pytest.fixture(scope="module")
def trained(trained):
    return {**trained, "samples": 8, "new_tokens": 12}


def evidence_on(report, claim, method):
    return next(item for item in report.evidence if (item.claim, item.method) == (claim, method))


def summary_of(item):
    """The row that terminal and page show of one piece of evidence."""
    return summaries(Report({}, evidence=[item]))[0]


# ---------------------------------------------------------------- drift


def test_texts_that_measure_drift_are_long_enough_and_stay_in_the_context(trained):
    drifts = DriftMeasurement(open_session(LoopOptions(**trained)))
    assert drifts.session.pair.context == 48
    assert drifts.length(4, 4, True) == 32
    assert drifts.length(4, 13, True) == 39
    assert drifts.length(20, 13, True) == 28
    assert drifts.length(40, 13, True) == 12


def made(most, rounding=0.0):
    """The drift of one shape, of that total variation."""
    same = {"median": most, "q99": most, "max": most, "mean": most}
    return Drift("one token", 100, same, same, same, 0.1, rounding)


@pytest.mark.parametrize(
    ("most", "rounding", "verdict"),
    [(1e-3, 0.0, REFUTED), (0.1, 0.0, NO_EVIDENCE), (0.0, 0.26, NO_EVIDENCE), (0.0, 0.2, HOLDS), (0.04, 0.0, HOLDS)],
)
def test_rows_are_not_judged_where_drift_is_too_wide(trained, most, rounding, verdict):
    run = open_session(LoopOptions(**trained))
    drifts = DriftMeasurement(run)
    drifts.drifts = {name: [made(most, rounding)] for name in ("target", "draft")}
    rows = BlockInputs(run, drifts, 1e-6)
    item = rows.rows_evidence("target", "forward-pass", [RowDistance(RowPlace("target", 0, 0, 5), 0.15)])
    assert item.verdict == verdict
    assert (summary_of(item).limit == "drift too wide to judge") == (verdict == NO_EVIDENCE)
    assert (item.bound == 1.0) == (verdict == NO_EVIDENCE)


@pytest.mark.parametrize(("most", "verdict"), [(1e-4, REFUTED), (0.2, NO_EVIDENCE)])
def test_bets_are_not_judged_where_drift_is_too_wide(trained, most, verdict):
    run = open_session(LoopOptions(**trained))
    drifts = DriftMeasurement(run)
    drifts.drifts = {name: [made(most)] for name in ("target", "draft")}
    rows = BlockInputs(run, drifts, 1e-6)
    law = torch.full((400, 4), 0.02)
    law[:, 0] = 0.94
    rows.bet(law, torch.ones(400, dtype=torch.int64))
    item = rows.drafts_evidence()
    assert item.verdict == verdict
    assert (item.bound == 1.0) == (verdict == NO_EVIDENCE)
    examined_texts = SampledTexts(run, drifts, 1e-6)
    examined_texts.runs.append(run.decode([run.prompts[0]], 12))
    size = run.pair.vocabulary
    target, tokens = np.full((400, size), 0.06 / (size - 1)), [1] * 400
    target[:, 0] = 0.94
    examined_texts.bet([0], tokens, (target, target), [], [])
    examined_texts.count, examined_texts.tokens = 1, 400
    assert examined_texts.bets_evidence().verdict == verdict


def test_with_batch_one_drift_is_measured_one_text_at_a_time(trained):
    """Mistral, with a window of 8 columns that no batch may outgrow."""
    for batch, shapes in ((1, ["one token", "blocks of 4"]), (2, None)):
        run = open_session(LoopOptions(**{**trained, "batch": batch}))
        target, draft = parts.attentive("mistral")
        run.pair = replace(run.pair, target=target, draft=draft, vocabulary=10, context=32)
        run.settings = replace(run.settings, vocabulary=10)
        run.prompts, drifts = [[3], [4, 5, 6]], DriftMeasurement(run)
        if shapes:
            drifts.run()
            assert [each.shape for each in drifts.drifts["target"]] == shapes
        else:
            with pytest.raises(InputError, match="longer than its sliding window of 8"):
                drifts.run()


# ---------------------------------------------------------------- temperature 0


def test_tokens_excused_as_ties_are_no_evidence_that_a_loop_is_lossless(trained, monkeypatch):
    wrong = {**trained, "temperature": 0.0, **wrong_loop("RunnerUp")}
    assert ("lossless", "argmax") in refuted(examined(wrong))
    monkeypatch.setattr(DriftMeasurement, "tie", 1e9)
    item = evidence_on(examined(wrong), "lossless", "argmax")
    assert item.verdict == NO_EVIDENCE
    assert item.detail.share_excused == 1
    assert item.bound == 1
    assert "100.0%" in summary_of(item).worst


def test_agreement_at_temperature_0_counts_each_text_once_and_is_no_proof(trained):
    report = examined({**trained, "samples": 64}, temperature=0.0)
    assert report.verdict == "inconclusive"
    item = evidence_on(report, "lossless", "argmax")
    assert item.verdict == NO_EVIDENCE
    assert (item.detail.texts, item.detail.distinct_texts, item.detail.distinct_tokens) == (8, 4, 4 * 12)
    assert item.bound == pytest.approx(np.log(1 / item.detail.miss_rate) / 48)
    assert "agrees with the target's argmax on 48 tokens of 4 outputs" in report.findings["reach"]


def test_a_law_enumerated_for_shorter_texts_does_not_make_longer_ones_lossless(forged, monkeypatch):
    greedy = {**forged, "temperature": 0.0, "samples": 64}
    report = examined(greedy)
    assert report.verdict == "holds"
    assert report.findings["reach"].endswith("for outputs of 24 tokens after the start token")
    assert evidence_on(report, "lossless", "enumeration").detail.tokens == 24
    assert {("lossless", "enumeration"), ("lossless", "argmax")} <= refuted(examined(greedy | wrong_loop("RunnerUp")))
    monkeypatch.setattr(forged_law, "MAX_GREEDY_TOKENS", 8)
    report = examined(greedy)
    assert report.verdict == "inconclusive"
    assert evidence_on(report, "lossless", "enumeration").verdict == HOLDS
    assert evidence_on(report, "lossless", "argmax").verdict == NO_EVIDENCE


@pytest.fixture(scope="module")
def accepted(forged):
    """Options at temperature 0 of a pair whose draft is the target: a right loop rejects nothing."""
    return {**forged, "draft": forged["target"], "temperature": 0.0}


@pytest.mark.parametrize("options", [{}, wrong_loop("KeepsAll")], ids=["right", "keeps all"])
def test_agreement_at_temperature_0_where_nothing_was_rejected_is_no_proof(accepted, options):
    report = examined(accepted, **options)
    assert (report.verdict, refuted(report)) == ("inconclusive", set())
    item = evidence_on(report, "lossless", "argmax")
    assert (item.verdict, item.detail.reason) == (NO_EVIDENCE, "no draft token was rejected")
    reach = "no draft token was rejected, so these outputs do not show how it verifies"
    assert report.findings["reach"].endswith(f" outputs; {reach}")
    said = "draft tokens that are {} at place 1, 2 of a block: there was none at temperature 0"
    assert said.format("rejected") in report.not_examined and said.format("kept") not in report.not_examined


def test_a_loop_that_drafts_nothing_holds_in_no_claim_about_drafts_or_rows(forged):
    report = examined(forged, temperature=0.0, **wrong_loop("NoDrafts"))
    assert report.verdict == "inconclusive"
    reasons = {
        ("rows", "reading"): "no forward pass for a verified block was recorded",
        ("noise", "listening"): "no token was drafted",
        ("lossless", "argmax"): "no draft token was rejected or kept",
    }
    for (claim, method), reason in reasons.items():
        item = evidence_on(report, claim, method)
        assert (item.verdict, item.detail.reason) == (NO_EVIDENCE, reason)
    for claim in ("rows", "noise"):
        assert report.findings[f"left out: {claim}"] == reasons[claim, {"rows": "reading", "noise": "listening"}[claim]]


def test_an_enumeration_of_outputs_that_ended_says_where(forged):
    report = examined(forged, temperature=0.0, eos=2)
    assert report.verdict == "holds"
    ended = "for outputs of at most 24 tokens after the start token, which ended after 1"
    assert report.findings["reach"].endswith(ended)


# ---------------------------------------------------------------- loops of another build


def test_draft_rows_of_a_loop_that_drafts_in_its_own_way_are_left_out_with_a_notice(trained):
    report = examined(trained | wrong_loop("OwnDrafts"))
    assert refuted(report) == set()
    assert report.failure is None
    assert "proposal()" in report.findings["left out: draft rows"]
    assert {item.detail.model for item in report.evidence if item.method == "forward-pass"} == {"target"}
    assert evidence_on(report, "noise", "listening").verdict == HOLDS


def test_numbers_of_drafts_that_were_not_logged_are_no_evidence(trained):
    item = evidence_on(examined(trained | wrong_loop("UnloggedDrafts")), "noise", "listening")
    assert item.verdict == NO_EVIDENCE
    assert item.detail.draft_numbers_heard == 0
    assert f"0 for {item.detail.draft_tokens:,} draft tokens" in summary_of(item).how


UNLOGGED = [("OwnCoins", "a coin"), ("OwnLastTokens", "the last token of a block")]


@pytest.mark.parametrize(("name", "what"), UNLOGGED)
def test_numbers_of_verification_that_were_not_logged_are_no_evidence(trained, name, what):
    report = examined(trained | wrong_loop(name))
    item = evidence_on(report, "noise", "listening")
    assert item.verdict == NO_EVIDENCE
    blocks = item.detail.draft_tokens // 3
    assert item.detail.reason == f"0 random numbers were recorded for {what}; expected {blocks} or more"
    assert report.findings["left out: noise"] == item.detail.reason


def test_contents_of_a_cache_show_in_rows_that_depend_on_them_and_a_report_on_a_forged_pair_says_that_its_do_not(
    trained, forged
):
    report = examined(trained | wrong_loop("EmptyCaches"))
    assert refuted(report) >= {("rows", "forward-pass")} and ("rows", "reading") not in refuted(report)
    assert CACHES_OF_FORGED not in report.not_examined
    report = examined(forged | wrong_loop("EmptyCaches"), temperature=0.0)
    assert refuted(report) == set()
    assert CACHES_OF_FORGED in report.not_examined


def test_rows_are_compared_with_the_settings_and_not_with_what_the_loop_made_of_them(trained):
    assert ("rows", "warp") in refuted(examined(trained | wrong_loop("OtherWarp")))


def test_a_loop_of_the_users_that_raises_ends_the_run_with_status_3_and_what_was_measured(
    trained, monkeypatch, tmp_path
):
    options, file = trained | wrong_loop("Raises"), tmp_path / "report.json"
    status, _, _ = command(*words_of(options), "--json", file)
    report = json.loads(file.read_text())
    validate(report)
    assert status == 3
    assert report["failure"]["kind"] == "raises"
    assert "ZeroDivisionError" in report["failure"]["message"]
    assert "\n" not in report["failure"]["message"]
    assert {item["method"] for item in report["evidence"]} >= {"reading", "forward-pass", "warp"}
    own = session.verifier_for
    monkeypatch.setattr(session, "verifier_for", lambda *given, **named: (own(*given, **named)[0], Raises))
    with pytest.raises(ZeroDivisionError):
        examined(trained)


NO_RUN = {
    "RaisesAtOnce": "the loop raised ValueError: no room",
    "ReturnsNothing": "run() of the loop returned NoneType; expected Generated",
    "LosesAnOutput": "run() of the loop returned 7 outputs; expected 8, one for each prompt",
    "ReturnsNoTokens": "run() of the loop returned another output; expected one or more tokens, each 0 to 4",
    "ReturnsNoIterations": "run() of the loop returned 0 iterations; expected one or more of each prompt",
}
"""Loops of the user's that cannot be made, or do not return a run: what the report says."""


@pytest.mark.parametrize("name", NO_RUN)
def test_a_loop_of_the_users_that_returns_no_run_is_an_error_in_one_line(forged, name):
    report = examined(forged | wrong_loop(name), temperature=0.0)
    assert (report.verdict, report.failure) == ("error", {"kind": "raises", "message": NO_RUN[name]})
