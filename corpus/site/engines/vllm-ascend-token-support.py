"""vllm-ascend 0.23.0.post1: python FILE UNPACKED/vllm_ascend/sample/rejection_sampler.py: a uniform that is 0."""

import ast
import sys

import torch

with open(sys.argv[1]) as file:
    parsed = ast.parse(file.read().replace("pin_memory=True", "pin_memory=False"))
functions = [n for n in parsed.body if isinstance(n, ast.FunctionDef)]
scope = {"torch": torch, "PLACEHOLDER_TOKEN_ID": -1}
rule = "rejection_random_sample_block_verify_pytorch" if "block" in sys.argv[0] else "rejection_random_sample_pytorch"
exec("from __future__ import annotations\n" + "\n".join(ast.unparse(f) for f in functions if f.name == rule), scope)
out, p, q = torch.full((1, 2), -1, dtype=torch.int32), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.5, 0.5]])
no, one = torch.tensor([0]), torch.tensor([1])
scope[rule](out, one, no, q, p, one[None], one, torch.zeros(1), torch.tensor([False]), 1, 2)
print(f"the drafted token 0 has probability 0, the uniform is 0; emitted: {out[0].tolist()}")
sys.exit(int(out[0, 0] == 0))
