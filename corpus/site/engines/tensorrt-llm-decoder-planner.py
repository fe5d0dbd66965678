"""TensorRT-LLM#17056: how many drafts are verified depends on what the last of them leads to.

Given: tensorrt_llm/_torch/speculative/dspark_planner.py. One request of three drafts; the third one's confidence
follows from the second. The budget is for the block itself where steps do not overlap; costs are of 2, 3 and 4 tokens.
Expected: whether the second draft is verified does not depend on the third one's confidence.
"""

import ast
import sys
from collections.abc import Sequence
from types import SimpleNamespace as New
from typing import Optional

import numpy as np

with open(sys.argv[1]) as file:
    parts = [node for node in ast.parse(file.read()).body if getattr(node, "name", "").endswith(("_tokens", "_budget"))]
scope = {"np": np, "SpsCostTable": object, "Optional": Optional, "Sequence": Sequence}
exec("\n".join(map(ast.unparse, parts)), scope)
costs = New(step_times=lambda tokens, _: np.interp(tokens, [2, 3, 4], [1, 1.5, 1.55]), minimum_predicted_gain=0.01)
for third in (0.9, 0.2):
    survival = np.cumprod([[0.9, 0.9, third]], 1)
    asked = {"survival": survival, "num_gen_requests": 1, "cost_table": costs, "allowed_lens": [1, 2, 3]}
    print(1 + scope["compute_verify_token_budget"](**asked))  # 3, then 1
