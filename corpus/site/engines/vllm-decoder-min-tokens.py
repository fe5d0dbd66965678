"""vLLM 0.32.0: a bonus token may not be the end of a text whose min_tokens the drafted tokens before it have reached.

The text has one token, two are drafted, at least two are asked for: from the third on it may end. Drafted tokens are
asked by ``apply_with_spec_decode``; ``RejectionSampler.forward`` asks for the bonus token by ``apply``, which counts
the tokens before the block. Expected: [0., 0., 0.] twice.
"""

import torch
from vllm import SamplingParams
from vllm.v1.sample.logits_processor.builtin import MinTokensLogitsProcessor
from vllm.v1.sample.logits_processor.interface import BatchUpdate

processor = MinTokensLogitsProcessor(None, torch.device("cpu"), False)  # type: ignore[arg-type]
asked = SamplingParams(min_tokens=2, stop_token_ids=[1])
processor.update_state(BatchUpdate(batch_size=1, removed=(), added=[(0, asked, None, [0])], moved=()))
print("third token ", processor.apply_with_spec_decode(torch.zeros(2, 3), [2])[1])
print("fourth token", processor.apply(torch.zeros(1, 3))[0])  # [0., -inf, 0.]
