"""Medusa e2a5d20, sampling="nucleus", top-p 1: what a draft is compared with is drawn anew where they differ."""

import ast
import sys

import torch

N, p, seen = 40_000, torch.tensor([1 / 3, 2 / 3]), 0
names = ("get_nucleus_one_token", "get_nucleus_posterior_mask", "evaluate_posterior")
with open(sys.argv[1]) as file:  # CHECKOUT/medusa/model/utils.py
    functions = [n for n in ast.parse(file.read()).body if getattr(n, "name", "") in names]
exec("\n".join(map(ast.unparse, functions)), scope := {"torch": torch, "F": torch.nn.functional})
logits = p.log().repeat(1, 2, 1)
for _ in range(N):
    _, n = scope["evaluate_posterior"](logits, torch.tensor([[1, 0]]), 1.0, top_p=1.0, sampling="nucleus")
    seen += int(n) == 1 or int(scope["get_nucleus_one_token"](logits[0, :1], 1.0, 1.0)) == 0  # the next step's first
print(f"token 0 was drafted and has probability .3333; it came out in {seen / N:.4f}")
sys.exit(abs(seen / N - 1 / 3) > 0.03)
