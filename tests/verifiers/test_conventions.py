"""Functions that engines call in another way: recognised, offered, and refuted where they are wrong."""

import re

import pytest

from draftproof.models.battery import drawn
from draftproof.models.errors import InputError
from draftproof.models.problem import as_json
from draftproof.reports.audits import api
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.choices import long_unless
from draftproof.verifiers.adapters.calling_convention import NotASubject
from draftproof.verifiers.adapters.convention_names import CONVENTIONS, split
from draftproof.verifiers.adapters.conventions import _emitted, adapted, completed, recognised

SOURCE = """
import numpy as np


def one(p, q, x, rng):
    for i, t in enumerate(x):
        if rng.random() * q[i][t] >= p[i][t]:
            rest = np.maximum(p[i] - q[i], 0)
            return [*x[:i], rng.choice(len(rest), p=rest / rest.sum())]
    return [*x, rng.choice(len(p[-1]), p=p[-1])]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def batch(target_probs, draft_probs, draft_tokens, rng):
    emitted = -np.ones((len(draft_tokens), draft_tokens.shape[1] + 1), dtype=int)
    for b, tokens in enumerate(draft_tokens):
        row = one(target_probs[b], draft_probs[b], list(tokens), rng)
        emitted[b, : len(row)] = row
    return emitted


def accepted(target_probs, draft_probs, draft_tokens, rng):
    emitted = one(target_probs, draft_probs, list(draft_tokens), rng)
    return [*emitted, *[0] * (len(draft_tokens) + 1 - len(emitted))], len(emitted) - 1


def mask(target_probs, draft_probs, draft_tokens, rng):
    emitted = one(target_probs, draft_probs, list(draft_tokens), rng)
    return [k < len(emitted) - 1 for k in range(len(draft_tokens))], emitted[-1]


def logits(draft_logits, target_logits, draft_ids, rng):
    return one(softmax(target_logits), softmax(draft_logits), list(draft_ids), rng)


def counted(draft_logits, target_logits, draft_ids, rng):
    emitted = logits(draft_logits, target_logits, draft_ids, rng)
    return [*emitted, *[-1] * (len(draft_ids) + 1 - len(emitted))], len(emitted) - 1


def vllm(draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, draft_probs, target_logits,
         bonus_token_ids, sampling_metadata):
    import torch

    target, out = target_logits.softmax(-1), torch.full((len(num_draft_tokens), max_spec_len + 1), -1)
    for b, count in enumerate(num_draft_tokens):
        start = int(cu_num_draft_tokens[b]) - count
        for i in range(count):
            token, p, q = draft_token_ids[start + i], target[start + i], draft_probs[start + i]
            if torch.rand((), dtype=torch.float64) * q[token] >= p[token]:
                out[b, i] = torch.multinomial(torch.clamp(p - q, min=0), 1)
                break
            out[b, i] = token
        else:
            out[b, count] = bonus_token_ids[b, 0]
    return out


def logits_batch(target_logits, draft_logits, draft_tokens, rng):
    return batch(softmax(target_logits), softmax(draft_logits), draft_tokens, rng)


def total(target_probs, draft_probs, draft_tokens, rng):
    tokens, count = accepted(target_probs, draft_probs, draft_tokens, rng)
    return tokens, count + 1
"""
WRONG = SOURCE.replace("np.maximum(p[i] - q[i], 0)", "p[i]").replace("torch.clamp(p - q, min=0)", "p")
"""The same functions, which draw what replaces a token from the target."""

pytestmark = pytest.mark.usefixtures("brief_audits")
PROBLEM = drawn(3, 2, "zeros")
SEEN = ("logits", "vllm")
"""Conventions that are recognised by the arguments' names."""


def audit(subject, problems, **settings):
    """Audit in one dtype: the convention is the same in all."""
    return api.audit(subject, problems, dtypes=["float64"], **settings)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "engines.py").write_text(SOURCE)
    return tmp_path / "engines.py"


@pytest.mark.parametrize("name", long_unless(("batch", "accepted", "mask", "logits", "vllm"), {"accepted", "vllm"}))
def test_a_right_function_holds_and_a_wrong_one_is_refuted_by_a_command_that_can_be_repeated(file, name):
    given = () if name in SEEN else (name,)
    file.with_name("wrong.py").write_text(WRONG)
    right, wrong = (
        audit(f"{f}:{name}", [PROBLEM], conventions=given, array="torch" if name == "vllm" else None, samples=100)
        for f in (file, file.with_name("wrong.py"))
    )
    assert (right.verdict, wrong.verdict) == ("holds", "refuted")
    assert right.findings["convention"] == f"is called by the convention {name}, not the plain one"
    shown = wrong.shown_refutation()
    assert ("--convention " + name in shown.replay) == bool(given)
    assert shown.witness.where.startswith("the replacement after a rejection")
    assert "conventions" not in as_json(PROBLEM)


@pytest.mark.parametrize(
    ("name", "convention"),
    [("batch", "batch"), ("accepted", "accepted"), ("mask", "mask"), ("counted", "logits,accepted")],
)
def test_what_cannot_be_called_plainly_is_told_the_convention_by_which_it_can(file, name, convention):
    failure = audit(f"{file}:{name}", [PROBLEM], samples=100).failure
    said = f"; with --convention {convention} it returns tokens"
    assert failure["kind"] == "convention" and failure["message"].endswith(said)


@pytest.mark.parametrize(
    ("conventions", "message"),
    [
        (["nonsense"], f"no calling convention 'nonsense'; expected some of {', '.join(CONVENTIONS)}"),
        (["accepted", "mask"], "accepted and mask do not go together"),
        (["vllm"], "convention vllm: no argument draft_token_ids"),
    ],
)
def test_conventions_that_do_not_fit_are_refused_in_one_line(conventions, message):
    with pytest.raises(NotASubject, match=message):
        adapted(lambda target_probs, draft_probs, draft_tokens: [0], conventions)


def test_a_reference_takes_no_convention():
    with pytest.raises(InputError, match="block: takes no --convention"):
        subject_from("block", conventions=("batch",))


def test_names_of_arguments_show_a_convention_and_probabilities_none():
    assert recognised(lambda target_logits, draft_logits, draft_tokens: 0) == ["logits"]
    assert recognised(lambda target_probs, draft_probs, draft_tokens: 0) == []
    assert recognised(lambda target_logits, draft_probs, draft_tokens: 0) == []
    assert split("a@b/mine.py:verify@batch,logits") == ("a@b/mine.py:verify", ["batch", "logits"])


MIXED = {
    "residual": ("target_probs[b], draft_probs[b], list", "target_probs[b], draft_probs[0], list"),
    "target": ("one(target_probs[b], ", "one(target_probs[-1], "),
    "drafted": ("enumerate(draft_tokens):\n", "enumerate(np.roll(draft_tokens, 1, axis=0)):\n"),
    "previous": ("    return emitted\n", "    emitted[1:, 0] = emitted[:-1, 0]\n    return emitted\n"),
    "all accepted": (
        "    return emitted\n",
        "    if (emitted[:, -1] >= 0).all():\n        emitted[:, -1] = emitted[0, -1]\n    return emitted\n",
    ),
    "none accepted": (
        "    return emitted\n",
        "    if (emitted[:, 1:] < 0).all():\n        emitted[:, 0] = emitted[0, 0]\n    return emitted\n",
    ),
}
"""Batched functions that are right alone, and mix the requests of a batch."""


@pytest.mark.parametrize("name", long_unless((None, *MIXED), {None, "drafted", "all accepted", "none accepted"}))
def test_a_batch_of_different_requests_refutes_what_mixes_them(tmp_path, name):
    old, new = MIXED.get(name, ("", ""))
    made = SOURCE.replace(old, new, 1)
    assert name is None or made != SOURCE
    (tmp_path / "engines.py").write_text(made)
    report = audit(f"{tmp_path / 'engines.py'}:batch", [PROBLEM], conventions=("batch",), explain=False)
    refuted = {e.claim for e in report.evidence if e.refuted} - {"optimal"}
    assert {e.verdict for e in report.evidence if e.claim == "lossless"} == {"holds"}
    assert (report.verdict, refuted) == (("refuted", {"batch"}) if name else ("holds", set())), report.evidence
    if name:
        shown = report.shown_refutation()
        assert re.fullmatch("as the .* of three requests.*; right alone|request . of a batch, .*", shown.witness.why)
        assert "--convention batch --problem" in shown.replay
    else:
        assert report.subject["batches"] == {"different requests in one call": "5 of 5 batches of three, on 2 problems"}
        assert "several requests in one call" not in report.not_examined and 3 in report.scope.requests_a_call


RAGGED = {
    None: ("", ""),
    "offset": (
        "start + i], draft_probs[start + i]",
        "start + i], draft_probs[min(b * max_spec_len + i, len(target) - 1)]",
    ),
    "start": ("start = int(cu_num_draft_tokens[b]) - count", "start = 0"),
    "bonus": ("bonus_token_ids[b, 0]", "bonus_token_ids[0, 0]"),
    "without drafts": ("bonus_token_ids[b, 0]", "bonus_token_ids[b, 0] if count else 0"),
    "none accepted": (
        "    return out\n",
        "    if (out[:, 1:] < 0).all():\n        out[:, 0] = out[0, 0]\n    return out\n",
    ),
}
"""Functions of vLLM's form that are right alone, and take another request's row, token or bonus token in a batch."""


@pytest.mark.parametrize("name", long_unless(RAGGED, {"offset", "without drafts", "none accepted"}))
def test_a_ragged_batch_refutes_what_looks_into_another_request(tmp_path, name):
    made = SOURCE.replace(*RAGGED[name], 1)
    assert name is None or made != SOURCE
    (tmp_path / "engines.py").write_text(made)
    report = audit(f"{tmp_path / 'engines.py'}:vllm", [PROBLEM], array="torch", explain=False)
    refuted = {e.claim for e in report.evidence if e.refuted} - {"optimal"}
    assert (report.verdict, refuted) == (("refuted", {"batch"}) if name else ("holds", set())), report.evidence
    assert report.subject["convention"]["called_by"] == ["vllm"]
    if not name:
        assert report.subject["batches"] == {"different requests in one call": "5 of 5 batches of three, on 2 problems"}


def test_names_that_say_logits_are_believed_beside_an_option(file):
    report = audit(f"{file}:logits_batch", [PROBLEM], conventions=("batch",), explain=False)
    assert report.verdict == "holds" and report.subject["convention"]["called_by"] == ["batch", "logits"]
    assert completed(lambda target_logits, draft_logits, draft_tokens: 0, ["logits"]) == ["logits"]
    assert completed(lambda target_probs, draft_probs, draft_tokens: 0, ["batch"]) == ["batch"]


def test_a_number_that_counts_the_token_after_the_drafts_is_told_so(file):
    report = audit(f"{file}:total", [PROBLEM], conventions=("accepted",), samples=100)
    said = "3 of 2 drafts accepted: the number counts the token after them; subtract 1"
    assert report.verdict == "refuted" and any(said in str(e.witness) for e in report.evidence), report.evidence


def test_padding_is_cut_off_where_results_have_one_shape():
    assert _emitted([[2, 1, -1]], [2, 0], {"batch"}) == _emitted([2, 1, -1], [2, 0], {"jax"}) == [2, 1]
    assert _emitted([[0.5, 0.5]], [2], {"jax"}) == [[0.5, 0.5]]


@pytest.mark.parametrize("array", long_unless(("list", "rows", "torch"), {"rows"}))
def test_a_batch_of_requests_is_of_the_arrays_that_the_function_takes(tmp_path, array):
    rows = "torch.as_tensor" if array == "torch" else "np.asarray"
    source = f"import torch\n{SOURCE}" if array == "torch" else SOURCE
    source += f"\n\ndef of_arrays(target_probs, draft_probs, draft_tokens, rng):\n    seen = [{rows}(x) for x in "
    source += "(target_probs, draft_probs, draft_tokens)]\n    assert [x.ndim for x in seen] == [3, 3, 2]\n"
    source += "    return batch(*map(np.asarray, seen), rng).tolist()\n"
    (tmp_path / "engines.py").write_text(source)
    report = audit(
        f"{tmp_path / 'engines.py'}:of_arrays", [PROBLEM], conventions=("batch",), array=array, explain=False
    )
    assert report.verdict == "holds" and 3 in report.scope.requests_a_call, report.findings


def test_a_function_that_takes_one_request_alone_is_not_refuted_and_the_report_says_so(tmp_path):
    alone = SOURCE.replace(
        "    emitted = -np", "    assert len(draft_tokens) == 1, 'one request'\n    emitted = -np", 1
    )
    (tmp_path / "engines.py").write_text(alone)
    report = audit(f"{tmp_path / 'engines.py'}:batch", [PROBLEM], conventions=("batch",), explain=False)
    assert report.verdict == "holds" and "one request" in report.subject["batches"]["different requests in one call"]
    assert "several requests in one call" in report.not_examined
