"""sglang-jax cddbf6f, temperature and top-p: python FILE UNPACKED/python/sgl_jax (jax is installed)."""

import ast
import sys

import jax
import jax.numpy as jnp

g = {"jax": jax, "jnp": jnp, "lax": jax.lax}
for name in ("layers/binary_search", "kernels/speculative/kernel", "layers/sampler"):
    with open(f"{sys.argv[1]}/srt/{name}.py") as file:
        functions = [node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)]
    exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), g)
logits, t, k, p = jnp.log(jnp.array([[0.6, 0.3, 0.1]])), jnp.array([[0.5]]), jnp.array([3]), jnp.array([0.75])
g["multinomial"] = lambda operands: operands[0]  # what it draws from, in place of a draw
args = logits, None, k, p, 0 * p, None, t, None, False, None
plain = jax.nn.softmax(g["top_k_top_p_min_p_sampling_from_probs_jax_with_mask"](args))
verified = g["top_p_renorm_prob"](jax.nn.softmax(logits / t), p)[0]
print("the first token is drawn from", plain, "and those after a draft from", verified)
sys.exit(float(abs(plain - verified).sum() / 2) > 1e-5 and "with speculation the same request has another law")
