"""Recorded rows against logits and settings; reported logprobs against rows."""

import numpy as np
import pytest

from draftproof.models.decoding_settings import ORDERS, TextRequest, modified
from draftproof.models.errors import InputError
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.reports.audits.steps.settings_of_rows import Given, made
from draftproof.verifiers.adapters.calling_convention import rounded

from .recordings import record, softmax

SETTINGS = (
    {"temperature": 0.7}, {"temperature": 1.4, "top_k": 20}, {"top_p": 0.83}, {"min_p": 0.05, "temperature": 0.9},
    {"temperature": 0.8, "top_k": 40, "top_p": 0.91}, {"presence_penalty": 0.8}, {"repetition_penalty": 1.3},
    {"frequency_penalty": 0.4, "temperature": 0.6}, {"logit_bias": {"3": 2.0, "7": -4.0}},
)  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("order", ["vllm", "mlx-lm"])
def test_rows_are_those_of_our_definitions_of_the_settings(settings, order):
    rng = np.random.default_rng(4)
    for _ in range(5):
        logits, text = rng.normal(size=60) * 2, tuple(rng.integers(0, 60, 9).tolist())
        expected = modified(softmax(logits).tolist(), TextRequest((), text, 99, settings), ORDERS[order])
        shifted = np.log(softmax(logits))  # penalties of repetition depend on where zero is
        given = Given(shifted, np.arange(60), (-np.inf, 0), np.inf, np.array(text))
        scores, stays, *_ = made(given, {**settings, "order": order})
        row = np.where(stays == 1, np.exp(scores - scores.max()), 0)
        decided = stays != 0
        assert decided.mean() > 0.9
        assert (row / row.sum())[decided] == pytest.approx(np.array(expected)[decided], abs=1e-9) or not decided.all()


def made_at(**settings):
    """A fault: the engine's rows are made under these settings, and not those of the request."""

    def fault(step):
        step.logits = np.round(step.logits)  # far from every cut
        step.logits += np.arange(step.logits.shape[1]) / 500
        logits = np.log(softmax(step.logits))
        rows = [
            modified(softmax(row).tolist(), TextRequest((), (), 99, settings), ORDERS["vllm"]) for row in logits
        ]  # fmt: skip
        step.target = step.verify_target = np.array(rows)

    return fault


def rows_of(folder):
    return next(e for e in audit_steps(folder).evidence if e.claim == "rows")


def with_logits(step):
    return {"logits": step.logits}


def test_rows_as_asked_hold(tmp_path):
    asked = {"temperature": 0.7, "top_k": 50, "top_p": 0.9}
    record(tmp_path, steps=12, settings=asked, vocabulary=30, fault=made_at(**asked), more=with_logits)
    evidence = rows_of(tmp_path)
    assert evidence.holds and evidence.total_variation < 1e-12


@pytest.mark.parametrize(("used", "right"), [({}, True), ({"top_k": 1}, True), ({"temperature": 1.3}, False)], ids=str)
def test_rows_of_a_greedy_request_are_as_they_were_or_cut_to_their_top(used, right, tmp_path):
    asked = {"temperature": 0, "top_p": 0.9}
    record(tmp_path, steps=12, settings=asked, vocabulary=30, fault=made_at(**used), more=with_logits)
    assert rows_of(tmp_path).holds == right


@pytest.mark.parametrize(
    ("asked", "used", "cause"),
    [
        ({"temperature": 0.7}, {"temperature": 1.0}, "made without temperature"),
        ({"temperature": 0.7}, {"temperature": 1.3}, "made at temperature 1.3"),
        ({"temperature": 0.7, "top_k": 9}, {"temperature": 0}, "made at temperature 0"),
        ({"top_k": 20, "temperature": 0.7}, {"temperature": 0.7}, "made without top_k"),
        ({"top_p": 0.8, "min_p": 0.1}, {"top_p": 0.8}, "made without min_p"),
    ],
    ids=str,
)
def test_rows_under_other_settings_are_refuted_and_the_cause_named(asked, used, cause, tmp_path):
    record(tmp_path, steps=12, settings=asked, vocabulary=30, fault=made_at(**used), more=with_logits)
    evidence = rows_of(tmp_path)
    assert evidence.refuted and evidence.witness.why == cause
    assert "steps-000000.safetensors, step 0" in evidence.witness.sequence


@pytest.mark.parametrize("asked", [{"top_k": 60}, {"top_p": 0.9}, {"top_k": 12}], ids=str)
def test_a_cut_beyond_the_list_is_not_said_to_hold(asked, tmp_path):
    """Flat rows of which 30 tokens are listed, and no cut was made."""

    def flat(step):
        step.logits = step.logits / 10
        step.target = step.verify_target = softmax(step.logits)

    record(tmp_path, steps=12, settings=asked, fault=flat, more=with_logits, listed=30)
    report = audit_steps(tmp_path)
    claims = {e.claim: e for e in report.evidence}
    if asked == {"top_k": 12}:
        assert claims["rows"].refuted and claims["rows"].total_variation > 0.1
    else:
        assert "rows" not in claims
        assert any("rows that depend on more than the tokens that are listed" in line for line in report.not_examined)


@pytest.mark.parametrize(("temperature", "verdict"), [(1.0, "holds"), (0.6, "refuted")])
def test_the_mass_that_is_not_listed_is_compared(temperature, verdict, tmp_path):
    def fault(step):
        step.target = step.verify_target = softmax(step.logits, 1.0)

    record(tmp_path, steps=12, settings={"temperature": temperature}, fault=fault, more=with_logits, listed=20)
    assert rows_of(tmp_path).verdict == verdict


@pytest.mark.parametrize(("by", "verdict"), [(0.0, "holds"), (1e-3, "refuted")])
def test_reported_logprobs_are_those_of_the_rows(by, verdict, tmp_path):
    seen = {}

    def verify(target, draft, tokens, rng):
        y = int(rng.choice(len(target[0]), p=target[0]))
        seen["p"] = target[0][y]
        return [y]

    record(tmp_path, verify, steps=30, rule="unknown", more=lambda step: {"logprobs": [np.log(seen["p"]) + by]})
    [logprobs] = [e for e in audit_steps(tmp_path).evidence if e.claim == "logprobs"]
    assert logprobs.verdict == verdict


UNSEEN = [
    ({"logit_bias": {"299": 12.0}}, {}, "more than the tokens that are listed"),
    ({"allowed": [1, 2, 3]}, {}, "rows under allowed"),
    ({"allowed_token_ids": [1, 2, 3]}, {}, "rows under allowed_token_ids"),
    ({"temperature": 0.8}, {"temperature": 0.8, "top_k": 150}, "refuted"),
    ({"logit_bias": {"3": 0.1}}, {"logit_bias": {"3": 0.1}, "top_k": 150}, "refuted"),
]
"""Settings that were asked for and others that rows were made under, where 60 of 300 tokens are listed."""


@pytest.mark.parametrize(("asked", "used", "says"), UNSEEN, ids=str)
def test_what_settings_do_to_tokens_that_are_not_listed_is_not_said_to_hold(asked, used, says, tmp_path):
    def fault(step):
        step.logits = step.logits / 4
        step.logits[:, 299] = step.logits.min(1)
        made_at(**used)(step)
        step.drafts, step.draft, step.verify_draft = [], step.draft[:0], step.draft[:0]
        step.target, step.logits = step.target[:1], step.logits[:1]
        step.verify_target = step.target

    def token(target, draft, tokens, rng):
        return [int(rng.choice(len(target[0]), p=target[0]))]

    record(tmp_path, token, steps=12, rule="unknown", settings=asked, fault=fault, more=with_logits, listed=60)
    report = audit_steps(tmp_path)
    rows = [e.verdict for e in report.evidence if e.claim == "rows"]
    assert rows == (["refuted"] if says == "refuted" else [])
    assert says == "refuted" or any(says in line for line in report.not_examined)


def test_rows_whose_unlisted_tokens_are_few_hold_up_to_what_those_may_hide(tmp_path):
    asked = {"temperature": 0.5}
    record(tmp_path, steps=12, settings=asked, fault=made_at(**asked), more=with_logits, listed=150)
    evidence = rows_of(tmp_path)
    assert evidence.holds and 1e-4 < evidence.bound <= 0.05
    assert any("of a row, on tokens that are not listed" in line for line in audit_steps(tmp_path).not_examined)


def test_rows_and_tokens_without_logits_or_logprobs_are_counted(tmp_path):
    numbers = iter(range(1000))

    def more(step):
        some = next(numbers) < 10
        return {"logits": step.logits if some else None, "logprobs": None}

    record(tmp_path, steps=30, vocabulary=30, more=more)
    lines = audit_steps(tmp_path).not_examined
    assert "whether 80 rows are those of the settings: no logits were recorded" in lines
    assert "reported logprobs: none were recorded" in lines


def test_tokens_without_a_logprob_are_counted(tmp_path):
    def verify(target, draft, tokens, rng):
        return [int(rng.choice(len(target[0]), p=target[0]))]

    numbers = iter(range(1000))
    record(tmp_path, verify, steps=30, rule="unknown",
           more=lambda step: {"logprobs": [np.nan] if next(numbers) % 3 else [-1e9]})  # fmt: skip
    assert "20 emitted tokens without a reported logprob" in audit_steps(tmp_path).not_examined


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"top_k": 20.5}, "top_k is 20.5, expected a whole number"),
        ({"logit_bias": {"a": 1}}, "logit_bias is {'a': 1}, expected numbers by token"),
        ({"temperature": None, "top_k": 20.0}, None),
    ],
    ids=str,
)
def test_settings_of_another_form_are_one_line(settings, says, tmp_path):
    record(tmp_path, steps=4, settings=settings, vocabulary=30, more=with_logits)
    if says:
        with pytest.raises(InputError, match=says):
            audit_steps(tmp_path)
    else:
        assert rows_of(tmp_path).refuted


OFF = [
    {"top_k": 0}, {"top_k": -1, "top_p": 1.0, "min_p": 0.0}, {"top_k": 300}, {"top_k": 200, "top_p": 0.9},
    {"min_p": 0.001}, {"temperature": 1.5, "top_p": 0.9, "min_p": 0.05}, {"repetition_penalty": 0.8, "top_p": 0.9},
    {"presence_penalty": -1.0, "top_k": 20}, {"logit_bias": {str(t): 5.0 for t in range(150, 170)}, "top_k": 30},
]  # fmt: skip
"""Settings under which more tokens may stay than the 60 that are listed, or which cut nothing."""


@pytest.mark.parametrize("asked", OFF, ids=str)
def test_right_rows_hold_or_are_left_open_where_few_of_their_tokens_are_listed(asked, tmp_path):
    history = list(range(100, 140))

    def fault(step):
        step.logits = step.logits / 4
        rows = []
        for k, row in enumerate(step.logits):
            text = (*history, *step.drafts[:k])
            rows.append(modified(softmax(row).tolist(), TextRequest((), text, 999, asked, []), ORDERS["vllm"]))
        step.logits = np.log(softmax(step.logits))
        step.target = step.verify_target = np.array(rows)

    record(tmp_path, steps=8, settings=asked, fault=fault, listed=60,
           more=lambda step: {"logits": step.logits, "history": history})  # fmt: skip
    rows = [e.verdict for e in audit_steps(tmp_path).evidence if e.claim == "rows"]
    assert rows in ([], ["holds"])
    assert rows or "top_k" not in asked or asked["top_k"] not in (0, -1, 300)


def bfloat16(numbers):
    return np.array([rounded(row, "bfloat16") for row in np.atleast_2d(numbers)]).reshape(np.shape(numbers))


def rounding(scale, **settings):
    """A fault: the engine's rows are made in bfloat16, each score rounded after each setting and in the softmax."""

    def fault(step):
        step.logits = bfloat16(step.logits * scale)
        scores = step.logits
        scores = bfloat16(scores / settings.get("temperature", 1))
        if "top_k" in settings:
            least = np.sort(scores, axis=1)[:, -settings["top_k"], None]
            scores = np.where(scores >= least, scores, -np.inf)
        weights = bfloat16(np.exp(bfloat16(scores - scores.max(axis=1, keepdims=True))))
        step.target = step.verify_target = bfloat16(weights / weights.sum(axis=1, keepdims=True))

    return fault


@pytest.mark.parametrize("asked", [{"temperature": 0.7}, {"temperature": 1.3, "top_k": 10}], ids=str)
def test_what_rounding_of_large_scores_may_explain_refutes_no_row_and_is_not_said_to_hold(asked, tmp_path):
    """In bfloat16 some 5 % of right rows with scores up to 20 differ from the exact ones by more than TV 0.02."""
    made = rounding(20, **asked)
    record(tmp_path, steps=100, settings=asked, vocabulary=30, fault=made, more=with_logits, dtype="bfloat16")
    report = audit_steps(tmp_path)
    evidence = next(e for e in report.evidence if e.claim == "rows")
    assert evidence.holds and evidence.total_variation <= 0.02
    assert any("which rounding of their scores may explain" in line for line in report.not_examined)


@pytest.mark.parametrize("wrong", [{"temperature": 1.1}, {"temperature": 0.7}], ids=str)
def test_wrong_rows_in_bfloat16_are_refuted(wrong, tmp_path):
    asked = {"temperature": 0.7, "top_k": 3}
    record(
        tmp_path,
        steps=12,
        settings=asked,
        vocabulary=30,
        fault=rounding(2, **wrong),
        more=with_logits,
        dtype="bfloat16",
    )
    assert rows_of(tmp_path).refuted


@pytest.mark.parametrize("top", [0, 1, 2])
def test_of_several_largest_scores_a_greedy_row_may_have_any(top, tmp_path):
    def tied(step):
        step.logits[:, 2:] = np.minimum(step.logits[:, 2:], 3.0)
        step.logits[:, :2] = 4.0
        step.target = step.verify_target = np.eye(step.logits.shape[1])[[top] * len(step.logits)]

    record(tmp_path, steps=12, settings={"temperature": 0}, vocabulary=30, fault=tied, more=with_logits)
    assert rows_of(tmp_path).holds == (top < 2)


def test_a_limit_of_bets_is_said_of_the_sets_that_they_look_at(tmp_path):
    """Coins that are too likely for some ids and too unlikely for others move no set that is bet on."""
    record(tmp_path, steps=200)
    said = audit_steps(tmp_path).not_examined
    assert any("in the sets of tokens that are bet on, and any shift" in line for line in said)
    assert not any("where only samples were taken" in line for line in said)
