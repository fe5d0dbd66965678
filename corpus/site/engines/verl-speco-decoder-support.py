"""verl-speco 0.1.0: where a uniform is 0, the verification that it gives SGLang on an NPU keeps what cannot be.

Given: verl_speco/integration/sglang_patch.py. One draft, to which the target gives 0. Expected: token 0 alone.
"""

import ast
import sys
from types import SimpleNamespace as New

import torch

with open(sys.argv[1]) as file:
    parts = ast.parse(file.read()).body
made = [p for p in parts if isinstance(p, ast.FunctionDef) or isinstance(getattr(p, "value", None), ast.Constant)]
scope = {"torch": torch, "triton": None, "_SGLANG_PATCH_SELECTION_FROM_ENV": None}
exec("\n".join(["from __future__ import annotations", "import os", *map(ast.unparse, made)]), scope)
scope["_try_tree_speculative_sampling_target_only_linear_triton"] = lambda **_: False  # a kernel for an NPU
out = New(predicts=torch.full((2,), -1), accept_index=torch.full((1, 2), -1), accept_token_num=torch.zeros(1).int())
scope["_tree_speculative_sampling_target_only_torch"](
    **vars(out), candidates=torch.tensor([[0, 1]]), retrive_index=torch.tensor([[0, 1]]),
    retrive_next_token=torch.tensor([[1, -1]]), retrive_next_sibling=torch.tensor([[-1, -1]]),
    uniform_samples=torch.zeros(1, 2), uniform_samples_for_final_sampling=torch.zeros(1),
    target_probs=torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), draft_probs=torch.zeros(1, 2, 2))  # fmt: skip
print(out.predicts[: int(out.accept_token_num) + 1].tolist())  # [1, 0]
