"""ATOM ffdf3bb: at every temperature a drafted token is kept only where it is its row's likeliest token.

Given: atom/model_ops/rejection_sampler.py. Needs triton, whose interpreter runs the kernel. The target's row is .6 .4.
"""

import os
import sys
from types import ModuleType, SimpleNamespace

import torch

os.environ["TRITON_INTERPRET"] = "1"
sys.modules |= {name: ModuleType(name) for name in ("atom", "atom.utils", "atom.utils.forward_context")}
sys.modules["atom.utils"].envs = SimpleNamespace(ATOM_ENABLE_RELAXED_MTP=False)
sys.modules["atom.utils.forward_context"].SpecDecodeMetadata = object
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sampler = __import__(os.path.basename(sys.argv[1])[: -len(".py")])
row, count, runs = torch.tensor([[0.6, 0.4]]), 0, 200
for run in range(runs):
    drafted, bonus = torch.tensor([run % 2], dtype=torch.int32), torch.zeros(1, 1, dtype=torch.int32)
    emitted, _ = sampler.rejection_sample(drafted, 1, torch.ones(1, dtype=torch.int32), None, row.log(), bonus)
    count += int(emitted[0, 0] == 0)
print(f"token 0: expected 0.6 of the runs, seen {count / runs}")  # 1.0
