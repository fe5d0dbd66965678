"""LitGPT 0.5.13, top_p below 1: a rejected draft ends the text by an error (cut by the softmax of probabilities)."""

import ast
import sys

import torch

g = {"torch": torch, "F": torch.nn.functional}
for name in ("base", "speculative_decoding"):
    with open(f"{sys.argv[1]}/{name}.py") as file:  # UNPACKED/litgpt/generate
        wanted = ("multinomial_num_samples_1", "sample_top_p", "sample", "speculative_decoding")
        functions = [n for n in ast.parse(file.read()).body if getattr(n, "name", "") in wanted]
    exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), g)
p, q, zero = torch.tensor([[[0.1, 0.2, 0.7]] * 2]).log(), torch.tensor([[[0.8, 0.1, 0.1]]]).log(), torch.zeros(1).long()
failed = ""
for _ in range(200):
    try:
        g["speculative_decoding"](lambda **_: q.clone(), lambda **_: p.clone(), zero, zero.clone(), 1, 1, top_p=0.5)
    except RuntimeError as error:
        failed = str(error)
sys.exit(failed or 0)
