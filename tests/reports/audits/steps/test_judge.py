"""Recorded steps: right engines are not refuted, wrong ones are, within few steps, and the bug is named."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from draftproof.models.recorded_steps import Recording, parts
from draftproof.reports.audits.steps.bets import bets_on_steps, hypotheses
from draftproof.reports.audits.steps.evidence import evidence_of
from draftproof.reports.audits.steps.purses import StepPurse
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.report_parts import fits_a_terminal
from draftproof.verifiers.conditional.drawing import drawn
from draftproof.verifiers.conditional.rules import RULES

from .recordings import GAMMA, V, greedy, judge_of, record, softmax, verifier

NAMED = {
    "M01": 30, "M03": 10, "M05": 20, "M07": 20, "M08": 20, "M11": 10, "M12": 10, "M13": 40, "M16": 30, "M19": 20,
    "M20": 20, "M21": 10, "M23": 10, "M24": 150, "M25": 250, "M27": 100, "M30": 120, "M31": 40, "M51": 30,
}  # fmt: skip
"""Bugs of token verification, and the step by which they are refuted and named."""


@pytest.mark.parametrize("name", NAMED)
def test_a_known_bug_is_refuted_within_few_steps_and_named(name, tmp_path):
    record(tmp_path, name, steps=NAMED[name] + 30)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is not None and judge.steps.fortune.refuted_at < NAMED[name]
    assert name in [law.name for law in judge.likely()]


@pytest.mark.parametrize(
    ("name", "steps"), long_unless([("M37", 200), ("M38", 50), ("M39", 600), ("M41", 900)], [("M37", 200), ("M38", 50)])
)
def test_a_known_bug_of_block_verification_is_refuted_and_named(name, steps, tmp_path):
    record(tmp_path, name, steps=steps, rule="block", gamma=4)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is not None
    assert name in [law.name for law in judge.likely()]


FEW_RULES = [("C10", "token"), ("C04", "block"), ("C02", "equality")]


@pytest.mark.parametrize(("verify", "rule"), long_unless([*FEW_RULES, ("C06", "token"), ("C05", "block")], FEW_RULES))
def test_right_rules_are_not_refuted(verify, rule, tmp_path):
    record(tmp_path, verify, steps=200, rule=rule)
    report = audit_steps(tmp_path)
    fits_a_terminal(report)
    assert report.verdict == "inconclusive" and not any(e.refuted for e in report.evidence)
    assert {e.claim for e in report.evidence} == {"follows-rule", "lossless", "drafts", "batch"}
    assert report.steps["judged"]["steps"] == 200 and report.steps["counts"]["seen"] == 200


@pytest.mark.parametrize(
    ("verify", "claimed"),
    long_unless(
        [("C10", "block"), ("C04", "token"), ("C02", "token"), ("C10", "equality")],
        [("C10", "block"), ("C04", "token")],
    ),
)
def test_another_rule_than_the_one_claimed_is_refuted(verify, claimed, tmp_path):
    record(tmp_path, verify, steps=200, rule=claimed, gamma=4)
    assert judge_of(tmp_path).steps.fortune.refuted_at is not None


def temperature_in_the_copy(step):
    step.verify_target = softmax(step.logits, 1.2)


def rows_of_a_neighbour(step):
    step.verify_target = softmax(step.rng.normal(size=step.logits.shape) * 2.5)


def q_of_another_step(step):
    step.verify_draft = np.roll(step.draft, 1, axis=0)


def row_cast_to_bfloat16_before_the_residual(step):
    step.verify_target = np.round(step.target * 128) / 128
    step.verify_target /= step.verify_target.sum(-1, keepdims=True)


def top_p_on_one_side(step):
    rows = step.target.copy()
    for row in rows:
        order = np.argsort(-row)
        row[order[np.searchsorted(np.cumsum(row[order]), 0.8) + 1 :]] = 0
    step.verify_target = rows / rows.sum(-1, keepdims=True)


def bonus_at_another_temperature(step):
    step.verify_target = np.concatenate([step.target[:-1], softmax(step.logits[-1:], 0.5)])


def drafts_resampled_after_q(step):
    step.drafts = [int(step.rng.choice(len(row), p=row)) for row in softmax(step.draft_logits, 2.0)]


def cache_one_token_off(step):
    step.verify_target = np.concatenate([step.target[:1], step.target[:-1]])


def shard_of_the_vocabulary_left_out(step):
    rows = step.target.copy()
    rows[:, V * 3 // 8 : V // 2] = 0
    step.verify_target = rows / rows.sum(-1, keepdims=True)


def penalties_over_rejected_drafts(step):
    rows = step.target.copy()
    rows[:, step.drafts] *= 0.5
    step.verify_target = rows / rows.sum(-1, keepdims=True)


AROUND = [
    temperature_in_the_copy, rows_of_a_neighbour, q_of_another_step, row_cast_to_bfloat16_before_the_residual,
    top_p_on_one_side, bonus_at_another_temperature, drafts_resampled_after_q, cache_one_token_off,
    shard_of_the_vocabulary_left_out, penalties_over_rejected_drafts,
]  # fmt: skip


@pytest.mark.parametrize("fault", AROUND, ids=lambda f: f.__name__)
def test_a_fault_around_the_function_is_refuted(fault, tmp_path):
    record(tmp_path, steps=120, fault=fault)
    report = audit_steps(tmp_path)
    refuted = {e.claim for e in report.evidence if e.refuted}
    assert ("drafts" if fault is drafts_resampled_after_q else "follows-rule") in refuted
    assert report.verdict == "refuted"


def test_the_bonus_row_and_the_temperature_are_named(tmp_path):
    record(tmp_path, steps=100, fault=temperature_in_the_copy)
    assert "target at 1.25 times its temperature" in [law.name for law in judge_of(tmp_path).likely()]


@pytest.mark.parametrize("rule", long_unless(RULES, {"block"}, pytest.mark.simulation))
def test_the_rate_of_false_alarms_is_kept(rule, tmp_path):
    """Draw the outcomes of 20 recordings from the rule itself: at most as many reach 1/20 as may."""
    record(tmp_path, steps=64, listed=V)
    recording = Recording.open(tmp_path)
    part = next(parts(recording.read(recording.shards[0]), recording.header, 64))
    law, against, generator = RULES[rule], hypotheses(rule), np.random.default_rng(3)
    reached = 0
    for _ in range(20):
        steps, listed = drawn(law, part.steps, generator)
        assert listed.all()
        purse = StepPurse([h.name for h in against], alpha=0.05)
        purse.add(bets_on_steps(law, against, steps, recording.header.epsilon))
        reached += purse.fortune.refuted_at is not None
    assert reached <= 5  # Binomial(20, 0.05) is above with probability 0.0003


def test_a_fault_at_one_place_of_the_batch_is_said_of_that_place(tmp_path):
    count = iter(range(10**6))

    def fault(step):
        if next(count) % 3 == 1:
            cache_one_token_off(step)

    record(tmp_path, steps=300, fault=fault)
    [batch] = [e for e in audit_steps(tmp_path).evidence if e.claim == "batch"]
    assert batch.refuted and "place in the batch 1" in batch.witness.sequence
    assert "0" not in batch.witness.sequence.split("batch")[1]


def test_a_fault_at_one_place_that_no_hypothesis_explains_ends_no_audit(tmp_path):
    def lost(target, draft, tokens, rng):
        """Lose the accepted tokens behind one that came twice."""
        out = [int(x) for x in verifier("C10")(target, draft, tokens, rng)]
        again = [k for k in range(1, len(out)) if out[k] == out[k - 1]]
        return out[: again[0] + 1] if again else out

    record(tmp_path, lost, steps=300, vocabulary=40)
    judge = judge_of(tmp_path)
    places = [key for key in judge.groups.refuted if key[0] == "place in the batch"]
    assert judge.impossible and not judge.groups.purses[places[0]].likely()
    assert [e.refuted for e in evidence_of(judge, {}) if e.claim == "batch"] == [False]


@pytest.mark.long
@pytest.mark.usefixtures("simulated")
def test_limits_count_the_steps_that_are_judged_and_all_of_them(tmp_path):
    def rarely_drafted(step):
        if step.rng.random() < 0.75:
            step.drafts, step.draft, step.verify_draft = [], step.draft[:0], step.draft[:0]
            step.target = step.verify_target = step.target[:1]

    record(tmp_path / "often", steps=60, vocabulary=8)
    record(tmp_path / "rarely", steps=240, vocabulary=8, fault=rarely_drafted)
    often, rarely = (judge_of(tmp_path / name).limits()["M11"] for name in ("often", "rarely"))
    assert rarely > 2 * often
    record(tmp_path / "greedy", "C10", steps=80, vocabulary=12, settings={"temperature": 0})
    judge = judge_of(tmp_path / "greedy")
    assert judge.steps.fortune.steps == 0 and judge.limits() == {}, "greedy steps are not bet on"


def test_acceptance_of_every_rule_on_the_same_steps(tmp_path):
    record(tmp_path, "C10", steps=250, gamma=4)
    report = audit_steps(tmp_path)
    gains = report.steps["acceptance"]["rules"]
    measured, low, high = report.steps["acceptance"]["measured"]
    assert gains["token"]["gain"] == [0, 0, 0] and low <= gains["token"]["expected"][0] <= high
    assert gains["block"]["gain"][1] > 0 > gains["equality"]["gain"][2]
    block = tmp_path / "block"
    record(block, "C04", steps=250, gamma=4, rule="block", seed=1)
    other = audit_steps(block).steps["acceptance"]
    assert other["measured"][1] <= gains["block"]["expected"][0] <= other["measured"][2]
    assert measured < other["measured"][0] + 0.5


def test_the_witness_is_a_problem_of_at_most_four_tokens(tmp_path):
    from draftproof.models.problem import problem_from

    record(tmp_path, "M11", steps=50)
    witness = audit_steps(tmp_path).shown_refutation().witness
    problem = problem_from(witness.problem)
    assert problem.vocabulary <= 4 and 1 <= problem.gamma <= GAMMA
    assert (
        "never, under token verification" in witness.expected and "steps-000000.safetensors, step" in witness.sequence
    )


def test_recorded_uniforms_replay_the_step(tmp_path):
    def with_uniforms(verify_wrong):
        numbers = {}

        def verify(target, draft, tokens, rng):
            numbers["u"] = rng.random(len(tokens)) if not verify_wrong else numbers.get("u", rng.random(len(tokens)))
            for i, x in enumerate(tokens):
                if not numbers["u"][i] < target[i][x] / draft[i][x]:
                    rest = np.maximum(target[i] - draft[i], 0)
                    return [*tokens[:i], rng.choice(len(rest), p=rest / rest.sum())]
            return [*tokens, rng.choice(target.shape[1], p=target[-1])]

        return verify, lambda step: {"uniforms": numbers["u"]}

    for wrong in (False, True):
        folder = tmp_path / str(wrong)
        verify, more = with_uniforms(wrong)
        record(folder, verify, steps=40, more=more)
        report = audit_steps(folder)
        assert report.steps["judged"]["replayed"] == 40
        assert ("uniform-reused" in report.findings) is wrong

    def lenient(target, draft, tokens, rng):
        return verify(np.minimum(target * 1.0, 1.0), draft * 0.98, tokens, rng)

    verify, more = with_uniforms(False)
    record(tmp_path / "lenient", lenient, steps=200, more=more)
    [e] = [e for e in audit_steps(tmp_path / "lenient").evidence if e.claim == "follows-rule"]
    assert e.refuted and "its uniforms accept" in e.witness.why


def test_a_right_engine_whose_modes_are_not_listed_is_not_refuted(tmp_path):
    """The draft's likely tokens are listed; the residual's likely ones are among the others."""

    def fault(step):
        step.target = step.verify_target = np.stack([[*[0.05] * 8, *[0.6 / 52] * 52]] * 4)
        draft = np.array([*[0.112] * 8, *[0.104 / 52] * 52])
        step.draft = step.verify_draft = np.stack([draft] * 3)
        step.drafts = [int(step.rng.choice(60, p=draft)) for _ in range(3)]

    record(tmp_path, steps=300, fault=fault, vocabulary=60, listed=8)
    assert not any(e.refuted for e in audit_steps(tmp_path).evidence)


def test_of_equal_tokens_a_greedy_engine_may_take_either(tmp_path):
    def fault(step):
        step.target[:, :2] = step.target.max()
        step.target /= step.target.sum(-1, keepdims=True)
        step.verify_target = step.target

    record(tmp_path, greedy(-1), steps=50, rule="greedy", fault=fault)
    report = audit_steps(tmp_path)
    assert not any(e.refuted for e in report.evidence) and report.steps["judged"]["greedy"] == 50


def capped(name, at):
    """A verifier whose text is cut after one token at one of a request's 20 steps."""
    calls, verify = iter(range(10**6)), verifier(name)

    def cut(*step):
        out = verify(*step)
        return out[:1] if next(calls) % 20 == at else out

    return cut


@pytest.mark.parametrize(("name", "rule"), [("C10", "token"), ("C04", "block")])
def test_a_right_engine_that_ends_inside_accepted_tokens_is_not_refuted(name, rule, tmp_path):
    def refuted_at(verify, at):
        folder = tmp_path / f"{verify} {at}"
        record(folder, capped(verify, at), steps=200, rule=rule, vocabulary=12)
        return judge_of(folder).steps.fortune.refuted_at

    assert refuted_at(name, 19) is None
    assert refuted_at(name, 10) is not None, "the request has gone on"
    assert refuted_at("M12", 19) is not None


def test_the_text_of_greedy_block_verification_is_not_judged(tmp_path):
    record(tmp_path, "C04", steps=50, rule="greedy-block")
    report = audit_steps(tmp_path)
    assert "lossless" not in {e.claim for e in report.evidence}
    assert any("greedy block verification changes the rows" in line for line in report.not_examined)


def lenient(target, draft, tokens, rng):
    """Accept three of five tokens that are to be rejected."""
    for i, x in enumerate(tokens):
        if rng.random() * draft[i, x] >= target[i, x] and rng.random() < 0.4:
            left = np.maximum(target[i] - draft[i], 0)
            return [*tokens[:i], int(rng.choice(len(left), p=left / left.sum()))]
    return [*tokens, int(rng.choice(len(target[-1]), p=target[-1]))]


def test_a_fault_at_one_length_refutes_though_all_steps_together_do_not(tmp_path):
    def short(step):
        if step.rng.random() < 0.08:
            step.drafts, step.target = step.drafts[:1], step.target[:2]
            step.draft, step.verify_draft, step.verify_target = step.draft[:1], step.draft[:1], step.target

    def verify(target, draft, tokens, rng):
        return (lenient if len(tokens) == 1 else verifier("C10"))(target, draft, tokens, rng)

    record(tmp_path, verify, steps=5000, vocabulary=60, fault=short)
    judge = judge_of(tmp_path)
    assert judge.steps.fortune.refuted_at is None and judge.groups.refuted == [("drafted tokens", 1)]
    [evidence] = [e for e in evidence_of(judge, judge.limits()) if e.claim == "follows-rule"]
    assert evidence.refuted and "steps with drafted tokens 1" in evidence.witness.sequence


def test_a_shard_that_is_there_twice_counts_once(tmp_path):
    record(tmp_path, steps=100)
    first = tmp_path / "steps-000000.safetensors"
    shutil.copy(first, tmp_path / "steps-000009.safetensors")
    judge = judge_of(tmp_path)
    assert judge.errors == [f"steps-000009.safetensors: the same file as {first.name}, which is counted once"]
    assert judge.shards == 1 and judge.steps.fortune.steps == 100


def test_outcomes_that_limits_draw_may_end_their_request_and_are_read_as_a_dump_reads_them(tmp_path):
    record(tmp_path, steps=100)
    recording = Recording.open(tmp_path)
    [part] = parts(recording.read(recording.shards[0]), recording.header)
    law = next(one for one in hypotheses("token") if one.name == "50% of replacements the rejected token")
    steps = replace(part.steps, final=np.full(part.steps.count, True))
    outcomes, _ = drawn(law, steps, np.random.default_rng(0))
    again = np.append(steps.tokens, np.full((steps.count, 1), -1), axis=1)[np.arange(steps.count), outcomes.emitted]
    assert outcomes.cut.any() and (outcomes.cut == (again == outcomes.last)).all()
    some = np.where(np.arange(steps.rows.target.shape[-1]) % 2, steps.rows.target, 0.0)
    whole = replace(steps, rows=steps.rows._replace(target=some))
    even = next(one for one in hypotheses("token") if one.name == "50% of bonus tokens drawn evenly")
    lasts = [drawn(even, whole, np.random.default_rng(0), lumped)[0].last for lumped in (-1, V)]
    assert (lasts[0] < V).all() and (lasts[1] == V).any()
