"""gpt-fast 32971d3 in bfloat16, its default: uniforms of 8 bits, so that 1 in 256 accepts a token of probability 0."""

import ast
import sys

import torch

torch.set_num_threads(1)
N = 4_000
dtype = torch.bfloat16
block = [torch.zeros(1, dtype=torch.int)], [torch.tensor([1.0, 0.0], dtype=dtype)]
names = ("multinomial_sample_one_no_sync", "logits_to_probs", "model_forward", "speculative_decode")
with open(sys.argv[1]) as file:  # CHECKOUT/generate.py
    functions = [n for n in ast.parse(file.read()).body if getattr(n, "name", "") in names]
scope = {"torch": torch, "decode_n_tokens": lambda *_, **__: block}  # a draft that is sure of the token 0
exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), scope)
target = torch.tensor([[[0.0, 1.0]] * 2], dtype=dtype).log()  # a target that never says it
models = lambda *_: target, lambda *_: None
texts = (scope["speculative_decode"](*models, torch.zeros(1, dtype=torch.int), 0, 1) for _ in range(N))
seen = sum(int(text[0]) == 0 for text in texts)
print(f"a token of probability 0 came out {seen} times of {N}")
sys.exit(seen > 0)
