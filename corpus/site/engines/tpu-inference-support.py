"""tpu-inference 0.32.0, a token of probability 0: python FILE UNPACKED/tpu_inference (jax is installed)."""

import ast
import sys
from types import SimpleNamespace as Given

import jax
import jax.numpy as jnp

u = jnp.zeros(1)  # what jax.random.uniform gives once in 2 ** 23
random = Given(split=jax.random.split, exponential=jax.random.exponential, uniform=lambda key, shape: u)
g = {"jax": Given(random=random, nn=jax.nn, ops=jax.ops), "jnp": jnp, "PLACEHOLDER_TOKEN_ID": -1}
with open(f"{sys.argv[1]}/layers/jax/sample/rejection_sampler.py") as file:
    parsed = ast.parse(file.read())
functions = [n for n in parsed.body if isinstance(n, ast.FunctionDef)]
exec("from __future__ import annotations\n" + "\n".join(map(ast.unparse, functions)), g)
drafted, p = jnp.array([1]), jnp.array([[1.0, 0.0]])
first = g["rejection_sample"](drafted, jnp.array([1]), None, p, drafted, True, key=jax.random.PRNGKey(0))[0]
sys.exit(int(first) == 1 and "it emits token 1, whose probability is 0")
