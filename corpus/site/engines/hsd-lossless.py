"""Hierarchical Speculative Decoding b8575e2, "backward": python FILE CHECKOUT/transformers/generation/utils.py."""

import ast
import sys

import torch

N, p, q, seen = 6_000, torch.tensor([1 / 3, 2 / 3]), torch.tensor([2 / 3, 1 / 3]), 0
with open(sys.argv[1]) as file:  # with tabs of four columns it parses, with one, two or eight it does not
    text = ast.parse(file.read().replace("\t", "    "))
source = ast.unparse(next(n for n in text.body if getattr(n, "name", "") == "_speculative_sampling"))
exec(source, scope := {"torch": torch})
draw = scope["_speculative_sampling"]
for drafted in torch.multinomial(q, 2 * N, replacement=True).reshape(N, 1, 2):
    rows = q.log().repeat(1, 2, 1), 2, p.log().repeat(1, 3, 1), torch.zeros(1, dtype=torch.bool)
    emitted, *_ = draw(drafted, *rows, backward=True, clever=True, stop=lambda *_, **__: False)
    seen += [*emitted[0].tolist(), *torch.multinomial(p, 2, replacement=True).tolist()][:2] == [1, 0]
print(f"the text begins 1 0: expected .2222, observed {seen / N:.4f}")
sys.exit(abs(seen / N - 2 / 9) > 0.04)
