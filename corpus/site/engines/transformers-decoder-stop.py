"""transformers 5.23: a stop sequence that ends inside a block of assisted decoding does not end the text.

Known: https://github.com/huggingface/transformers/issues/48039. Without the draft model no text goes on behind 1, 2.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, set_seed

set_seed(0)
size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
model = LlamaForCausalLM(LlamaConfig(vocab_size=3, bos_token_id=None, eos_token_id=None, **size))
asked = {"do_sample": True, "max_new_tokens": 6, "pad_token_id": 0}
stop = [lambda ids, scores, **_: torch.tensor([row[-2:] == [1, 2] for row in ids.tolist()])]
for name, draft in (("without a draft", {}), ("assisted", {"assistant_model": model})):
    texts = [model.generate(torch.tensor([[0]]), stopping_criteria=stop, **asked, **draft)[0] for _ in range(200)]
    behind = ["1, 2, " in str(text.tolist()) for text in texts]
    print(name, sum(behind), "of 200 texts go on behind 1, 2")
