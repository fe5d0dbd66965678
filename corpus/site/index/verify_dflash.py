"""dflash: its rejection sampling, with rows of the draft whole, and as tokens by index (DFlash 2)."""

from wrapping import loaded, plain

model = loaded("dflash", "dflash/model.py")


@plain
def verify(target_probs, draft_probs, draft_tokens):
    count, token = model._rejection_sample(draft_tokens[None], target_probs[None], draft_probs[None])
    return [*draft_tokens[:count], token]


@plain
def indexed(target_probs, draft_probs, draft_tokens):
    probs, indices = draft_probs.sort(dim=-1, descending=True)
    count, token = model._rejection_sample(draft_tokens[None], target_probs[None], probs[None], indices[None])
    return [*draft_tokens[:count], token]
