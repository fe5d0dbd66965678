"""IPEX-LLM 2.2.0, a model in bfloat16: uniforms of 8 bits, so that 1 in 256 accepts a token of probability 0."""

import ast
import sys
from types import SimpleNamespace as Given

import torch

with open(sys.argv[1]) as file:  # UNPACKED/ipex_llm/transformers/speculative.py
    text = ast.parse(file.read())
parts = {n.name: n for n in text.body if isinstance(n, ast.FunctionDef)}
inside = [(n, ast.unparse(n)) for n in ast.walk(parts["speculative_generate"])]
draws = next(code for n, code in inside if isinstance(n, ast.Assign) and "torch.rand(" in code)
tests = [n.body for n, code in inside if isinstance(n, ast.If) and "rejected_locations =" in code][-1]
exec(ast.unparse(parts["multinomial_sample_one_no_sync"]), g := {"torch": torch})
N, dtype, seen = 4_000, torch.bfloat16, 0
g |= {"self": Given(device="cpu", dtype=dtype), "max_step_draft": 1, "drafted_n_tokens": 1}
q, g["target_probs"] = torch.tensor([[1.0, 0.0]], dtype=dtype), torch.tensor([[0.0, 1.0]] * 2, dtype=dtype)
step = compile("\n".join([draws, *map(ast.unparse, tests)]), "", "exec")
for _ in range(N):
    exec(step, g | (made := {"drafted_input_ids": torch.tensor([[7, 0]]), "draft_prob_list": [q]}), made)
    seen += int(made["output_ids"][0, 0]) == 0  # drafted, and never said by the target
print(f"a token of probability 0 came out {seen} times of {N}")
sys.exit(seen > 0)
