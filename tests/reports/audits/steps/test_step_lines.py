"""JSON lines as engines dump them: right loops are not refuted, planted bugs are, and what is no dump is one line."""

import json

import numpy as np
import pytest

from draftproof.models.step_lines import StepLines
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.reports.audits.steps.trainer import compared
from draftproof.tests.refusals import one_line

from .recordings import softmax

V, GAMMA, TOP = 60, 3, 8


def top(row, decimals, n=TOP):
    """The list of the most probable tokens of a row."""
    order = np.argsort(-row)[:n]
    return [[int(x), round(float(row[x]), decimals)] for x in order]


def dump(file, how="certain", rule="token", steps=400, bug=None, decimals=6, seed=0, one_line_a_token=False, **first):
    """Write the steps of a small loop as an engine does: nothing of the rows behind the first rejected token."""
    rng = np.random.default_rng(seed)
    lines = [{"vocabulary": V, "rule": rule, "drafts": how, **first}]
    for number in range(steps):
        logits = rng.normal(size=(GAMMA + 1, V)) * 2
        target, draft = softmax(logits), softmax(logits[:GAMMA] + rng.normal(size=(GAMMA, V)) * 0.7)
        seen = softmax(logits / 1.5) if bug == "hot" else target
        tokens, out = [], None
        for i in range(GAMMA):
            x = int(draft[i].argmax() if how == "certain" else rng.choice(V, p=draft[i]))
            q = np.eye(V)[x] if how == "certain" else draft[i]
            if out is not None:
                tokens.append({"token": x, "accepted": False})
                continue
            if rule == "greedy":
                accepted, left = seen[i].argmax() == x, np.eye(V)[seen[i].argmax()]
            else:
                sure = bug == "lenient" and rng.random() < 0.5
                accepted, left = sure or rng.random() * q[x] < seen[i, x], np.maximum(seen[i] - q, 0)
            tokens.append({"token": x, "accepted": bool(accepted), "p": round(float(target[i, x]), decimals),
                           "top": top(target[i], decimals)})  # fmt: skip
            if how == "sampled":
                tokens[-1] |= {"q": round(float(q[x]), decimals), "draft_top": top(draft[i], decimals)}
            if not accepted:
                left = seen[i] if bug == "M11" else left
                out = {"token": int(rng.choice(V, p=left / left.sum()))}
        if out is None:
            last = np.eye(V)[seen[-1].argmax()] if rule == "greedy" else seen[-1]
            last = np.eye(V)[target[-1].argmin()] if bug == "last" else last
            out = {"token": int(rng.choice(V, p=last)), "top": top(target[-1], decimals)}
        step = {"tokens": tokens, "next": out, "request": number // 10, "place": number % 10}
        if one_line_a_token:
            lines += [{"request": number // 10, "step": number, **token} for token in (*tokens, out)]
        else:
            lines.append(step)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def refuted(report):
    return {e.claim for e in report.evidence if e.refuted}


RIGHT = [
    {"how": "certain"}, {"how": "sampled"}, {"how": "certain", "rule": "equality"}, {"rule": "greedy"},
    {"how": "certain", "decimals": 3}, {"how": "sampled", "decimals": 4},
    pytest.param({"how": "certain", "decimals": 17}, marks=pytest.mark.long),
    {"how": "sampled", "rule": "unknown"},
]  # fmt: skip


@pytest.mark.parametrize("options", RIGHT, ids=str)
def test_right_loops_are_not_refuted(options, tmp_path):
    report = audit_steps(dump(tmp_path / "dump.jsonl", steps=600, **options))
    assert report.verdict != "refuted" and not refuted(report)
    judged = report.steps["judged"]
    assert judged["greedy"] if options.get("rule") == "greedy" else judged["emitted"] > 600
    assert report.steps["acceptance"] is None
    assert any("depends on whole rows" in sentence for sentence in report.not_examined)


WRONG = [
    ({"how": "certain", "bug": "M11"}, "follows-rule", 100), ({"how": "sampled", "bug": "M11"}, "follows-rule", 100),
    ({"how": "certain", "rule": "equality", "bug": "M11"}, "follows-rule", 100),
    ({"how": "certain", "bug": "hot"}, "lossless", None), ({"how": "certain", "bug": "lenient"}, "follows-rule", 100),
    ({"how": "sampled", "bug": "lenient"}, "follows-rule", 200),
    ({"rule": "greedy", "bug": "last"}, "follows-rule", None),
    ({"how": "sampled", "rule": "unknown", "bug": "hot"}, "lossless", None),
    ({"how": "certain", "decimals": 3, "bug": "lenient"}, "follows-rule", 100),
]  # fmt: skip


@pytest.mark.parametrize(("options", "claim", "by"), WRONG, ids=str)
def test_planted_bugs_are_refuted(options, claim, by, tmp_path):
    report = audit_steps(dump(tmp_path / "dump.jsonl", steps=by or 600, **options))
    assert claim in refuted(report)
    assert by is None or report.steps["refuted_at"] <= by


def test_drafts_that_do_not_follow_their_lists_are_refuted(tmp_path):
    file = dump(tmp_path / "dump.jsonl", "sampled")
    first, *lines = map(json.loads, file.read_text().splitlines())
    for line in lines:
        for token in line["tokens"]:
            if "draft_top" in token:
                token["draft_top"] = [[(x + 1) % V, q] for x, q in token["draft_top"]]
    file.write_text("\n".join(map(json.dumps, [first, *lines])))
    assert "drafts" in refuted(audit_steps(file))


def test_a_line_a_token_is_read_as_a_line_a_step(tmp_path):
    one = StepLines.open(dump(tmp_path / "a.jsonl", "sampled", steps=30))
    other = StepLines.open(dump(tmp_path / "b.jsonl", "sampled", steps=30, one_line_a_token=True))
    assert [line.tokens for line in one.lines.values()] == [line.tokens for line in other.lines.values()]
    a, b = (recording.read(recording.folder).arrays for recording in (one, other))
    assert all((a[name] == b[name]).all() for name in a if name != "place")


def test_a_uniform_that_decides_otherwise_is_a_difference(tmp_path):
    step = {
        "tokens": [{"token": 3, "accepted": True, "p": 0.2123456789, "q": 0.4123456789, "uniform": 0.9}],
        "next": {"token": 1},
    }
    (tmp_path / "a.jsonl").write_text('{"rule": "token", "drafts": "sampled"}\n' + json.dumps(step))
    report = audit_steps(tmp_path / "a.jsonl")
    assert "follows-rule" in refuted(report) and report.steps["judged"]["replayed"] == 1


GREEDY = '{"rule": "greedy"}\n'

GOOD = '{"tokens": [{"token": 3, "accepted": true, "p": 0.2}], "next": {"token": 1}}\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no step in it; expected JSON lines"),
        (GOOD + "{", "line 2: not JSON"),
        (GOOD + "[1]", "line 2: expected an object"),
        (GOOD + '{"step": 1, "n_draft": 2, "pos": []}', "line 2: neither 'tokens' of a step nor a 'token'"),
        ('{"step": 1, "n_draft": 2, "pos": []}', "line 1: unknown field"),
        (GOOD.replace("accepted", "acc"), "line 1: tokens[0]: unknown field 'acc'"),
        (GOOD.replace('"token": 1', '"token": -1'), "line 1: next.token"),
        (GOOD.replace("0.2", "1.2"), "line 1: tokens[0].p"),
        ('{"token": 3, "accepted": true}', "line 1: the field 'step' is missing"),
        ('{"token": 3, "step": 1, "accepted": true}', "line 1: step 1 ends with a drafted token"),
        (GOOD.replace("[{", '[{"token": 2, "accepted": false}, {'), "line 1: token 2 is accepted after a rejected one"),
        (
            GOOD.replace('"p": 0.2', '"top": [[1, 0.901], [2, 0.202]]'),
            "line 1: probabilities that sum to 1.103, expected",
        ),
        (GOOD.replace('"p": 0.2', '"top": [[1, 0.3], [1, 0.2]]'), "line 1: a list with a token twice"),
        (GREEDY + GOOD, "line 2: tokens[0]: expected 'top', of the target: steps are greedy"),
        ('{"settings": {"temperature": 0}}\n' + GOOD, "line 2: tokens[0]: expected 'top', of the target"),
        ('{"settings": {"temperature": NaN}}\n' + GOOD, "line 1: temperature is nan, expected a number"),
        ('{"settings": {"top_p": 1e400}}\n' + GOOD, "line 1: top_p is inf, expected a number"),
        (GOOD.replace("}}", '}, "request": 1000000000000000000000}'), "line 1: request"),
        ('{"vocabulary": 100000000000000000000}\n' + GOOD, "line 1: vocabulary"),
        (GOOD.replace(', "p": 0.2', ""), "line 1: tokens[0]: expected 'p' or 'top', of the target"),
        (GOOD + GOOD.replace('"p": 0.2', '"top": [[3, 0.2]]'), "line 2: 'p' of some drafted tokens and not of others"),
        ('{"drafts": "sampled"}\n' + GOOD, "line 2: tokens[0]: expected 'q' or 'draft_top' of a sampled draft"),
        ('{"rule": "block"}\n' + GOOD, "rule 'block', expected for JSON lines one of token"),
        ('{"drafts": "greedy"}\n' + GOOD, "drafts 'greedy', expected for JSON lines one of sampled"),
        ('{"vocabulary": 3}\n' + GOOD, "a token 3, expected 0..2"),
    ],
)
def test_what_is_not_a_dump_is_one_line_with_its_number(text, says, tmp_path):
    (tmp_path / "a.jsonl").write_text(text)
    assert says in one_line(audit_steps, tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ({"tokens": [{"token": 3, "accepted": True, "top": [[3, 0.5], [1, 0.2]]}], "next": {"token": 5}}, False),
        ({"tokens": [], "next": {"token": 5, "p": 0.3}}, False),
        ({"tokens": [{"token": 3, "accepted": False, "top": [[1, 0.4]]}], "next": {"token": 7}}, False),
        ({"tokens": [{"token": 3, "accepted": True, "p": 0.4, "top": [[1, 0.4]]}],
          "next": {"token": 5, "top": [[5, 0.3], [6, 0.3]]}}, False),
        ({"tokens": [{"token": 3, "accepted": False, "top": [[1, 0.6]]}], "next": {"token": 7}}, True),
        ({"tokens": [{"token": 3, "accepted": False, "top": [[1, 0.5], [2, 0.5]]}], "next": {"token": 7}}, True),
        ({"tokens": [{"token": 3, "accepted": True, "p": 0.3, "top": [[1, 0.4]]}], "next": {"token": 5}}, True),
    ],
    ids=str,
)  # fmt: skip
def test_a_greedy_token_that_its_list_lacks_may_be_one_of_equals(step, wrong, tmp_path):
    (tmp_path / "a.jsonl").write_text(GREEDY + json.dumps(step))
    report = audit_steps(tmp_path / "a.jsonl")
    assert (report.verdict == "refuted") == wrong
    unseen = "top" not in step["next"] and len(step["tokens"]) == sum(t["accepted"] for t in step["tokens"])
    assert any("no list of the target's row" in sentence for sentence in report.not_examined) == unseen


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_list_that_rounds_to_1_excludes_no_other_token(dtype, tmp_path):
    """A row in bfloat16 may list 1.0 and 0.0029296875, and still emit a token that is not listed."""
    first = {"rule": "token", "drafts": "certain", "dtype": dtype}
    top = [[3, 1.0], [4, 0.00091552734375]] if dtype == "bfloat16" else [[3, 0.99999994039], [4, 0.00000005960464]]
    step = {"tokens": [{"token": 3, "accepted": False, "top": top}], "next": {"token": 9}}
    (tmp_path / "a.jsonl").write_text(json.dumps(first) + "\n" + json.dumps(step))
    report = audit_steps(tmp_path / "a.jsonl")
    assert report.verdict != "refuted" and report.steps["judged"]["steps"] == 1


def test_lists_of_few_digits_may_sum_to_more_than_1(tmp_path):
    top = [[x, 0.11] for x in range(9)] + [[9, 0.05]]
    step = {"tokens": [{"token": 3, "accepted": True, "top": top}], "next": {"token": 9}}
    (tmp_path / "a.jsonl").write_text(json.dumps(step))
    assert audit_steps(tmp_path / "a.jsonl").verdict != "refuted"


def test_bonus_tokens_without_a_list_are_said_to_be_unseen(tmp_path):
    file = dump(tmp_path / "dump.jsonl", steps=100)
    first, *lines = map(json.loads, file.read_text().splitlines())
    for line in lines:
        line["next"].pop("top", None)
    file.write_text("\n".join(map(json.dumps, [first, *lines])))
    whole = sum(all(token["accepted"] for token in line["tokens"]) for line in lines)
    sentence = f"{whole:,} tokens after all drafted ones: no list of the target's row"
    assert whole and sentence in audit_steps(file).not_examined


def test_rounded_digits_are_rounding_where_uniforms_are_replayed(tmp_path):
    """A uniform between the coin of the rounded probabilities and the true one decides nothing; one beyond does."""
    for uniform, refutes in ((0.5004, False), (0.51, True)):
        lines = [{"vocabulary": 4, "rule": "token", "drafts": "certain"}]
        top, next_ = [[0, 0.5], [1, 0.3]], {"token": 1, "top": [[0, 0.5], [1, 0.3]]}
        lines += [{"tokens": [{"token": 0, "accepted": True, "p": 0.5, "top": top, "uniform": uniform}], "next": next_}]
        lines += [
            {"tokens": [{"token": 0, "accepted": True, "p": 0.333, "top": [[1, 0.4], [0, 0.333]]}], "next": next_}
        ]
        file = tmp_path / "dump.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)))
        assert ("follows-rule" in refuted(audit_steps(file))) == refutes


def test_a_trainer_is_compared_on_the_tokens_that_are_listed(tmp_path):
    file = dump(tmp_path / "dump.jsonl", "sampled", steps=200)
    texts, place = {}, {}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines[1:]:
        request = line["request"]
        tokens = [t["token"] for t in line["tokens"] if t["accepted"]] + [line["next"]["token"]]
        line["place"] = place.get(request, 0)
        place[request] = line["place"] + len(tokens)
        texts.setdefault(request, []).extend(tokens)
    file.write_text("\n".join(map(json.dumps, lines)))
    rollouts = {request: (tokens, [np.nan] * len(tokens)) for request, tokens in texts.items()}
    assert compared(StepLines.open(file), rollouts, "float32").other == 0
