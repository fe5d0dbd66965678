"""Wide problems in an audit: given by their specification, replayed from it, and sampled where they have no law."""

import json
import shlex

import jsonschema
import pytest

from draftproof import audit
from draftproof.models.battery import toy
from draftproof.models.long_blocks import apart
from draftproof.models.problem import any_problem_from, as_json
from draftproof.models.wide import WideProblem, backwards, exchanged, wide, wide_battery
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.reports.audits.functions import problems as functions
from draftproof.tests.models.schemas import PROBLEM_SCHEMA
from draftproof.tests.reports.audited import audited, written
from draftproof.verifiers.details import WideDetail

SUBJECTS = "draftproof.tests.subjects.wide"
ODD = "draftproof.tests.deceivers.odd"
CONTROLS = "draftproof.verifiers.zoo.controls"
BATTERY = {p.name: p for p in wide_battery()}


def problems_of(report):
    return {e.problem for e in report.evidence if e.claim == "lossless"}


def test_a_refutation_on_a_wide_problem_replays_from_its_specification():
    report = audited(f"{SUBJECTS}:tiles_of_eight", [wide(9, 2)])
    refutation = report.shown_refutation()
    assert (report.verdict, refutation.detail.vocabulary) == ("refuted", 9)
    words = shlex.split(refutation.replay)
    assert audit(words[2], [words[4]]).shown_refutation().total_variation == refutation.total_variation
    jsonschema.validate(json.loads(json.dumps(refutation.witness.problem)), PROBLEM_SCHEMA)
    assert len(refutation.replay) < 300
    assert all(len(json.dumps(as_json(p))) < 600 or p.kind == "near" for p in BATTERY.values())  # which names 143


def test_what_was_examined_of_the_vocabulary_stands_next_to_the_verdict():
    report = audited(f"{SUBJECTS}:by_search", [toy(1), wide(2003, 1)])
    (law,) = (e for e in report.evidence if e.claim == "lossless" and isinstance(e.detail, WideDetail))
    assert (report.verdict, law.holds, law.detail.vocabulary, law.detail.gamma) == ("holds", True, 2003, 1)
    assert law.detail.ids_called > 100 and 0 < law.detail.mass_not_called < 1
    assert 0 < law.detail.fewest_ids_of_a_row < 2003


def test_an_id_that_one_draft_block_calls_is_refuted_by_as_much_as_if_all_had_called_it(sandbox):
    subject, problem = "draftproof.tests.deceivers.rows:one_id_of_a_thousand", BATTERY["wide-dense-V1003-gamma2"]
    sandbox.load(subject, [toy(1)])
    of_all, in_turn = (
        judge(measured_wide(problem, "float64", sandbox.law(problem, every_id=every)))[0] for every in (True, False)
    )
    assert in_turn.refuted and in_turn.total_variation < of_all.total_variation
    found = audited(subject, [problem]).shown_refutation()
    assert found.total_variation == of_all.total_variation


def test_a_wide_problem_without_a_law_is_sampled_and_the_verdict_says_so():
    report = audited("draftproof.tests.subjects.not_followed:scan_of_sums", [wide(129, 1)], samples=2000)
    sampled = [e for e in report.evidence if e.method == "chi-square"]
    assert report.verdict == "inconclusive" and len(sampled) == 1
    assert 0 < sampled[0].bound < 0.5 and sampled[0].detail.why_not_exact
    assert report.scope.sampled_vocabularies == [129]
    assert "1 sampled (V = 129; detection limit TV" in report.scope.says
    off = audited(f"{SUBJECTS}:cut_to_fifty", [wide(1003, 2)], levels=("statistical",), samples=4000)
    assert (off.verdict, off.shown_refutation().method) == ("refuted", "chi-square")


MINDS_THE_ORDER = """
from draftproof.tests.subjects.wide import by_choice
def right(target_probs, draft_probs, draft_tokens, rng):
    return by_choice(target_probs, draft_probs, draft_tokens, rng)
def by_order(target_probs, draft_probs, draft_tokens, rng):
    if target_probs[0][0] > target_probs[0][-1]:
        return [rng.choice(len(target_probs[0]), p=target_probs[0] / target_probs[0].sum())]
    return by_choice(target_probs, draft_probs, draft_tokens, rng)
"""


def test_a_law_that_minds_the_order_of_wide_ids_is_noticed():
    problem = WideProblem(300, 1, "dense", ((5, 250),), name="w")
    there = backwards(problem)
    assert there.target_row(())[0] == problem.target_row(())[-1] and backwards(there) == problem
    assert there.draft_row(()).tolist() == problem.draft_row(())[::-1].tolist()
    assert there.target_row((49,)).tolist() == problem.target_row((250,))[::-1].tolist()
    assert any_problem_from(as_json(there)) == there
    for name in ("right", "by_order"):
        report = audited(written(MINDS_THE_ORDER, name), [problem, there], explain=False)
        laws = {e.problem: e.verdict for e in report.evidence if e.claim == "lossless"}
        assert laws["w"] == laws["w-backwards"] == "holds"
        said = "w with ids in the opposite order has another output distribution"
        assert (said in report.findings.get("relation", "")) is (name == "by_order")


@pytest.mark.long
def test_a_cache_that_takes_rows_for_others_is_refuted_with_the_calls_before_and_a_right_one_is_not():
    problem = wide(1003, 1)
    report = audited(f"{SUBJECTS}:residuals_by_every_64th", [problem, exchanged(problem)], explain=False)
    assert report.verdict == "refuted"
    assert f"differs after calls on {problem.name}, which shares some rows" in report.findings["state"]
    replay = report.shown_refutation().replay
    assert replay == report.shown["state"]["replay"] and replay.count("--problem") == 2
    words = shlex.split(replay)
    again = audit(words[2], [word for k, word in enumerate(words) if words[k - 1] == "--problem"], explain=False)
    assert again.verdict == "refuted"
    right = audited(f"{SUBJECTS}:residuals_by_whole_rows", [problem, exchanged(problem)], explain=False)
    assert (right.verdict, right.findings) == ("holds", {})


def test_wide_problems_are_part_of_an_audit_that_the_small_ones_do_not_refute(monkeypatch):
    monkeypatch.setattr(functions, "audit_battery", lambda: [toy(1)])
    monkeypatch.setattr(functions, "own_problems", lambda seed: [])
    few = [*BATTERY.values()][:2]
    report = audit(f"{SUBJECTS}:by_choice", wide=few, dtypes=["float64"], explain=False, levels=("exact",))
    assert report.verdict == "holds" and {p.name for p in few} <= problems_of(report)
    report = audit(
        "draftproof.verifiers.zoo.accept_rule:accept_everything", wide=few, dtypes=["float64"], explain=False
    )
    assert report.verdict == "refuted" and problems_of(report).isdisjoint(BATTERY)


@pytest.mark.parametrize(
    ("problem", "right", "wrong", "most"),
    [
        # Where target and draft are near, a rejected uniform is on few points: 3.5e-14 was beyond what a fresh one may.
        (BATTERY["wide-near-draft-V2000-gamma1"], f"{CONTROLS}:one_uniform_rescaled",
         f"{SUBJECTS}:rescaled_too_low", 9e-13),
        # NumPy's multinomial draw subtracts one probability after the other from 1, so that the last one is off.
        (BATTERY["wide-again-V5003-gamma4"], f"{SUBJECTS}:by_multinomial",
         f"{SUBJECTS}:by_multinomial_of_less", 2e-12),
        # The running sum of a row that was added in pairs ends next to 1: the last token takes the rest.
        (BATTERY["wide-tails-V257-gamma2"], f"{ODD}:uniforms_in_advance",
         f"{SUBJECTS}:by_sums_a_little_too_small", 2e-13),
        # Uniforms of the longest block that are drawn at once are followed one by one.
        pytest.param(
            apart(64), f"{ODD}:uniforms_in_advance", f"{SUBJECTS}:all_at_once_but_the_last_is_kept", 1e-9,
            marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
def test_right_verifiers_that_were_refuted_hold_and_ones_just_beyond_them_do_not(problem, right, wrong, most):
    for rule, verdict in ((right, "holds"), (wrong, "refuted")):
        report = audited(rule, [problem], explain=False)
        (law,) = (e for e in report.evidence if e.claim == "lossless" and isinstance(e.detail, WideDetail))
        assert report.verdict == verdict and law.bound < most
