"""Decoding loops with known bugs, in a run from end to end: each is refuted, and the loop without them is not."""

import shlex

import pytest

from draftproof.reports.audits.loops import forged_law
from draftproof.reports.pages.page import page
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.audits.loops.e2e_parts import briefly, examined, refuted
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.wrong_loops import SHOWN_WITH, wrong_loop
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE

pytestmark = pytest.mark.engine
brief = pytest.fixture(autouse=True)(briefly)


@pytest.fixture
def second_block(brief, monkeypatch):
    """Trace the law of as many tokens as a run of a user does."""
    monkeypatch.setattr(forged_law, "MAX_PATHS", 20_000)


READ, PASSES, WARPED = ("rows", "reading"), ("rows", "forward-pass"), ("rows", "warp")
NOISE, DRAFTS = ("noise", "listening"), ("drafts", "betting")
EXACT, COUNTED, BETS, ENDS = (("lossless", method) for method in ("enumeration", "chi-square", "betting", "ends"))

ON_FORGED = {
    **{name: {READ} for name in ("L01", "L02", "L03", "L04", "L05", "L15", "L16")},
    **{name: {WARPED, EXACT, COUNTED} for name in ("L06", "L07", "L09", "L17")},
    "L08": {EXACT, COUNTED, BETS},
    "L10": {EXACT, COUNTED, ENDS},
    "L11": {EXACT, COUNTED},
    "L12": {NOISE, COUNTED, BETS},
    "L13": {NOISE, COUNTED},
    "L14": {NOISE},
    "L18": {NOISE, ("acceptance", "mean")},
}
"""What refutes each loop, at the least, on a forged pair, whose rows do not look at the cache."""

ON_TRAINED = {"L01": {READ, PASSES}, "L06": {WARPED, BETS}, "L08": {DRAFTS, BETS}, "L10": {ENDS}, "L12": {NOISE, BETS}}
"""The same where rows do look at the cache, one loop for each check."""


def test_every_wrong_loop_is_examined():
    assert set(ON_FORGED) == set(SHOWN_WITH)


@pytest.mark.parametrize("name", long_unless(ON_FORGED, {"L12"}))
def test_the_loop_is_refuted_on_a_forged_pair(forged, name, request):
    if EXACT in ON_FORGED[name] and name != "L10":
        request.getfixturevalue("second_block")
    samples = 500 if ON_FORGED[name] <= {READ, NOISE} else 8000 if name in ("L09", "L11", "L18") else 1500
    report = examined({**forged, "samples": samples}, **wrong_loop(name))
    assert report.verdict == "refuted"
    assert refuted(report) >= ON_FORGED[name]
    assert report.findings["own loop"] == (
        f"decoded by draftproof.tests.subjects.wrong_loops:{name} in the place of draftproof's loop"
    )


@pytest.mark.parametrize("name", long_unless(ON_TRAINED, {"L01"}))
def test_the_loop_is_refuted_on_a_trained_pair_and_its_replay_refutes_again(trained, name):
    report = examined(trained, **wrong_loop(name), **({"samples": 32} if name == "L01" else {}))
    assert report.verdict == "refuted"
    assert refuted(report) >= ON_TRAINED[name]
    (replay,) = {item.replay for item in report.evidence if item.verdict == "refuted"}
    program, command, *words = shlex.split(replay)
    assert (program, command) == ("draftproof", "e2e")
    if name == "L01":
        again = draftproof(command, *words)
        assert (again.status, " REFUTED: " in again.out) == (1, True), again.out


RIGHT = [
    pytest.param({"temperature": 0.5}, "block", marks=pytest.mark.long),
    ({"gamma": "adaptive", "samples": 200}, "greedy-block"),
    pytest.param({"eos": 0}, "token", marks=pytest.mark.long),
    pytest.param({"top_k": 2}, "block", marks=pytest.mark.long),
    pytest.param({}, "block-stream", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("settings", "verifier"), RIGHT)
def test_the_right_loop_is_not_refuted_on_a_forged_pair(forged, verifier, settings):
    report = examined(forged, verifier=verifier, **settings)
    assert refuted(report) == set()
    assert report.verdict == "inconclusive"
    verdicts = {(item.claim, item.method): item.verdict for item in report.evidence}
    assert verdicts[COUNTED] == verdicts[BETS] == verdicts["acceptance", "mean"] == NO_EVIDENCE
    assert verdicts[READ] == verdicts[PASSES] == verdicts[WARPED] == verdicts[NOISE] == HOLDS
    assert verdicts.get(EXACT, HOLDS) == HOLDS
    assert (EXACT in verdicts) == ("gamma" not in settings)


@pytest.mark.parametrize("verifier", long_unless(("token", "block", "greedy-block"), {"block"}))
def test_the_right_loop_is_not_refuted_on_a_trained_pair(trained, verifier):
    report = examined(trained, verifier=verifier)
    assert refuted(report) == set()
    assert report.verdict == "inconclusive"
    bets = next(item for item in report.evidence if (item.claim, item.method) == BETS)
    assert 0 < bets.bound < 0.5
    assert bets.bound == max(bets.detail.limits[name] for name in ("argmax", "draft above target"))
    assert ("bonus" in bets.detail.families) == (verifier != "greedy-block")


@pytest.mark.usefixtures("second_block")
@pytest.mark.parametrize("rule", long_unless(("spec-infer", "k-seq", "traversal"), ()))
def test_the_right_loop_of_several_paths_is_not_refuted_and_what_was_drafted_is_said(forged, rule):
    report = examined(forged, verifier=rule, paths=2, samples=200)
    assert refuted(report) == set()
    verdicts = {(item.claim, item.method): item.verdict for item in report.evidence}
    assert verdicts[COUNTED] == verdicts[BETS] == verdicts["acceptance", "mean"] == NO_EVIDENCE
    assert verdicts[EXACT] == verdicts[READ] == verdicts[PASSES] == verdicts[WARPED] == verdicts[NOISE] == HOLDS
    data = report.as_json()
    validate(data)
    assert (data["end_to_end"]["paths"], data["end_to_end"]["children"]) == (2, [2, 1])
    assert data["scope"]["nodes"] == 4 and "trees of up to 4 nodes drawn iid" in data["scope"]["says"]
    assert data["subject"]["name"] == f"{rule} with 2 draft paths" and "2 draft paths" in page(report)


def test_at_temperature_0_a_cache_that_is_off_writes_other_tokens(trained):
    wrong = examined(trained, temperature=0.0, **wrong_loop("L01"))
    assert ("lossless", "argmax") in refuted(wrong)
    witness = next(item for item in wrong.evidence if item.method == "argmax").witness
    assert witness.expected != witness.observed
    assert witness.problem["position"] >= len(witness.problem["prompt"])
