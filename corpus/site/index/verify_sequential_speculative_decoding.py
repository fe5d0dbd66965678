"""sequential-speculative-decoding: its standard step and its capped hierarchical one, from models with these rows."""

import torch
from wrapping import loaded, model, of_logits

loaded("sequential-speculative-decoding", "seqspecdecod/sampling.py")
steps = {
    name: loaded("sequential-speculative-decoding", f"seqspecdecod/{name}.py") for name in ("standard_sd", "capped_hsd")
}


def stepped(name, function, target_probs, draft_probs, draft_tokens):
    module, left = steps[name], [*draft_tokens]
    sampled = module.sample_from_probs
    module.sample_from_probs = lambda probs: left.pop(0).view(1) if left else sampled(probs)
    try:
        prompt = torch.zeros(1, 1, dtype=torch.long)
        text, _, _ = getattr(module, function)(
            model(draft_probs.float()), model(target_probs.float()), prompt, len(draft_tokens), 1.0, 1.0
        )
    finally:
        module.sample_from_probs = sampled
    return text[0, 1:]


@of_logits
def standard(target_probs, draft_probs, draft_tokens):
    return stepped("standard_sd", "standard_speculative_step", target_probs, draft_probs, draft_tokens)


@of_logits
def capped(target_probs, draft_probs, draft_tokens):
    return stepped("capped_hsd", "capped_hsd_step", target_probs, draft_probs, draft_tokens)
