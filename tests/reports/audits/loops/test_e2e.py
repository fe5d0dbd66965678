"""The command draftproof e2e: its report, and what it is asked for."""

import json

import pytest
import torch
from sympy import QQ

from draftproof.models.battery import drawn_markov
from draftproof.models.generating.loop_verifiers import LoopVerifier
from draftproof.proofs.closed_forms import lenience_bias
from draftproof.proofs.field import rational
from draftproof.reports.audits.loops import run
from draftproof.reports.audits.loops.forged_law import forged_law
from draftproof.reports.audits.loops.options import LoopOptions
from draftproof.reports.audits.loops.session import open_session
from draftproof.reports.audits.loops.written_texts import GreedyTexts
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.audits.loops.e2e_parts import (
    command,
    examined,
    forged_pair,
    refuted,
    shared_report,
    timed_twice,
    words_of,
)
from draftproof.tests.reports.report_schema import validate
from draftproof.verifiers.evidence import Witness
from draftproof.verifiers.lenient_token_verification import lenient_token_verification
from draftproof.verifiers.registry import REFERENCES, Reference

pytestmark = pytest.mark.needs("transformers")

engine = pytest.mark.engine
twice = pytest.fixture(autouse=True)(timed_twice)


@pytest.fixture(scope="module")
def zeros(tmp_path_factory):
    return forged_pair(tmp_path_factory.mktemp("zeros"), 3, 2, "zeros")


@engine
def test_the_report_has_the_audits_form_and_names_figures_device_and_precision(forged, tmp_path, monkeypatch):
    files = tmp_path / "e2e.json", tmp_path / "e2e.html"
    status, out, _ = command(*words_of(forged), "--json", files[0], "--html", files[1])
    report = json.loads(files[0].read_text())
    validate(report)
    assert status == 0
    assert report["verdict"] == "inconclusive"
    assert 1 < report["block_efficiency"] <= 3
    assert report["wall_clock_speedup"] > 0
    figures = report["end_to_end"]["figures"]
    for name in ("block_efficiency", "wall_clock_speedup"):
        low, high = figures[f"{name}_interval"]
        assert low <= report[name] * 1.2
        assert high >= report[name] / 1.2
        assert low < high
    assert (report["environment"]["device"], report["environment"]["dtype"]) == ("cpu", "float32")
    assert (report["end_to_end"]["device"], report["end_to_end"]["dtype"]) == ("cpu", "float32")
    assert set(report["end_to_end"]["drift"]) == {"target", "draft"}
    for item in report["evidence"]:
        assert item["verdict"] != "no-evidence" or item["bound"] > 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith(("on ", "verdict ")))
    assert lines["on"] == "cpu, float32"
    assert lines["verdict"].startswith("inconclusive: nothing decided on ")
    page = files[1].read_text()
    assert "wall-clock speedup over plain decoding" in page
    assert "blocks of 3" in page
    monkeypatch.setattr(run, "run_e2e", lambda *_: Report.from_json(report))
    assert command(*words_of(forged), "--require-decision")[0] == 4


@engine
def test_names_of_folders_are_escaped_in_the_page(forged, tmp_path):
    for name in ("target", "draft"):
        (tmp_path / f"<b>{name}").symlink_to(forged[name])
    pair = {**forged, "target": tmp_path / "<b>target", "draft": tmp_path / "<b>draft"}
    pair |= {"samples": 120, "new_tokens": 8}
    status, _, _ = command(*words_of(pair), "--mutant", "L03", "--html", tmp_path / "page.html")
    assert status == 1
    page = (tmp_path / "page.html").read_text()
    assert "&lt;b&gt;target" in page
    assert "<b>target" not in page


@engine
@pytest.mark.long
def test_a_passing_trained_pair_has_a_detection_limit(trained):
    report = shared_report(trained, verifier="block")
    bets = next(item for item in report.evidence if (item.claim, item.method) == ("lossless", "betting"))
    assert bets.detail.tokens == 64 * 30
    assert bets.bound == max(bets.detail.limits[name] for name in ("argmax", "draft above target"))
    assert bets.detail.slack < 1e-4
    more = examined(trained, samples=160)
    again = next(item for item in more.evidence if (item.claim, item.method) == ("lossless", "betting"))
    assert again.bound < bets.bound


@engine
@pytest.mark.parametrize("verifier", ["block", pytest.param("greedy-block", marks=pytest.mark.long)])
def test_half_precision_is_named_and_its_drift_is_no_part_of_the_verdict(trained, verifier):
    report = examined(trained, verifier=verifier, dtype="bfloat16")
    assert refuted(report) == set()
    assert {item.detail.dtype for item in report.evidence} == {"bfloat16"}
    assert max(each["total_variation"]["max"] for each in report.end_to_end.drift["target"]) > 1e-4
    assert report.evidence[0].claim == "rows"
    slack = next(item for item in report.evidence if item.method == "betting" and item.claim == "lossless").detail.slack
    assert slack > 1e-4
    assert ("rows", "reading") in refuted(examined(trained, verifier=verifier, dtype="bfloat16", mutant="L01"))


def law_of(pair, **options):
    session = open_session(LoopOptions(**{**pair, **options}))
    return forged_law(session, session.start)


@engine
def test_the_rationals_that_a_pair_was_forged_from_are_recovered_where_they_can_be(forged, zeros):
    problem = drawn_markov(3, 2)
    known = law_of(forged)
    assert known.source.startswith("the rationals")
    assert (known.problem.target.start, known.problem.target.after) == (problem.target.start, problem.target.after)
    assert known.problem.draft.after == problem.draft.after
    for options in ({"temperature": 0.5}, {"dtype": "bfloat16"}, {"top_k": 2}):
        known = law_of(forged, **options)
        assert known.source.startswith("its rows as loaded")
        assert all(sum(row) == 1 for row in (known.problem.target.start, *known.problem.target.after))
    ended = law_of(forged, eos=0)
    assert ended.problem.vocabulary == 4
    assert ended.text([1, 0], 4) == (1, 0, 3, 3)
    assert ended.text([1, 3], 4) == (1, 4, -1, -1)
    assert law_of(zeros).problem.target.after == drawn_markov(3, 2, "zeros").target.after


@engine
@pytest.mark.parametrize(
    "verifier",
    ["block", *(pytest.param(name, marks=pytest.mark.long) for name in ("token", "greedy-block", "block-stream"))],
)
def test_a_pair_with_impossible_tokens_is_not_refuted(zeros, verifier):
    assert refuted(examined(zeros, verifier=verifier)) == set()


@engine
@pytest.mark.long
def test_a_verifier_that_is_lossy_by_name_is_shown_as_such_with_its_exact_bias(forged):
    report = examined(forged, verifier="lenient-token:0.5")
    assert report.verdict == "refuted"
    assert report.findings["lossy"].startswith("lenient-token is lossy by name (lenience 0.5)")
    assert report.as_json()["end_to_end"]["lossy"] == "lenience 0.5"
    problem = drawn_markov(3, 2)
    rows = [(problem.target.start, problem.draft.start), *zip(problem.target.after, problem.draft.after, strict=True)]
    biases = [float(lenience_bias(list(map(float, p)), list(map(float, q)), 0.5)) for p, q in rows]
    methods = {item.method: item for item in report.evidence if item.claim == "lossless"}
    assert min(abs(methods["closed-form"].total_variation - bias) for bias in biases) < 1e-6
    assert methods["closed-form"].total_variation > 0.05
    assert {methods[method].verdict for method in ("closed-form", "enumeration", "chi-square")} == {"refuted"}
    assert ("acceptance", "mean") not in refuted(report)
    strict = examined(forged, verifier="lenient-token:1")
    assert strict.verdict == "inconclusive"
    assert "lossy" not in strict.findings


@engine
@pytest.mark.long
def test_an_acceptance_that_is_not_the_verifiers_own_is_refuted(forged, monkeypatch):
    """Token verification held against the E[tau] of the lenient kind."""
    lenient = Reference("lenient-token", lenient_token_verification(QQ(1, 2)), "")

    def reference(verifier, number=float):
        return lenient if number is rational else REFERENCES["token"]

    monkeypatch.setattr(LoopVerifier, "reference", reference)
    assert refuted(examined(forged, verifier="token")) == {("acceptance", "mean")}


@engine
def test_gaps_no_larger_than_the_drift_are_ties_and_larger_ones_are_witnesses(trained):
    class Drift:
        tie = 0.01

    texts = GreedyTexts(open_session(LoopOptions(**{**trained, "temperature": 0.0})), Drift())
    logits = torch.tensor([[0.0, 1.0, 0.995], [2.0, 0.0, 1.9]])
    texts.compare([5, 6], [1, 0], logits)
    texts.compare([5, 6], [2, 0], logits)
    assert texts.wrong == []
    assert texts.ties == [pytest.approx(0.005, abs=1e-6)]
    texts.compare([5, 6], [1, 2], logits)
    assert texts.wrong == [
        Witness(
            problem={"prompt": [5, 6], "position": 3}, sequence="token 2 after the prompt", expected="0", observed="2"
        )
    ]
