"""csaq-quant: one block of its loop (drafts by the quantised weights, verified by the whole ones)."""

from collections import defaultdict
from types import SimpleNamespace

import torch
from wrapping import OneBlock, loaded, local_after_one_block, of_logits

inference = loaded("csaq-quant", "csaq/inference.py")
inference.time = SimpleNamespace(time=float)  # the clock, by which it measures itself
LOOP = inference.CSAQInferenceEngine._generate_speculative.__wrapped__


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    left, drafted, verifying, verified = [*draft_tokens], [], [], []

    def model(input_ids, **_):
        if verifying:
            return SimpleNamespace(logits=target_probs.float().log()[None], past_key_values=None)
        drafted.append(0)
        logits = draft_probs.float().log()[None, len(drafted) - 1 : len(drafted)]
        return SimpleNamespace(logits=logits, past_key_values=None)

    def truncated(*_):  # before it verifies, and when the block is done
        if verified:
            raise OneBlock

    def drafts_again():
        verifying.clear()
        verified.append(0)

    model.eval = lambda: None
    engine = SimpleNamespace(
        model=model, tokenizer=None, device="cpu", verbose=False, telemetry=defaultdict(int),
        _ensure_draft_state=lambda: None, _kv_len=lambda _: 0, _truncate_kv=truncated,
        _sample=lambda *_: (left.pop(0).view(1, 1), None),
        _swap_to_verify=lambda: verifying.append(0), _swap_to_draft=drafts_again,
    )  # fmt: skip
    gamma = len(draft_tokens)
    text = local_after_one_block("generated", LOOP, engine, torch.zeros(1, 1, dtype=torch.long), gamma, gamma, 1.0, 1.0)
    return text[0, 1:]
