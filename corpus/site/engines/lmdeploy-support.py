"""lmdeploy 0.18.0, a token of probability 0: python FILE UNPACKED/lmdeploy/pytorch (torch is installed)."""

import ast
import sys

import torch

torch.rand = lambda size, **given: torch.zeros(size)  # a number that it gives once in 2 ** 53
g = {"torch": torch, "PLACEHOLDER_TOKEN_ID": -1, "RejectionSamplingImpl": object}
with open(f"{sys.argv[1]}/backends/default/rejection_sampling.py") as file:
    made = [n for n in ast.parse(file.read()).body if hasattr(n, "name")]
exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, made)), g)
logits, drafted, bonus = torch.tensor([[[1.0, 0.0]]]).log(), torch.tensor([[1]]), torch.tensor([0])
first = g["DefaultRejectionSamplingImpl"]().forward(logits, drafted, bonus, is_greedy=None)[0][0, 0]
sys.exit(int(first) == 1 and "it emits token 1, whose probability is 0")
