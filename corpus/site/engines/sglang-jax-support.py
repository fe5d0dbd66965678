"""sglang-jax cddbf6f, a token of probability 0: python FILE UNPACKED/python/sgl_jax (jax is installed)."""

import ast
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp

g = {"jax": jax, "jnp": jnp, "NamedTuple": NamedTuple, "NamedSharding": bytes, "OFF": False}
g["apply_simulated_acceptance"] = lambda accept_index, predict, accept_lens, **_: (accept_index, predict, accept_lens)
with open(f"{sys.argv[1]}/srt/speculative/draft_extend_fused.py") as file:
    parsed = ast.parse(file.read().replace("SIMULATED_ACCEPTANCE_CONFIG.enabled", "OFF"))
plain = [node for node in parsed.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.decorator_list]
exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, plain)), g)
coin = jnp.zeros((1, 1))  # what jax.random.uniform gives once in 2 ** 23
one, two, logits = jnp.ones(1), jnp.array([7, 8]), jnp.log(jnp.array([[1.0, 0.0]] * 2))
rest = {"top_ks": one, "top_ps": one, "enable_top_k": False, "enable_top_p": False, "speculative_num_steps": 1}
out = g["_verify_rejection_sampling"](
    target_hidden=logits, positions=two, seq_lens=two[:1], draft_tokens=jnp.array([0, 1]), target_logits=logits,
    temperatures=one, coins=coin, coin_f=one / 2, threshold_single=1.0, threshold_acc=1.0, **rest,
    speculative_num_draft_tokens=2)  # fmt: skip
sys.exit(int(out.predict[0]) == 1 and "it emits token 1, whose probability is 0")
