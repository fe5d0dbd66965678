"""transformers' generate with an assistant, recorded as it runs on a small forged pair."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from draftproof.reports.audits.steps.run import audit_steps
from draftproof_engines.recorders.small_pair import V, forged_pair
from draftproof_engines.recorders.transformers_generate import recording_generate


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = forged_pair(tmp_path_factory.mktemp("forged") / "pair")
    return [AutoModelForCausalLM.from_pretrained(folder / name) for name in ("target", "draft")]


def generated(pair, folder, texts=40, **settings):
    target, draft = pair
    draft.generation_config.num_assistant_tokens = 4
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0.0
    torch.manual_seed(0)
    with recording_generate(folder, target.config.vocab_size) as recorder:
        for k in range(texts):
            prompt = torch.tensor([[k % V]])
            target.generate(prompt, attention_mask=torch.ones_like(prompt), assistant_model=draft, do_sample=True,
                            max_new_tokens=24, top_k=0, pad_token_id=0, **settings)  # fmt: skip
    return recorder


def test_generate_as_published_is_not_refuted(pair, tmp_path):
    recorder = generated(pair, tmp_path)
    assert recorder.recorded > 150 and not recorder.failed, recorder.error
    report = audit_steps(tmp_path)
    assert report.steps["judged"]["steps"] == recorder.recorded
    assert {e.claim: e.verdict for e in report.evidence} == dict.fromkeys(
        ("follows-rule", "lossless", "drafts"), "no-evidence"
    )


def test_a_planted_fault_of_generate_is_refuted(pair, tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "clamp", lambda rows, min: rows - rows.min())  # no residual is left of the rows
    generated(pair, tmp_path, texts=15)
    assert audit_steps(tmp_path).verdict == "refuted"
