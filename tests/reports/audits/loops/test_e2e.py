"""The command draftproof e2e: its report, and the law that a forged pair has."""

import json
import re

import pytest
import torch

from draftproof.models.battery import drawn_markov
from draftproof.proofs.closed_forms import lenience_bias
from draftproof.reports.audits.loops import run
from draftproof.reports.audits.loops.forged_law import forged_law
from draftproof.reports.audits.loops.options import LoopOptions
from draftproof.reports.audits.loops.session import open_session
from draftproof.reports.audits.loops.written_texts import GreedyTexts
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.audits.loops.e2e_parts import briefly, command, examined, forged_pair, refuted, words_of
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.wrong_loops import wrong_loop
from draftproof.verifiers.evidence import Witness

pytestmark = [pytest.mark.needs("transformers"), pytest.mark.engine]
brief = pytest.fixture(autouse=True)(briefly)


@pytest.fixture(scope="module")
def zeros(tmp_path_factory):
    return forged_pair(tmp_path_factory.mktemp("zeros"), 3, 2, "zeros")


def test_the_report_has_the_audits_form_and_names_figures_device_and_precision(forged, tmp_path, monkeypatch):
    for name in ("target", "draft"):
        (tmp_path / f"<b>{name}").symlink_to(forged[name])
    forged = {**forged, "target": tmp_path / "<b>target", "draft": tmp_path / "<b>draft", "samples": 300}
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
        assert low < high and low <= report[name] * 1.2 and high >= report[name] / 1.2
    assert (report["environment"]["device"], report["environment"]["dtype"]) == ("cpu", "float32")
    assert set(report["end_to_end"]["drift"]) == {"target", "draft"}
    for item in report["evidence"]:
        assert item["verdict"] != "no-evidence" or item["bound"] > 0
    assert "   UNDECIDED: nothing decided on " in out and re.search(r"^  On +cpu, float32$", out, re.M)
    page = files[1].read_text()
    assert "wall-clock speedup over plain decoding" in page
    assert "&lt;b&gt;target" in page and "<b>target" not in page
    monkeypatch.setattr(run, "run_e2e", lambda *_: Report.from_json(report))
    assert command(*words_of(forged), "--require-decision")[0] == 4


@pytest.mark.long
@pytest.mark.parametrize("verifier", ["block", "greedy-block"])
def test_half_precision_is_named_and_its_drift_is_no_part_of_the_verdict(trained, verifier):
    report = examined(trained, verifier=verifier, dtype="bfloat16")
    assert refuted(report) == set()
    assert {item.detail.dtype for item in report.evidence} == {"bfloat16"}
    assert max(each["total_variation"]["max"] for each in report.end_to_end["drift"]["target"]) > 1e-4
    slack = next(item for item in report.evidence if item.method == "betting" and item.claim == "lossless").detail.slack
    assert slack > 1e-4
    wrong = {**wrong_loop("L01"), "verifier": verifier, "dtype": "bfloat16"}
    assert ("rows", "reading") in refuted(examined(trained, **wrong))


def law_of(pair, **options):
    session = open_session(LoopOptions(**{**pair, **options}))
    return forged_law(session, session.start)


def test_the_rationals_that_a_pair_was_forged_from_are_recovered_where_they_can_be(forged, zeros):
    problem = drawn_markov(3, 2)
    known = law_of(forged)
    assert (known.problem.target.start, known.problem.target.after) == (problem.target.start, problem.target.after)
    assert known.problem.draft.after == problem.draft.after
    for options in ({"temperature": 0.5}, {"dtype": "bfloat16"}, {"top_k": 2}):
        known = law_of(forged, **options)
        assert known.problem.target.after != problem.target.after
        assert all(sum(row) == 1 for row in (known.problem.target.start, *known.problem.target.after))
    ended = law_of(forged, eos=0)
    assert ended.problem.vocabulary == 4
    assert ended.text([1, 0], 4) == (1, 0, 3, 3)
    assert ended.text([1, 3], 4) == (1, 4, -1, -1)
    assert law_of(zeros).problem.target.after == drawn_markov(3, 2, "zeros").target.after


def test_a_pair_with_impossible_tokens_is_not_refuted(zeros):
    assert refuted(examined(zeros, samples=200)) == set()


@pytest.mark.long
def test_a_verifier_that_is_lossy_by_name_is_shown_as_such_with_its_exact_bias(forged):
    report = examined(forged, verifier="lenient-token:0.5")
    assert report.verdict == "refuted"
    assert report.findings["lossy"].startswith("lenient-token is lossy by name (lenience 0.5)")
    problem = drawn_markov(3, 2)
    rows = [(problem.target.start, problem.draft.start), *zip(problem.target.after, problem.draft.after, strict=True)]
    biases = [float(lenience_bias(list(map(float, p)), list(map(float, q)), 0.5)) for p, q in rows]
    methods = {item.method: item for item in report.evidence if item.claim == "lossless"}
    assert min(abs(methods["closed-form"].total_variation - bias) for bias in biases) < 1e-6
    assert {methods[method].verdict for method in ("closed-form", "enumeration", "chi-square")} == {"refuted"}
    strict = examined(forged, verifier="lenient-token:1")
    assert strict.verdict == "inconclusive" and "lossy" not in strict.findings


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
    place = {"prompt": [5, 6], "position": 3}
    assert texts.wrong == [Witness(problem=place, sequence="token 2 after the prompt", expected="0", observed="2")]
