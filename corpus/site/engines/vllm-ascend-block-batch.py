"""vllm-ascend 0.23.0.post1, enable_block_verify: python FILE UNPACKED/vllm_ascend/sample/rejection_sampler.py."""

import ast
import sys
from types import SimpleNamespace as Given
from unittest.mock import Mock

import torch

p, q, u = map(torch.tensor, ([1 / 3, 2 / 3], [2 / 3, 1 / 3], [0.6, 0.4, 0.5, 0.5, 0.5]))
with open(sys.argv[1]) as file:
    defs = [n for n in ast.parse(file.read().replace("pin_memory=True", "pin_memory=False")).body if hasattr(n, "args")]
rules = Given(enable_block_verify=True, enable_entropy_verify=False, posterior_threshold=0.95, posterior_alpha=0.4)
g = {"torch": torch, "HAS_TRITON": False, "PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0, "logger": Mock(),
     "triton": Mock(), "get_ascend_config": lambda: Given(rejection_sampler_config=rules, enable_reduce_sample=False),
     "generate_uniform_probs": lambda tokens, *_: u[:tokens].double()}
exec("from __future__ import annotations\n" + "\n".join(ast.unparse(f) for f in defs if f.name not in g), g)
def emitted(lengths):
    n, one = sum(lengths), torch.ones(len(lengths), 1)
    return g["rejection_sample"](torch.tensor([0, 1, 0, 0, 0])[:n].int(), lengths, max(lengths),
        torch.tensor(lengths).cumsum(0).int(), q.repeat(n, 1), (p.log().repeat(n, 1), None),
        one.int(), Given(temperature=one[:, 0], all_greedy=False, all_random=True, generators={}))[0].tolist()
alone, among = emitted([2]), emitted([2, 3])
sys.exit(alone != among[:3] and f"a request of 2 drafts, the same numbers: alone {alone}, beside one of 3 {among}")
