"""eagle-llm 1.2.1: random.random() can be exactly 0 (once in 2^53 draws); then a token of probability 0 is accepted."""

import ast
import random
import sys

import torch

with open(sys.argv[1]) as file:  # UNPACKED/eagle/model/utils.py
    functions = [n for n in ast.parse(file.read()).body if getattr(n, "name", "") == "evaluate_posterior"]
scope = {"torch": torch, "random": random}
exec("from __future__ import annotations\n" + ast.unparse(functions[0]), scope)
random.random = lambda: 0.0  # the number 0, which it can give
p, q, tokens = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), torch.tensor([0.5, 0.5]), torch.tensor([[1, 0]])
cart, path = torch.tensor([[1.0, 0.5]]), [[0, 0]]
_, accepted, _ = scope["evaluate_posterior"](p.log(), tokens, lambda _, logits: logits, cart, [q[None]], path, tokens,
                                             [[[], []]])  # fmt: skip
print(f"the drafted token 0 has probability 0; accepted draft tokens: {int(accepted)}")
sys.exit(int(accepted) > 0)
