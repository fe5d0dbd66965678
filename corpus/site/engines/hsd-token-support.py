"""Hierarchical Speculative Decoding b8575e2: torch.rand in float32 is 0 once in 2^24 draws; then p = 0 is accepted."""

import ast
import sys

import torch

with open(sys.argv[1]) as file:  # CHECKOUT/transformers/generation/utils.py; with tabs of four columns it parses
    text = ast.parse(file.read().replace("\t", "    "))
function = next(n for n in text.body if getattr(n, "name", "") == "_speculative_sampling")
exec(ast.unparse(function), scope := {"torch": torch})
torch.rand_like = torch.zeros_like  # the number 0, which torch.rand can give
target, draft = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), torch.tensor([[[0.5, 0.5]]])
draw, done = scope["_speculative_sampling"], torch.zeros(1, dtype=torch.bool)
emitted, accepted, _ = draw(torch.tensor([[0]]), draft.log(), 1, target.log(), done, backward=False,
                            stop=lambda *_, **__: False)  # fmt: skip
print(f"token 0 has probability 0; emitted: {emitted.tolist()[0]}, of them accepted: {int(accepted)}")
sys.exit(int(emitted[0, 0] == 0))
