"""vllm-ascend 0.23.0.post1, enable_block_verify: python FILE UNPACKED/vllm_ascend/sample/rejection_sampler.py."""

import ast
import sys
from types import SimpleNamespace as Given
from unittest.mock import Mock

import torch

B, G, p, q = 5_000, 3, torch.tensor([1 / 3, 2 / 3]), torch.tensor([2 / 3, 1 / 3])
with open(sys.argv[1]) as file:
    defs = [n for n in ast.parse(file.read().replace("pin_memory=True", "pin_memory=False")).body if hasattr(n, "args")]
rules = Given(enable_block_verify=True, enable_entropy_verify=False, posterior_threshold=0.95, posterior_alpha=0.4)
g = {"torch": torch, "HAS_TRITON": False, "PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0, "logger": Mock(),
     "triton": Mock(), "get_ascend_config": lambda: Given(rejection_sampler_config=rules, enable_reduce_sample=False),
     "generate_uniform_probs": lambda *_: torch.rand(B * G, dtype=torch.float64)}
exec("from __future__ import annotations\n" + "\n".join(ast.unparse(f) for f in defs if f.name not in g), g)
x, bonus = torch.multinomial(q, B * G, replacement=True).int(), torch.multinomial(p, B, replacement=True).int()[:, None]
out = g["rejection_sample"](x, [G] * B, G, (torch.arange(B, dtype=torch.int32) + 1) * G, q.repeat(B * G, 1),
      (p.log().repeat(B * G, 1), None), bonus,
      Given(temperature=torch.ones(B), all_greedy=False, all_random=True, generators={}))
first, accepted = float((out[:, 0] == 0).double().mean()), float((out >= 0).sum(1).double().mean()) - 1
print(f"first token is 0: expected .3333, observed {first:.4f}; accepted: at most 1.8519, observed {accepted:.4f}")
sys.exit(abs(first - 1 / 3) > 0.03)
