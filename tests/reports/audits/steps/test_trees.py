"""Recorded draft trees: right rules are not refuted, wrong ones are, within few steps, and the bug is named."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.models.recorded_steps import Recording, parts
from draftproof.recording import Recorder, recorded
from draftproof.reports.audits.steps.bets import Against, bets_on_steps
from draftproof.reports.audits.steps.purses import StepPurse
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.reports.pages.page import page
from draftproof.tests.choices import long_unless
from draftproof.tests.refusals import one_line
from draftproof.tests.reports.commands.in_process import draftproof as run
from draftproof.tests.verifiers.conditional.test_laws_of_trees import steps_of_trees, wide
from draftproof.verifiers.conditional.drawing import drawn
from draftproof.verifiers.conditional.tree_rules import TREE_RULES, WAYS
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, DraftTree
from draftproof.verifiers.zoo.building_blocks import draw, excess, ratio
from draftproof.verifiers.zoo.controls_trees import multi_round, without_replacement
from draftproof.verifiers.zoo.tree_building_blocks import descent, one_after_another

from .recordings import judge_of, record, rewritten
from .tree_recordings import SHAPE, V, drawn_tree, record_trees

RIGHT = [
    ("D01", "spec-infer", IID), ("D01", "token", WITHOUT_REPLACEMENT), ("D01", "spec-infer", TOP),
    ("D02", "without-replacement", WITHOUT_REPLACEMENT), ("D03", "top-tokens", TOP), ("D04", "naive", IID),
    ("D06", "traversal", WITHOUT_REPLACEMENT),
]  # fmt: skip


@pytest.mark.parametrize("dtype", long_unless(("float64", "float32"), {"float32"}))
@pytest.mark.parametrize(("verify", "rule", "how"), long_unless(RIGHT, RIGHT[::3]))
def test_right_rules_are_not_refuted(verify, rule, how, dtype, tmp_path):
    record_trees(tmp_path, verify, 60, rule, how, dtype=dtype)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.steps == judge.trees == 60 and judge.steps.fortune.log_evidence < 5
    assert not judge.shown or judge.shown[0].gain < np.inf
    assert judge.texts.refuting is None and judge.drafts.refuting is None and judge.texts.tokens > 60
    assert judge.drafts.tokens == (0 if how == TOP else 60 * len(SHAPE))


NAMED = {
    ("T01", "spec-infer", IID): 20, ("T02", "spec-infer", IID): 20,
    ("T03", "without-replacement", WITHOUT_REPLACEMENT): 200,
    ("T05", "spec-infer", WITHOUT_REPLACEMENT): 20, ("T06", "spec-infer", WITHOUT_REPLACEMENT): 30,
    ("T07", "spec-infer", IID): 60, ("T09", "naive", TOP): 20, ("T11", "traversal", WITHOUT_REPLACEMENT): 20,
}  # fmt: skip
"""Bugs of trees, and the step by which they are refuted and named."""


@pytest.mark.parametrize(("name", "rule", "how"), long_unless(NAMED, [*NAMED][::2]))
def test_a_known_bug_is_refuted_within_few_steps_and_named(name, rule, how, tmp_path):
    within = NAMED[name, rule, how]
    record_trees(tmp_path, name, within, rule, how)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is not None
    assert name in [law.name for law in judge.likely()]


def undivided(rng, p, q, x):
    left = p
    for k, token in enumerate(map(int, x)):
        if rng.random() < ratio(left[token], q[k][token]):
            return k, -1
        left = excess(left, q[k])
    return None, draw(rng, left, p)


def bonus_of_the_parent(target, draft, tokens, parents, rng):
    return descent(one_after_another(), bonus=lambda node: int(parents[node]) + 1)(target, draft, tokens, parents, rng)


PLANTED = {
    "the residual not updated": (descent(one_after_another(rest=lambda left, q, x: left)), "residual not updated", 30),
    "the residual not divided": (descent(undivided), "residual not divided", 40),
    "the bonus of the parent": (bonus_of_the_parent, "bonus token from the row before", 40),
}


@pytest.mark.parametrize("bug", long_unless(PLANTED, [*PLANTED][:2]))
def test_a_planted_bug_is_refuted_and_named(bug, tmp_path):
    verify, name, within = PLANTED[bug]
    record_trees(tmp_path, verify, within, "spec-infer", IID)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is not None and judge.likely()[0].name == name


@pytest.mark.parametrize("name", long_unless(("T04", "T08", "T10", "T12"), {"T10"}))
def test_other_bugs_of_the_zoo_are_refuted(name, tmp_path):
    rule = "naive" if name == "T10" else "spec-infer"
    record_trees(tmp_path, name, 60, rule, IID)
    [evidence] = [e for e in audit_steps(tmp_path).evidence if e.claim == "follows-rule"]
    assert evidence.refuted


def test_siblings_verified_as_if_drawn_otherwise_are_refuted(tmp_path):
    """Drawn with replacement and verified as without; and said to be drawn otherwise than they are."""
    record_trees(tmp_path / "verified", without_replacement, 200, "spec-infer", IID, parents=(-1,) * 8)
    verified = judge_of(tmp_path / "verified")
    assert verified.steps.fortune.refuted_at is not None
    assert "without-replacement" in [law.name for law in verified.likely()]
    record_trees(tmp_path / "iid", multi_round, 60, "spec-infer", IID, said=WITHOUT_REPLACEMENT)
    iid = judge_of(tmp_path / "iid")
    assert iid.drafts.refuting.refuted_at < 60
    assert any("cannot draw" in why for why in iid.left_out)
    record_trees(tmp_path / "without", multi_round, 60, "spec-infer", WITHOUT_REPLACEMENT, said=IID)
    drafts = judge_of(tmp_path / "without").drafts.refuting
    assert drafts.family == "siblings drawn without replacement" and drafts.refuted_at < 8 * 60


@pytest.mark.parametrize(
    ("rule", "how"),
    long_unless([*product(WAYS, (IID, WITHOUT_REPLACEMENT))], {("naive", IID)}, pytest.mark.simulation),
)
def test_the_rate_of_false_alarms_is_kept(rule, how, tmp_path):
    """Draw the outcomes of 10 recordings from the rule itself: at most as many reach 1/20 as may."""
    record_trees(tmp_path, "D01", 40, rule, how, listed=V, shard_steps=40)
    recording = Recording.open(tmp_path)
    part = next(parts(recording.read(recording.shards[0]), recording.header, 80))
    against, law, generator = Against.of(rule, how), TREE_RULES[rule], np.random.default_rng(3)
    some = part.steps.part(~part.steps.twice) if law.longest else part.steps
    reached = 0
    for _ in range(10):
        steps, listed = drawn(law, some, generator)
        assert listed.all()
        purse = StepPurse(against.names, alpha=0.05)
        purse.add(against.placed(bets_on_steps(law, against.laws(True), steps, recording.header.epsilon), True))
        reached += purse.fortune.refuted_at is not None
    assert reached <= 3  # Binomial(10, 0.05) is above with probability 0.001


def test_a_recording_of_chains_and_trees_is_judged_on_both(tmp_path):
    rng = np.random.default_rng(4)
    with Recorder(tmp_path, V, rule="spec-infer", siblings=IID, dtype="float64") as recorder:
        for number in range(30):
            parents = SHAPE if number % 2 else (-1, 0, 1)
            target, draft, tokens = drawn_tree(rng, IID, parents)
            emitted = multi_round(target, draft, np.array(tokens), np.array(parents), rng)
            recorder.chosen()
            recorder.step(target, tokens, emitted, draft, parents=parents, request=number)
    report = audit_steps(tmp_path)
    assert not any(e.refuted for e in report.evidence)
    assert (report.steps["judged"]["steps"], report.steps["judged"]["trees"]) == (30, 15)
    assert report.steps["acceptance"]["over"] == "token" and report.steps["tree_acceptance"]["over"] == "spec-infer"
    assert report.steps["acceptance"]["steps"] == report.steps["tree_acceptance"]["steps"] == 15
    assert report.steps["tree_acceptance"]["rules"]["traversal"]["gain"][0] > 0
    shown = run("steps", str(tmp_path), "--gain")
    assert shown.status == 0 and "traversal, trees" in shown.out and "measured, trees" in shown.out
    assert "traversal, trees" in page(report)


def test_trees_of_which_nothing_is_said_are_judged_by_their_text_alone(tmp_path):
    record_trees(tmp_path, "D01", 40, said="")
    report = audit_steps(tmp_path)
    assert {e.claim for e in report.evidence} == {"lossless"}
    assert any("the header does not say how siblings are drawn" in line for line in report.not_examined)
    wrong = tmp_path / "wrong"
    record_trees(wrong, "T05", 150, said="")
    assert {e.claim for e in audit_steps(wrong).evidence if e.refuted} == {"lossless"}


def test_greedy_trees_are_judged_by_the_most_probable_token(tmp_path):
    def greedy(target, draft, tokens, parents, rng):
        node, out = -1, []
        while True:
            out.append(int(target[node + 1].argmax()))
            if (node := next((n for n, x in enumerate(tokens) if parents[n] == node and x == out[-1]), None)) is None:
                return out

    record_trees(tmp_path / "right", greedy, 40, "greedy", TOP)
    right = audit_steps(tmp_path / "right")
    assert not any(e.refuted for e in right.evidence) and right.steps["judged"]["greedy"] == 40
    record_trees(tmp_path / "wrong", "D03", 40, "greedy", TOP)
    assert audit_steps(tmp_path / "wrong").verdict == "refuted"


@pytest.mark.usefixtures("simulated")
def test_a_fault_of_trees_shows_by_its_limit(tmp_path):
    record_trees(tmp_path / "right", "D01", 30, "spec-infer", IID, parents=(-1, -1))
    limits = judge_of(tmp_path / "right").limits()
    assert limits["T10"] < limits["T09"] < limits["greedy"] < 100 and limits["T01"] is None
    record_trees(tmp_path / "wrong", "T10", limits["T10"], "spec-infer", IID, parents=(-1, -1))
    assert judge_of(tmp_path / "wrong").steps.fortune.refuted_at is not None


def test_a_path_that_is_not_in_the_tree_is_refuted(tmp_path):
    record_trees(tmp_path, lambda target, draft, tokens, parents, rng: [(tokens[0] + 1) % V, 1], 5)
    [evidence] = [e for e in audit_steps(tmp_path).evidence if e.claim == "follows-rule"]
    assert evidence.refuted and evidence.witness.why == "kept tokens that were not drafted"


@pytest.mark.parametrize("parent", [2, 1, 7, -2])
def test_a_parent_that_is_not_before_its_child_is_one_line(parent, tmp_path):
    record_trees(tmp_path, "D01", 5)
    rewritten(tmp_path, lambda arrays: arrays["draft_parents"].__setitem__(8 + 1, parent))
    says = f"steps-000000.safetensors: step 1, drafted token 1 has the parent {parent}, expected -1..0"
    assert says in one_line(audit_steps, tmp_path)


def test_a_way_of_drawing_that_is_not_known_is_one_line(tmp_path):
    record_trees(tmp_path, "D01", 5, said="sorted")
    with pytest.raises(InputError, match="siblings 'sorted', expected one of iid, without-replacement, top"):
        audit_steps(tmp_path)


def test_a_rule_without_a_law_on_trees_is_said(tmp_path):
    record_trees(tmp_path, "D01", 5, rule="greedy-block")
    assert "5 steps: their rule: greedy-block has no distribution for trees" in audit_steps(tmp_path).not_examined


def test_a_verifier_with_parents_records_itself(tmp_path):
    rng = np.random.default_rng(0)
    verify = recorded(multi_round, tmp_path, rule="spec-infer", siblings=IID)
    for _ in range(20):
        target, draft, tokens = drawn_tree(rng, IID)
        verify(target, draft, np.array(tokens), np.array(SHAPE), rng)
    verify.close()
    assert judge_of(tmp_path).trees == 20


def test_a_drafted_token_that_its_row_cannot_draw_is_a_finding_of_drafts(tmp_path):
    def fault(step):
        step.draft = step.verify_draft = np.where(np.arange(300) == step.drafts[0], 0.0, step.draft)
        step.draft /= step.draft.sum(-1, keepdims=True)

    record(tmp_path, steps=20, fault=fault)
    report = audit_steps(tmp_path)
    assert {e.claim for e in report.evidence if e.refuted} == {"drafts"}
    assert report.steps["judged"]["steps"] == 0
    assert any("a drafted token that the draft's row cannot draw" in line for line in report.not_examined)


SAYS = "drafted tokens {} and {} are one text, and the {}'s rows behind them differ by TV"


@pytest.mark.parametrize("rule", ["spec-infer", "unknown"])
def test_two_rows_behind_one_text_are_named_and_refute_nothing(rule, tmp_path):
    """Behind equal siblings both go on, each from a row of its own: no engine has two rows of one text."""
    for one_text in (True, False):
        folder = tmp_path / str(one_text)
        record_trees(folder, "D01", 200, rule, IID, one_text=one_text)
        report = audit_steps(folder)
        assert not any(e.refuted for e in report.evidence), one_text
        left = report.steps["left_out"].get("two rows behind one text; their other rows are judged", 0)
        assert (left > 50, "unreadable" in report.findings) == (not one_text, not one_text)
    assert "steps-000000.safetensors, step " in report.findings["unreadable"]
    assert SAYS.format(0, 1, "target") in report.findings["unreadable"]


@pytest.mark.parametrize("model", ["target", "draft"])
def test_two_rows_of_either_model_are_named_unless_rounding_explains_them(model, tmp_path):
    def said(change):
        target, draft, folder = np.full((6, V), 1 / V), np.full((5, V), 1 / V), tmp_path / str(change)
        (target if model == "target" else draft)[3] += change * (np.eye(V)[0] - 1 / V)
        with Recorder(folder, V, rule="spec-infer", siblings=IID, dtype="float32") as recorder:
            for first in (7, 8):
                recorder.step(target, [7, 8, first, 9, 9], [5], draft, parents=[-1, -1, -1, 2, 0])
        return audit_steps(folder).findings.get("unreadable", "")

    assert said(0.0) == said(0.1) == "", "a model in bfloat16 has computed both"
    assert said(0.2) == f"steps-000000.safetensors, step 0: {SAYS.format(0, 2, model)} {0.2 * (1 - 1 / V):.2g}"


def test_a_logprob_behind_one_text_with_two_rows_refutes_nothing(tmp_path):
    target, draft = np.full((4, V), 1 / V), np.full((3, V), 1 / V)
    target[3] += 0.2 * (np.eye(V)[0] - 1 / V)
    for tokens in ([7, 8, 7], [7, 8, 9]):
        folder = tmp_path / str(tokens[-1])
        with Recorder(folder, V, rule="spec-infer", siblings=IID, dtype="float32") as recorder:
            logprobs = np.log([1 / V, target[3, 0]])
            recorder.step(target, tokens, [tokens[2], 0], draft, parents=[-1, -1, -1], logprobs=logprobs)
        report = audit_steps(folder)
        assert not any(e.refuted for e in report.evidence)
        assert ("unreadable" in report.findings) == (tokens[0] == tokens[2])


def test_where_a_row_is_none_the_tokens_of_other_rows_are_judged(tmp_path):
    """Which rows are behind a drafted token depends on the token: a step is not left out for one of them."""

    def fault(step):
        if step.drafts[0] % 2:
            step.target[2] *= 1.1

    record(tmp_path, steps=150, fault=fault)
    judge = judge_of(tmp_path)
    [(why, left)] = judge.left_out.items()
    assert "does not sum to 1" in why and judge.steps.fortune.steps == 150 - left and left > 30
    assert judge.drafts.tokens == 3 * 150 - left and judge.drafts.refuting is None and judge.texts.refuting is None


@pytest.mark.parametrize(
    ("rule", "how"),
    long_unless(product(WAYS, (IID, WITHOUT_REPLACEMENT)), {("spec-infer", IID), ("traversal", WITHOUT_REPLACEMENT)}),
)
def test_a_bet_is_worth_at_most_one_under_the_rule(rule, how):
    """The mean of every bet over all outcomes of a tree, with few tokens listed and with the allowance for rounding."""
    law, against = TREE_RULES[rule], Against.of(rule, how)
    tree = wide(how, np.random.default_rng(3))
    texts = [(*path, y) for path in sorted({(), *map(tree.path, range(len(tree.tokens)))}) for y in range(40)]
    for listed, epsilon in ((256, 2.0**-53), (6, 2.0**-24)):
        whole = steps_of_trees([tree] * len(texts), texts, how)
        steps = steps_of_trees([tree] * len(texts), texts, how, listed)
        if law.longest and steps.twice.any():
            continue
        own = np.exp(sum(law.log_likelihood(whole)))
        bets = bets_on_steps(law, against.laws(True), steps, epsilon)
        assert bets.possible[own > 1e-9].all()
        assert (own * np.exp(np.minimum(bets.logs, 700)) * bets.possible).sum(1).max() <= 1 + 1e-9


@pytest.mark.parametrize("rule", ["naive", "top-tokens", "spec-infer"])
def test_a_bet_is_worth_at_most_one_whichever_of_equal_siblings_goes_on(rule):
    """Two siblings have one token, and the second has a child; an engine may let the first alone go on."""
    target = np.array([[0.588, 0.412], [0.629, 0.371], [0.629, 0.371], [0.852, 0.148]])
    draft = np.array([[0.902, 0.098], [0.902, 0.098], [0.144, 0.856]])
    tree, law = DraftTree(target, draft, (0, 0, 0), (-1, -1, 1), IID), TREE_RULES[rule]
    texts = [(*path, y) for path in ((), (0,), (0, 0)) for y in range(2)]
    for listed in (1, 256):
        steps = steps_of_trees([tree] * len(texts), texts, IID, listed)
        whole = steps_of_trees([tree] * len(texts), texts, IID)
        first = replace(whole.other, emitted=np.maximum(whole.other.emitted, 0), apart=whole.other.parents)
        readings = {
            "together": np.exp(sum(law.log_likelihood(replace(whole, apart=whole.parents)))),
            "first alone": np.exp(sum(law.log_likelihood(first))) * (whole.other.emitted >= 0),
        }
        bets = bets_on_steps(law, Against.of(rule, IID).laws(True), steps, 2.0**-53)
        for own in readings.values():
            assert own.sum() == pytest.approx(1) and bets.possible[own > 1e-9].all()
            assert (own * np.exp(np.minimum(bets.logs, 700)) * bets.possible).sum(1).max() <= 1 + 1e-9
