"""specdec: the verification of its decoder, with a large model that gives these rows."""

from types import SimpleNamespace

import torch
from wrapping import loaded, model, of_logits

decoder = loaded("specdec", "specdec/decoder.py")


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    given = SimpleNamespace(device="cpu", big_model=model(target_probs.float()))
    q = [*draft_probs.log().float().softmax(-1)[:, None]]
    return decoder.SpecDecoder.verify(given, torch.zeros(1, 1, dtype=torch.long), draft_tokens.tolist(), q)
