"""tightwad: its verification above temperature 0, from the logprobs that a server gives."""

import math
import random

from wrapping import loaded

from draftproof.verifiers.adapters.calling_convention import declare

speculation = loaded("tightwad", "tightwad/speculation.py")


def log(p):
    return math.log(p) if p else -math.inf


def verify(target_probs, draft_probs, draft_tokens):
    drafts = [speculation.DraftToken(x, log(q[x])) for x, q in zip(draft_tokens, draft_probs, strict=True)]
    target_logprobs = []
    for i, p in enumerate(target_probs):
        top = max(range(len(p)), key=p.__getitem__)
        asked = log(p[draft_tokens[i]]) if i < len(draft_tokens) else None
        target_logprobs.append(speculation.TargetLogprob(top, log(p[top]), asked))
        q = draft_probs[i] if i < len(draft_tokens) else [0] * len(p)
        left = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
        target_logprobs[-1].drawn = lambda left=left: random.choices(range(len(left)), left)[0]  # for the mend alone
    found = speculation.verify_draft_tokens(drafts, target_logprobs, temperature=1.0)
    last = found.bonus_token or found.resample_token
    return [*(draft.token_id for draft in found.accepted_tokens), last.token_id]


declare(verify, array="list")
