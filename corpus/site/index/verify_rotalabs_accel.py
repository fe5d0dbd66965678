"""rotalabs-accel: its rejection of one token, in a loop that stops at the first rejection, as it says."""

import torch
from wrapping import loaded, of_logits

sampling = loaded("rotalabs-accel", "rotalabs_accel/speculative/sampling.py")


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    logits, q = target_probs.log().float(), draft_probs.log().float().softmax(-1)
    emitted = []
    for i, x in enumerate(draft_tokens):
        p, sampling.rejection_sample.row = torch.softmax(logits[i], -1), q[i]  # the row is for the mend alone
        accepted, token = sampling.rejection_sample(p[x], q[i][x], x, logits[i])
        emitted.append(token)
        if not accepted:
            return emitted
    return [*emitted, sampling.sample_from_logits(logits[-1:])[0]]
