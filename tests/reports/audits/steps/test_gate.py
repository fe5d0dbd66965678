"""The gate for rollouts: it passes what is right, and of everything that can fail it says what failed."""

import json
import shutil
import time
from zlib import crc32

import numpy as np
import pytest

import draftproof
from draftproof.models.errors import InputError
from draftproof.recording import Recorder
from draftproof.reports.audits.steps import judge
from draftproof.reports.audits.steps.gate import TRAINER, gate
from draftproof.reports.audits.steps.trainer import read_rollouts
from draftproof.tests.reports.commands.in_process import draftproof as run
from draftproof.tests.stattests.test_fair_bets import rounded

from .recordings import Step, rewritten, softmax, verifier

V, GAMMA, REQUESTS = 40, 3, 4


def engine(
    folder, verify="C10", hot=1.0, logits=False, more=None, requests=REQUESTS, top_p=1.0, trained=lambda logits: logits,
    **options,
):  # fmt: skip
    """Record 20 steps of each request, and return each text with its logprobs.

    hot: how many times the engine's temperature the trainer scores at. logits: whether to record them, too.
    more: further fields recorded. top_p: of the engine alone. trained: makes the trainer's logits of the engine's.
    """
    rng, verify, texts = np.random.default_rng(3), verifier(verify), {}
    options = {"rule": "token", "dtype": "float32"} | options
    recorder = Recorder(folder, V, **options)
    for request in range(requests):
        tokens, scores = texts[request] = [0, 0], [np.nan, np.nan]
        for _ in range(20):
            step = Step(rng, V, GAMMA)
            step.target = cut(step.target, top_p)
            emitted = [int(x) for x in verify(step.target.copy(), step.draft.copy(), step.drafts, rng)]
            while recorder._queue.full():
                time.sleep(0.001)
            recorder.chosen()
            fields = (more() if callable(more) else more or {}) | ({"logits": step.logits / hot} if logits else {})
            recorder.step(
                step.target, step.drafts, emitted, step.draft, request=request, place=len(tokens), slot=request,
                **fields,
            )  # fmt: skip
            rows = np.log(softmax(trained(step.logits), hot))
            tokens += emitted
            scores += [rows[k][x] for k, x in enumerate(emitted)]
    recorder.close()
    assert recorder.recorded == 20 * requests
    return {request: (np.array(tokens), np.array(scores)) for request, (tokens, scores) in texts.items()}


def cut(rows, top_p):
    """Return rows of the fewest tokens that have so much of the mass."""
    order = np.argsort(-rows, -1)
    ranked = np.take_along_axis(rows, order, -1)
    kept = np.zeros_like(rows)
    np.put_along_axis(kept, order, np.where(np.cumsum(ranked, -1) - ranked < top_p, ranked, 0.0), -1)
    return kept / kept.sum(-1, keepdims=True)


def in_bfloat16(seed):
    """Return a function that gives logits as another run in bfloat16 would: off by noise, and rounded."""
    noise = np.random.default_rng(seed)
    return lambda logits: rounded(logits + noise.normal(size=logits.shape) * 0.05, 8)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    return folder, engine(folder, requests=100, trained=in_bfloat16(1))


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    folder = tmp_path_factory.mktemp("right")
    return folder, engine(folder)


def scored(texts, change):
    return {request: (tokens, change(scores)) for request, (tokens, scores) in texts.items()}


def test_rollouts_of_the_policy_pass(right):
    answer = draftproof.gate(*right)
    assert answer.passed and answer.reasons == () and answer.report.verdict == "inconclusive"
    [evidence] = [e for e in answer.report.evidence if e.problem == TRAINER]
    assert evidence.claim == "logprobs" and evidence.total_variation < 1e-5
    said = answer.report.steps["not_examined"]
    assert "cuts and temperatures that move less than 0.0001 of the mass" in said
    assert "weights or temperatures that move logprobs by less than 0.0002, root mean square" in said


def ramp(scores):
    return scores + np.linspace(-1, 1, len(scores)) * 0.01


OFF = {
    "one logprob": (lambda s: np.where(np.arange(len(s)) == 9, s + 0.01, s), "4 of"),
    "a drift that is small everywhere": (lambda s: s + 0.0015, "0 of"),
    "those of other weights": (ramp, "off by"),
    "those of the token before": (lambda s: np.roll(s, 1), "off by"),
    "not a number": (lambda s: np.where(np.arange(len(s)) == 9, np.nan, s), "off by +nan"),
    "none possible": (lambda s: np.where(np.arange(len(s)) == 9, -np.inf, s), "off by -inf"),
}


@pytest.mark.parametrize("change, words", OFF.values(), ids=OFF)
def test_logprobs_of_another_policy_do_not_pass(change, words, right):
    answer = gate(right[0], scored(right[1], change))
    assert not answer.passed and answer.report.verdict == "refuted"
    assert "NaN" not in answer.report.text()
    [reason] = answer.reasons
    assert words in reason and "steps-000000.safetensors, step " in reason and "expected within 0.002" in reason


def test_rounding_of_the_models_type_is_allowed_and_no_more(right):
    noise = np.random.default_rng(0)
    texts = scored(right[1], lambda s: s + noise.normal(size=len(s)) * 0.03)
    assert not gate(*(right[0], texts)).passed
    assert gate(right[0], texts, dtype="bfloat16").passed
    assert not gate(right[0], scored(texts, lambda s: s + 0.1), dtype="bfloat16").passed


STALE = np.random.default_rng(2).normal(size=200) * 0.3
"""Differences in the logprobs of one request that older weights make."""

OF_MANY = {
    "all of them too high": (lambda r, s: s + 0.09, "probability of all tokens is off by +0.0"),
    "all of them too low": (lambda r, s: s - 0.05, "probability of all tokens is off by -0.0"),
    "one request of other weights": (lambda r, s: s - 0.8 * (r == 7), "tokens of request 7, root mean square 0.8"),
    "one stale request": (lambda r, s: s + STALE[: len(s)] * (r == 7), "tokens of request 7, root mean square 0."),
}


@pytest.mark.parametrize("change, words", OF_MANY.values(), ids=OF_MANY)
def test_what_is_no_rounding_in_all_tokens_or_in_one_request_does_not_pass(change, words, many):
    folder, texts = many
    assert gate(folder, texts, dtype="bfloat16").passed
    texts = {request: (tokens, change(request, scores)) for request, (tokens, scores) in texts.items()}
    [reason] = gate(folder, texts, dtype="bfloat16").reasons
    assert words in reason


@pytest.mark.parametrize("fault, tokens, why", [
    ({"top_p": 0.95}, "all tokens is off by -0.0", "the engine leaves out tokens"),
    ({"hot": 1.06, "requests": 100}, "tokens of 0.5 or more is off by -0.0", "another temperature"),
])  # fmt: skip
def test_mass_that_only_one_of_trainer_and_engine_has_does_not_pass(fault, tokens, why, tmp_path):
    texts = engine(tmp_path, **{"requests": 40, "trained": in_bfloat16(1)} | fault)
    [reason] = gate(tmp_path, texts, dtype="bfloat16").reasons
    assert f"probability of {tokens}" in reason and f"expected within 0.005; {why}" in reason


def test_rounding_of_recorded_rows_is_named_with_what_is_allowed(tmp_path):
    said = gate(tmp_path, engine(tmp_path, dtype="bfloat16")).report.steps["not_examined"]
    assert "cuts and temperatures that move less than 0.021 of the mass" in said


@pytest.mark.parametrize("options", [{"settings": {"temperature": 0}}, {"rule": "greedy-block"}], ids=str)
def test_nothing_is_bet_on_tokens_that_are_not_drawn_from_their_row(options, tmp_path):
    said = gate(tmp_path, engine(tmp_path, **options)).report.steps["not_examined"]
    assert any("no token is sampled from a whole row" in one for one in said)


def test_a_logprob_above_0_does_not_pass_wherever_it_is(right):
    """Within the difference that bfloat16's rounding explains, in a prompt, and at a request that was not recorded."""
    folder, texts = right
    request, at = max(((r, int(np.nanargmax(s))) for r, (_, s) in texts.items()), key=lambda x: texts[x[0]][1][x[1]])

    def above(by, request, at):
        tokens, scores = texts[request % 50]
        return texts | {request: (tokens, np.where(np.arange(len(scores)) == at, by, scores))}

    for place in ((request, at), (0, 1), (50, 9)):
        answer = gate(folder, above(0.5, *place), dtype="bfloat16")
        assert not answer.passed and answer.report.verdict == "refuted"
        [reason] = answer.reasons
        assert f"request {place[0]}, token {place[1] + 1}: +0.5, above 0" in reason and "a logprob of 0" in reason
        assert gate(folder, above(0.1, *place), dtype="bfloat16").passed
    assert not gate(folder, above(np.inf, 0, 1), dtype="bfloat16").passed


def test_tokens_that_the_trainer_changed_do_not_pass(right):
    texts = {request: (np.roll(tokens, 1), scores) for request, (tokens, scores) in right[1].items()}
    answer = gate(right[0], texts)
    assert not answer.passed and "step 0, token " in answer.reasons[0] and ": emitted " in answer.reasons[0]


def test_logprobs_from_before_the_temperature_are_named(tmp_path):
    texts = engine(tmp_path, hot=1.25, logits=True, settings={"temperature": 0.8})
    [reason] = gate(tmp_path, texts).reasons
    assert reason.endswith("they are those of the logits before temperature and cuts")


def test_a_lossy_rule_does_not_pass_whatever_it_claims(tmp_path):
    texts = engine(tmp_path / "claimed", "M11")
    answer = gate(tmp_path / "claimed", texts)
    assert not answer.passed and "refuted" in answer.reasons[0] and len(answer.reasons) == 1
    texts = engine(tmp_path / "said", "M11", rule="unknown")
    answer = gate(tmp_path / "said", texts)
    assert not answer.passed and "stands for none that is known" in answer.reasons[-1]


def test_what_could_not_be_examined_does_not_pass(right, tmp_path, monkeypatch):
    folder, texts = right
    nothing = gate(folder, {})
    assert nothing.missing == ("the trainer's logprobs: 0 of the recorded tokens have one, expected 100 or more",)
    assert "emitted tokens that the trainer has no logprob of" in nothing.report.steps["not_examined"][1]
    assert gate(folder, {request + 50: text for request, text in texts.items()}).missing
    assert gate(folder, {request: (t[:2], s[:2]) for request, (t, s) in texts.items()}).missing
    [short] = gate(folder, texts, faults=0.9).missing
    assert short == "small faults: 2 of 3 known ones would have shown in 80 steps, expected 3"
    assert gate(folder, texts, rule="unknown").missing
    with monkeypatch.context() as patched:
        patched.setattr(judge, "limits_of", lambda *_: {})
        assert gate(folder, texts).missing and not gate(folder, texts, faults=0).missing
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    shutil.copy(damaged / "steps-000000.safetensors", damaged / "steps-000001.safetensors")
    (damaged / "steps-000001.safetensors").write_bytes(b"nothing")
    assert "has shards that cannot be read" in gate(damaged, texts).missing[0]
    numbers = iter(range(10**4))
    some = engine(tmp_path / "some", more=lambda: {"draft_known": next(numbers) % 3 > 0})
    [left_out] = gate(tmp_path / "some", some, faults=0).missing
    assert left_out == "27 steps: the draft's row is not known"
    greedy = engine(tmp_path / "greedy", "C10", settings={"temperature": 0})
    assert not gate(tmp_path / "greedy", greedy).passed


def test_scored_tokens_that_no_recorded_step_emitted_are_named(right):
    folder, texts = right
    exact = gate(folder, texts).report.steps["not_examined"]
    assert not any("recorded step" in one for one in exact)
    longer = {r: (np.append(t, [5] * 50), np.append(s, [-9.0] * 50)) for r, (t, s) in texts.items()}
    said = gate(folder, longer).report.steps["not_examined"]
    assert {*said} - {*exact} == {"200 tokens with a logprob of the trainer that no recorded step emitted"}
    padded = {r: (np.append(t, [5] * 50), np.append(s, [np.nan] * 50)) for r, (t, s) in texts.items()}
    assert gate(folder, padded).report.steps["not_examined"] == exact
    prompts = {r: (t, np.where(np.isnan(s), -1.0, s)) for r, (t, s) in texts.items()}
    assert gate(folder, prompts).report.steps["not_examined"] == exact
    more = texts | {request + 50: (text[0][:9], text[1][:9]) for request, text in texts.items()}
    said = gate(folder, more).report.steps["not_examined"]
    assert {*said} - {*exact} == {"4 requests of the trainer, 28 tokens, that have no recorded step"}


def test_numbers_that_are_used_twice_do_not_pass(tmp_path):
    texts = engine(tmp_path, more={"uniforms": np.full(GAMMA, 0.25)})
    assert any(one.startswith("uses one uniform twice: ") for one in gate(tmp_path, texts).missing)


def test_the_command_exits_by_the_answer(right, tmp_path):
    folder, texts = right

    def status(texts, name, *options):
        lines = [{"request": r, "tokens": t.tolist(), "logprobs": [None if np.isnan(x) else x for x in s]}
                 for r, (t, s) in texts.items()]  # fmt: skip
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return run("steps", str(folder), "--trainer", str(tmp_path / name), *options)

    assert status(texts, "right").status == 0
    off = status(scored(texts, ramp), "off")
    assert off.status == 1 and "logprobs" in off.out
    few = status({}, "none")
    assert few.status == 4 and "not examined, so not passed: the trainer's logprobs: 0 of" in few.out
    assert status(scored(texts, ramp), "off", "--trainer-dtype", "bfloat16").status == 0


def test_bad_input_is_named(right, tmp_path):
    folder, texts = right
    name = "request-a"
    with pytest.raises(InputError, match="one number"):
        gate(folder, {name: texts[0], crc32(name.encode()): texts[1]})
    with pytest.raises(InputError, match="expected one each"):
        gate(folder, {0: (texts[0][0], texts[0][1][1:])})
    with pytest.raises(InputError, match="token ids and their logprobs"):
        gate(folder, {0: 3})
    for dtype in ("int8", ["float32"]):
        with pytest.raises(InputError, match="expected one of float64"):
            gate(folder, texts, dtype=dtype)
    for share in (2, "x", None, float("nan")):
        with pytest.raises(InputError, match="a share from 0 to 1"):
            gate(folder, texts, faults=share)
    file = tmp_path / "trainer.jsonl"
    for line, words in (("{", "line 1: expected request"), ('{"request": 1}', "line 1: expected request")):
        file.write_text(line)
        with pytest.raises(InputError, match=words):
            read_rollouts(file)
    file.write_text('{"request": 1, "tokens": [], "logprobs": []}\n' * 2)
    with pytest.raises(InputError, match="line 2: request 1 came before"):
        read_rollouts(file)
    for line in ('{"request": [1], "tokens": [], "logprobs": []}', '{"request": 1, "tokens": [1.5], "logprobs": [0]}',
                 f'{{"request": 1, "tokens": [1], "logprobs": [{10**400}]}}'):  # fmt: skip
        file.write_text(line)
        with pytest.raises(InputError, match="line 1: expected request"):
            read_rollouts(file)
    with pytest.raises(InputError, match="token ids and their logprobs"):
        gate(folder, {0: ([10**30], [0.0])})
    with pytest.raises(InputError, match="cannot be read"):
        read_rollouts(tmp_path / "none")


NO_TEXTS = {
    "a name that is no Unicode": ({"\ud800": ([1], [-1.0])}, "a name in Unicode"),
    "no request": ({None: ([1], [-1.0])}, "expected a whole number"),
    "a request that is not whole": ({3.4: ([1], [-1.0])}, "request 3.4: expected a whole number"),
    "a text that is a dict": ({0: {0: 1}}, "token ids and their logprobs"),
    "a token that is not whole": ({0: ([7.4], [-1.0])}, r"token ids and their logprobs \(got float64"),
    "logprobs that are text": ({0: ([7], ["-1"])}, "token ids and their logprobs"),
    "a list": ([1, 2], "rollouts of type list"),
    "nothing": (None, "rollouts of type NoneType"),
}


@pytest.mark.parametrize("rollouts, words", NO_TEXTS.values(), ids=NO_TEXTS)
def test_rollouts_of_other_types_are_bad_input(rollouts, words, right):
    with pytest.raises(InputError, match=words) as raised:
        gate(right[0], rollouts)
    assert "\n" not in str(raised.value) and str(raised.value).isprintable()


@pytest.mark.needs("torch")
def test_a_tensor_with_a_gradient_is_bad_input(right):
    import torch

    texts = {r: (torch.tensor(t), torch.tensor(s, requires_grad=True)) for r, (t, s) in right[1].items()}
    with pytest.raises(InputError, match=r"token ids and their logprobs .*detach"):
        gate(right[0], texts)
    assert gate(right[0], {r: (t, s.detach()) for r, (t, s) in texts.items()}).passed


def test_lines_of_other_types_are_bad_input_and_any_text_may_be_a_name(tmp_path):
    file = tmp_path / "trainer.jsonl"
    texts = '"tokens": [], "logprobs": ""', '"tokens": {}, "logprobs": []', '"tokens": [1], "logprobs": ["-1"]'
    for line in ("[" * 100_000, *(f'{{"request": 1, {text}}}' for text in texts)):
        file.write_text("\n" + line)
        with pytest.raises(InputError, match="line 2: expected request"):
            read_rollouts(file)
    file.write_text('{"request": "a\u2028b", "tokens": [1], "logprobs": [-1]}\r\n', encoding="utf-8")
    assert read_rollouts(file) == {"a\u2028b": ([1], [-1.0])}


@pytest.mark.parametrize("share", [0.0, np.nan, 0.9])
def test_a_row_that_is_none_refutes_no_trainer(share, tmp_path):
    texts = engine(tmp_path)

    def spoil(arrays):
        first = slice(*arrays["row_offsets"][:2])
        arrays["target"][first] *= share
        arrays["rest_target"][0] *= share

    rewritten(tmp_path, spoil)
    found = gate(tmp_path, texts, faults=0)
    assert not found.passed and not any(e.refuted for e in found.report.evidence)
