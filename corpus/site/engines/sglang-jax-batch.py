"""sglang-jax cddbf6f, greedy beside sampled: python FILE UNPACKED/python/sgl_jax (jax is installed)."""

import ast
import sys

import jax
import jax.numpy as jnp

g = {"jax": jax, "jnp": jnp, "lax": jax.lax}
for name in ("layers/binary_search", "kernels/speculative/kernel"):
    with open(f"{sys.argv[1]}/srt/{name}.py") as file:
        functions = [node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)]
    exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), g)
p = jnp.array([[0.25, 0.375, 0.375]])  # of a request with temperature 0, which is top-k 1 where others are sampled
left = g["top_k_renorm_prob"](p, jnp.array([1]))[0]
print("alone it writes", int(p.argmax()), "beside a sampled request it draws from", left)
sys.exit(float(left.max()) < 1 and "a greedy request is random between tokens that are equally likely")
