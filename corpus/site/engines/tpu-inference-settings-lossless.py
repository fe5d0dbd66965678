"""tpu-inference 0.32.0, temperature and top-p: python FILE UNPACKED/tpu_inference (jax is installed)."""

import ast
import sys
from types import SimpleNamespace as Given

import jax
import jax.numpy as jnp

g = {"jax": jax, "jnp": jnp, "lax": jax.lax}
for name in ("common/binary_search", "jax/sample/rejection_sampler", "jax/sample/sampling"):
    with open(f"{sys.argv[1]}/layers/{name}.py") as file:
        parsed = ast.parse(file.read())
    functions = [n for n in parsed.body if isinstance(n, ast.FunctionDef) and not n.decorator_list]
    exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), g)
logits, one = jnp.log(jnp.array([[0.6, 0.3, 0.1]])), jnp.array([1])
asked = Given(do_sampling=True, temperature=0.5 * one, top_k=0 * one, top_p=0.75 * one)
plain = jax.nn.softmax(g["_apply_sampling_transforms"](logits, asked))
verified = g["_compute_probs"](logits, one, asked)
print("sampled from", plain, "verified against", verified)
sys.exit(float(abs(plain - verified).sum() / 2) > 1e-5 and "a drafted token is verified against another law")
