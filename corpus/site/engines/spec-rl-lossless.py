"""SPEC-RL 97da99e: what follows a kept prefix is drawn from the policy. Given: verl/utils/speculative_decoding.py."""

import sys

import torch

N, p, q = 100_000, torch.tensor([1 / 3, 2 / 3]), torch.tensor([2 / 3, 1 / 3])
with open(sys.argv[1]) as file:
    exec(file.read(), scope := {})
drafted = torch.multinomial(q, N, replacement=True)
old, new = q.log()[drafted][:, None], p.log()[drafted][:, None]
kept = scope["spec_cut"](old, new, torch.ones(N, 1))["cut_idx"]
after = p  # its caller has vLLM go on from the policy's row
emitted = torch.where(kept == 1, drafted, torch.multinomial(after, N, replacement=True))
seen = (emitted == 0).float().mean().item()
print(f"token 0: expected .3333, observed {seen:.4f}")
sys.exit(abs(seen - 1 / 3) > 0.01)
