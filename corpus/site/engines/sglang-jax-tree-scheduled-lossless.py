"""sglang-jax cddbf6f, a draft tree, greedy: python FILE UNPACKED/python/sgl_jax (jax is installed)."""

import ast
import sys
from types import SimpleNamespace as Given

import jax
import jax.numpy as jnp
import numpy as np

g = {"jax": jax, "jnp": jnp, "np": np}
for name in ("kernels/speculative/kernel", "speculative/overlap_utils"):
    with open(f"{sys.argv[1]}/srt/{name}.py") as file:
        functions = [node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)]
    exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), g)
# drafted: 5 or 6, and 7 after the 6; the target's most likely tokens are 6, after it 7, after that 8
drafted, predicted, child = (jnp.array([row]) for row in ([4, 5, 6, 7], [6, 9, 7, 8], [1, -1, 3, -1]))
begun = jnp.zeros(5, int), jnp.full((1, 3), -1), jnp.zeros(1, int)
sibling = jnp.array([[-1, 2, -1, -1]])
_, count, found = g["verify_tree_greedy"](*begun, drafted, jnp.arange(4)[None], child, sibling, predicted[0])
result, batch = Given(next_token_ids=found, accept_lens=count + 1), Given(per_dp_bs_size=1, dp_size=1)
batch.reqs_info = [Given(reqs=[0])]
text = g["resolve_spec_decode_token_ids"](result, batch, 4)[0][0]
good = [6, 7, 8] if int(predicted[0, 0]) == 6 else [5, 9]
sys.exit(text != good and f"{good} was verified, and its scheduler emits {text}")
