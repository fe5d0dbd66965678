"""mini-infer: a step of its speculative decoding, with models that give these rows."""

import torch
from wrapping import Drafted, loaded, model, of_logits

verifier = loaded("mini-infer", "mini_infer/speculative/verifier.py")


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    verifier.torch = Drafted(draft_tokens)
    target, draft = model(target_probs), model(draft_probs)
    tokens, _ = verifier.speculative_step(
        lambda ids: (target(ids).logits.float(), None), lambda ids: (draft(ids).logits.float(), None),
        torch.zeros(1, 1, dtype=torch.long), len(draft_tokens), 1.0,
    )  # fmt: skip
    return tokens
