"""TensorRT-LLM 00be09f: torch.rand can be exactly 0 (once in 2^24 draws); then a token of probability 0 is accepted."""

import ast
import sys

import torch

with open(sys.argv[1]) as file:  # CHECKOUT/tensorrt_llm/_torch/pyexecutor/sampler/two_model_spec_dec.py
    functions = [n for n in ast.parse(file.read()).body if getattr(n, "name", "") == "get_rejected_indices"]
scope = {"torch": torch, "prefer_pinned": lambda: False}
exec(ast.unparse(functions[0]), scope)
torch.rand = lambda shape, **_: torch.zeros(shape)  # the number 0, which it can give
p, q = torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]])
rejected = scope["get_rejected_indices"](q, p, torch.Generator(), [0])
print(f"the drafted token 0 has probability 0; rejected: {len(rejected)} of 1")
sys.exit(len(rejected) == 0)
