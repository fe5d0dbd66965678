"""speculative-decoding: one block of its loop at temperature 1 without its top-k, from networks with these rows."""

import einops.einops
import torch
from wrapping import OneBlock, loaded, local_after_one_block, of_logits

backend = einops.einops.get_backend(torch.zeros(1))  # it asks the interpreter at each call which libraries are there
einops.einops.get_backend = lambda _: backend
package = loaded("speculative-decoding", "speculative_decoding/speculative_decoding.py")


@of_logits
def verify(target_probs, draft_probs, draft_tokens):
    left, gamma, calls = [*draft_tokens], len(draft_tokens), []
    cache = torch.zeros(1, 1, 1, 1, gamma + 8, 1), None

    def large(out, **_):
        return target_probs.float().log()[None], cache

    def small(out, **_):
        if len(calls) == gamma:
            raise OneBlock
        calls.append(0)
        return draft_probs.float().log()[None, len(calls) - 1 : len(calls)], cache

    package.gumbel_sample = lambda logits, **_: left.pop(0).view(1)
    prompt = torch.zeros(1, 1, dtype=torch.long)
    loop = package.speculative_decoding.__wrapped__
    out = local_after_one_block("out", loop, large, small, prompt, 2 * gamma + 8, gamma, filter_thres=0.0)
    return out[0, 1:]
