"""vLLM 0.32.0 for CPUs: a request with top-k and without top-p ends the engine where a draft model speculates.

The first step of a request has no drafted tokens; the rejection sampler runs all the same, on rows of none. Of a whole
engine: LLM(model, speculative_config={"method": "draft_model", ...}).generate(prompt, SamplingParams(top_k=2)).
Expected: a tensor of no rows. Seen: RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0.
"""

import torch
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p

print(apply_top_k_top_p(torch.empty(0, 5), torch.empty(0, dtype=torch.int32), None))
